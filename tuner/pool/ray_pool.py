"""Workers that are Ray actors, one per group of GPUs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from tuner.errors import PoolError
from tuner.pool.base import UNWIND_S, Job, Result
from tuner.pool.cluster import connected, own_cluster
from tuner.pool.host import HostFacts, visible_gpu_ids
from tuner.pool.plan import Node, Place, check_hosts, places, worker_facts
from tuner.pool.worker import TrialWorker
from tuner.records import WorkerFacts
from tuner.version import tuner_version

_READY_S = 120.0
_BUSY_HINT = "Wait until its GPUs are free (`ray status`), or ask for fewer with --max-workers."


@contextmanager
def ray_pool(*, gpus_per_worker: int, max_workers: int | None, required_paths: Sequence[str]) -> Iterator[RayPool]:
    """Connect to Ray, put a worker in every place that there is, check its host, and yield the pool."""
    _check_this_machine(gpus_per_worker, max_workers)
    with connected() as nodes:
        pool = RayPool(places(nodes, gpus_per_worker, max_workers), required_paths)
        try:
            yield pool
        finally:
            pool.close()


def _check_this_machine(gpus_per_worker: int, max_workers: int | None) -> None:
    """Raise PoolError where this machine's GPUs are too few, before Ray takes its time to start and find the same."""
    if own_cluster() and (gpus := len(visible_gpu_ids())):  # none: they may be of a kind that only Ray knows
        places([Node("local", "127.0.0.1", gpus)], gpus_per_worker, max_workers)


