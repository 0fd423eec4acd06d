"""Actors that are being started on Ray, and what each of them finds where it was put."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tuner.errors import PoolError
from tuner.pool.host import HostFacts
from tuner.pool.plan import Place, check_hosts
from tuner.pool.reasons import reason
from tuner.pool.worker import TrialWorker
from tuner.version import tuner_version

READY_S = 120.0


@dataclass(frozen=True)
class Needs:
    """What a worker's machine must have.

    paths: absolute, and hub ids.  engine_differs: tells, there, how its engine is another one than the sweep's.
    ready_s: how long a worker may take to be there.
    """

    paths: Sequence[str] = ()
    engine_differs: Callable[[], str] | None = None
    ready_s: float = READY_S


class Arrival:
    """One actor for each place, started and asked to look around; nothing here waits unless it is told to."""

    def __init__(self, places: Sequence[Place], needs: Needs) -> None:
        self.places = list(places)
        self.actors = [_new_actor(place) for place in places]
        self._looks = [actor.look.remote(list(needs.paths), needs.engine_differs) for actor in self.actors]
        self._until_s = time.monotonic() + needs.ready_s

    @property
    def settled(self) -> bool:
        """Whether all have looked around, or the time for it is over."""
        return not self.pending or time.monotonic() > self._until_s

    @property
    def pending(self) -> list[Any]:
        """What is still awaited, as Ray's references."""
        import ray

        return list(ray.wait(self._looks, num_returns=len(self._looks), timeout=0)[1]) if self._looks else []

    def wait(self) -> None:
        """Wait until it is settled."""
        import ray

        ray.wait(self._looks, num_returns=len(self._looks), timeout=max(0.0, self._until_s - time.monotonic()))

    def drop_late(self) -> int:
        """Do without those that are not there yet, and return how many."""
        import ray

        late = self.pending
        for index in reversed([index for index, look in enumerate(self._looks) if look in late]):
            ray.kill(self.actors.pop(index))
            self.places.pop(index)
            self._looks.pop(index)
        return len(late)

    def hosts(self) -> list[HostFacts]:
        """Return what each found.  PoolError: one did not start, or its host cannot run trials."""
        import ray

        try:
            hosts: list[HostFacts] = ray.get(self._looks)
        except ray.exceptions.RayError as error:
            hint = "Every node needs the same Python, tuner and Ray, and memory left; see the worker's log there."
            raise PoolError(f"a worker did not start: {reason(error)}", hint) from error
        check_hosts(hosts, tuner_version())
        return hosts

    def end(self) -> None:
        """Kill the actors."""
        import ray

        for actor in self.actors:
            ray.kill(actor)


def _new_actor(place: Place) -> Any:
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    options = {
        "num_gpus": place.gpus,
        "num_cpus": 0,  # cores are ours to divide, by affinity
        "max_restarts": 0,
        "max_concurrency": 2,
        "scheduling_strategy": NodeAffinitySchedulingStrategy(place.node.id, soft=False),
    }
    return ray.remote(TrialWorker).options(**options).remote()