class RayPool:
    """Workers that are Ray actors.  A worker that was lost gets a new process when its next job is started."""

    def __init__(self, wanted: Sequence[Place], required_paths: Sequence[str] = (), ready_s: float = _READY_S) -> None:
        self.notes: tuple[str, ...] = ()
        self._required_paths = list(required_paths)
        self._ready_s = ready_s
        self._jobs: dict[Any, int] = {}
        self._asked: dict[int, Any] = {}
        self._phases: dict[int, str] = {}
        self._lost: set[int] = set()
        self._actors = [_new_actor(place) for place in wanted]
        self._places = list(wanted)
        try:
            self.workers = self._settle_all()
        except BaseException:
            self.close()
            raise

    def start(self, worker: int, job: Job) -> None:
        """Start a job.  ValueError: the worker is busy.  PoolError: it was lost and cannot be replaced."""
        if worker in self._jobs.values():
            raise ValueError(f"worker {worker} is busy")
        if worker in self._lost:
            self._replace(worker)
        self._phases[worker] = "starting"
        self._jobs[self._actors[worker].run.remote(job)] = worker

    def phases(self) -> Mapping[int, str]:
        """Return the last known phase of each running job; every call also asks the workers anew."""
        import ray

        for worker in self._jobs.values():
            asked = self._asked.get(worker)
            if asked is not None and ray.wait([asked], timeout=0)[0]:
                with suppress(ray.exceptions.RayError):  # the worker is lost, which `wait` reports
                    self._phases[worker] = ray.get(asked)
                asked = None
            self._asked[worker] = asked or self._actors[worker].phase.remote()
        return {worker: self._phases[worker] for worker in self._jobs.values()}

    def wait(self, timeout_s: float) -> list[Result]:
        """Wait until a job ends, at most `timeout_s`; raise what a job did not expect, after the others' results."""
        import ray

        if not self._jobs:
            return []
        running = list(self._jobs)
        ray.wait(running, num_returns=1, timeout=timeout_s)
        ended, _ = ray.wait(running, num_returns=len(running), timeout=0)
        results: list[Result] = []
        for job in ended:
            try:
                results.append((self._jobs[job], self._outcome(job)))
            except ray.exceptions.RayTaskError:
                if not results:
                    del self._jobs[job]
                    raise
                ended = ended[: len(results)]  # this job is kept, and raises at the next call
                break
        # Only now: an interrupt before this line loses no result.
        for job in ended:
            self._asked.pop(self._jobs.pop(job), None)
        return results

    def close(self) -> None:
        """Let the running jobs stop their engines, then kill all workers.  Safe to call twice."""
        import ray

        for worker in self._jobs.values():
            self._actors[worker].abandon.remote()
        if self._jobs:
            ray.wait(list(self._jobs), num_returns=len(self._jobs), timeout=UNWIND_S)
        self._jobs = {}
        for actor in self._actors:
            ray.kill(actor)
        self._actors = []

    def _outcome(self, job: Any) -> Any:
        import ray

        try:
            return ray.get(job)
        except (ray.exceptions.ActorUnavailableError, ray.exceptions.RayActorError) as error:
            return self._lost_worker(self._jobs[job], error)
        except (ray.exceptions.ObjectLostError, ray.exceptions.OutOfMemoryError) as error:
            return self._lost_worker(self._jobs[job], error)

    def _lost_worker(self, worker: int, error: Exception) -> PoolError:
        self._lost.add(worker)
        facts = self.workers[worker]
        return PoolError(
            f"the worker on {facts.device_key} was lost: {_reason(error)}",
            "If the host ran out of memory, give it more or run fewer workers there.",
        )

    def _replace(self, worker: int) -> None:
        """Put a new process in the place of a lost worker."""
        import ray

        before = self.workers[worker]
        ray.kill(self._actors[worker])
        actor = _new_actor(self._places[worker])
        self._actors[worker] = actor
        try:
            host = ray.get(actor.look.remote(self._required_paths), timeout=self._ready_s)
            ids = tuple(gpu.id for gpu in host.gpus)
            if ids != before.gpu_ids:
                raise PoolError(f"the worker on {before.device_key} came back with GPUs {', '.join(ids)}")
            ray.get(actor.settle.remote(before, os.environ.get("OMP_NUM_THREADS")), timeout=self._ready_s)
        except (ray.exceptions.RayError, ray.exceptions.GetTimeoutError) as error:
            message = f"the worker on {before.device_key} was lost and cannot be replaced: {_reason(error)}"
            raise PoolError(message, "Check the node with `ray status`; the same command resumes the sweep.") from error
        self._lost.discard(worker)

    def _settle_all(self) -> tuple[WorkerFacts, ...]:
        """Wait for the workers, drop those that get no GPU in time, and tell each its part of the host."""
        import ray

        looks = [actor.look.remote(self._required_paths) for actor in self._actors]
        ready, late = ray.wait(looks, num_returns=len(looks), timeout=self._ready_s)
        if not ready:
            raise PoolError(f"no worker was started within {self._ready_s:g} s: the cluster is busy", _BUSY_HINT)
        if late:
            self.notes = (
                f"{len(late)} of {len(looks)} workers got no GPU within {self._ready_s:g} s and are left out",
            )
            self._drop([index for index, look in enumerate(looks) if look in late])
        hosts = [_host(look) for look in looks if look not in late]
        check_hosts(hosts, tuner_version())
        facts = worker_facts([place.node for place in self._places], hosts)
        omp = os.environ.get("OMP_NUM_THREADS")
        ray.get([actor.settle.remote(mine, omp) for actor, mine in zip(self._actors, facts, strict=True)])
        return facts

    def _drop(self, indices: Sequence[int]) -> None:
        import ray

        for index in sorted(indices, reverse=True):
            ray.kill(self._actors.pop(index))
            self._places.pop(index)


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


def _host(look: Any) -> HostFacts:
    import ray

    try:
        host: HostFacts = ray.get(look)
    except ray.exceptions.RayError as error:
        hint = "Every node needs the same Python, tuner and Ray; see the worker's log there."
        raise PoolError(f"a worker did not start: {_reason(error)}", hint) from error
    return host


def _reason(error: Exception) -> str:
    """Return the telling part of Ray's long messages."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines if "exit detail" in line or "because" in line]
    return (telling or lines or [type(error).__name__])[-1][:300]
