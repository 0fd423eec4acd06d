"""Workers that are Ray actors, one per group of GPUs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Literal

from tuner.errors import PoolError, WorkerGone
from tuner.pool.arrival import Arrival, Needs
from tuner.pool.base import UNWIND_S, Job, Result
from tuner.pool.cluster import LOCAL, address_for, already_connected, connected
from tuner.pool.host import HostFacts, visible_gpu_ids
from tuner.pool.nodes import Nodes, gpus_in_use
from tuner.pool.plan import Node, Place, joining, places, worker_facts
from tuner.pool.reasons import reason
from tuner.records import WorkerFacts

_BUSY_HINT = "Wait until its GPUs are free (`ray status`), or ask for fewer with --max-workers."
_LEAVE_S = 2.0


@contextmanager
def ray_pool(
    kind: Literal["ray", "cluster"], *, gpus_per_worker: int, max_workers: int | None, needs: Needs
) -> Iterator[RayPool]:
    """Connect to Ray, put a worker in every place that there is, check its host, and yield the pool."""
    connection = already_connected()
    address = LOCAL if connection else address_for(kind)
    if address == LOCAL and not connection:
        _check_this_machine(gpus_per_worker, max_workers)
    with connected(address) as nodes:
        said = [] if address == LOCAL else [_cluster_words(address, nodes)]
        pool = RayPool(nodes, places(nodes.alive, gpus_per_worker, max_workers), needs, max_workers)
        pool.notes[:0] = said
        try:
            yield pool
        finally:
            pool.close()


def _check_this_machine(gpus_per_worker: int, max_workers: int | None) -> None:
    """Raise PoolError where this machine's GPUs are too few, before Ray takes its time to start and find the same."""
    if gpus := len(visible_gpu_ids()):  # none: they may be of a kind that only Ray knows
        places([Node("local", "127.0.0.1", gpus)], gpus_per_worker, max_workers)


def _cluster_words(address: str, nodes: Nodes) -> str:
    gpus, used = sum(node.gpus for node in nodes.alive), gpus_in_use(nodes.alive)
    others = f", {used} of them in use by others" if used else ""
    return f"on the Ray cluster at {address}: nodes {len(nodes.alive)}, GPUs {gpus}{others}"


@dataclass
class _Worker:
    """lost: its process is gone, and a new one may take its place.  gone: none may."""

    actor: Any
    place: Place
    host: HostFacts
    facts: WorkerFacts
    lost: bool = False
    gone: bool = False


class RayPool:
    """Workers that are Ray actors.

    A worker that was lost gets a new process when its next job is started. A node that joins later gets workers too.
    """

    def __init__(self, nodes: Nodes, wanted: tuple[Place, ...], needs: Needs, max_workers: int | None = None) -> None:
        self.notes: list[str] = []
        self._nodes = nodes
        self._needs = needs
        self._max_workers = max_workers
        self._known = {node.id for node in nodes.alive}
        self._staff: list[_Worker] = []
        self._jobs: dict[Any, int] = {}
        self._asked: dict[int, Any] = {}
        self._phases: dict[int, str] = {}
        self._returning: dict[int, tuple[Arrival, Job]] = {}
        self._joining: list[Arrival] = []
        self._gpus = wanted[0].gpus
        opening = Arrival(wanted, needs)
        try:
            self._open(opening)
        except BaseException:
            opening.end()
            raise

    @property
    def workers(self) -> tuple[WorkerFacts, ...]:
        """All that there are or were; a worker's number is its index."""
        return tuple(worker.facts for worker in self._staff)

    def start(self, worker: int, job: Job) -> None:
        """Start a job, in a new process if the last one was lost.  ValueError: the worker is busy."""
        if worker in self._jobs.values() or worker in self._returning:
            raise ValueError(f"worker {worker} is busy")
        who = self._staff[worker]
        self._phases[worker] = "starting"
        if who.lost or who.gone:
            self._returning[worker] = (Arrival(() if who.gone else (who.place,), self._needs), job)
        else:
            self._submit(worker, job)

    def phases(self) -> Mapping[int, str]:
        """Return the last known phase of each running job; every call also asks the workers anew."""
        import ray

        for worker in self._jobs.values():
            asked = self._asked.get(worker)
            if asked is not None and ray.wait([asked], timeout=0)[0]:
                with suppress(ray.exceptions.RayError):  # the worker is lost, which `wait` reports
                    self._phases[worker] = ray.get(asked)
                asked = None
            self._asked[worker] = asked or self._staff[worker].actor.phase.remote()
        return {worker: self._phases[worker] for worker in (*self._jobs.values(), *self._returning)}

    def wait(self, timeout_s: float) -> list[Result]:
        """Wait until a job ends, at most `timeout_s`; raise what a job did not expect, after the others' results.

        PoolError: the cluster's head is gone.
        """
        import ray

        if not self._jobs and not self._returning:
            return []
        self._look_around()
        results = self._replaced()
        awaited = [*self._jobs, *(ref for arrival in self._arrivals() for ref in arrival.pending)]
        if awaited and not results:
            ray.wait(awaited, num_returns=1, timeout=timeout_s)
        return [*results, *self._ended()]

    def close(self) -> None:
        """Let the running jobs stop their engines, then end all workers.  Safe to call twice."""
        import ray

        for worker in self._jobs.values():
            self._staff[worker].actor.abandon.remote()
        if self._jobs:
            ray.wait(list(self._jobs), num_returns=len(self._jobs), timeout=UNWIND_S)
        actors = [worker.actor for worker in self._staff]
        if self._nodes.lost and actors:  # it is Ray's head that would end them
            ray.wait([actor.leave.remote() for actor in actors], num_returns=len(actors), timeout=_LEAVE_S)
        for actor in actors:
            ray.kill(actor)
        for arrival in self._arrivals():
            arrival.end()
        self._staff, self._joining, self._jobs, self._returning = [], [], {}, {}

    def _arrivals(self) -> list[Arrival]:
        return [*self._joining, *(arrival for arrival, _ in self._returning.values())]

    def _open(self, opening: Arrival) -> None:
        """Wait for the first workers, and do without those that get no GPU in time."""
        opening.wait()
        late, within = opening.drop_late(), f"within {self._needs.ready_s:g} s"
        if not opening.actors:
            raise PoolError(f"no worker was started {within}: the cluster is busy", _BUSY_HINT)
        if late:
            wanted = late + len(opening.actors)
            self.notes.append(f"{late} of {wanted} workers got no GPU {within} and are left out")
        self._take_on(opening, opening.hosts())

    def _take_on(self, arrival: Arrival, hosts: list[HostFacts]) -> None:
        """Make workers of those that arrived; the names and cores of those that are there stay theirs."""
        there = [worker for worker in self._staff if not worker.gone]
        nodes = [*(worker.place.node for worker in there), *(place.node for place in arrival.places)]
        facts = worker_facts(nodes, [*(worker.host for worker in there), *hosts])[len(there) :]
        for actor, place, host, its in zip(arrival.actors, arrival.places, hosts, facts, strict=True):
            self._staff.append(_Worker(actor, place, host, its))

    def _submit(self, worker: int, job: Job) -> None:
        who = self._staff[worker]
        self._jobs[who.actor.run.remote(job, who.facts, os.environ.get("OMP_NUM_THREADS"))] = worker

    def _ended(self) -> list[Result]:
        import ray

        ended, _ = ray.wait(list(self._jobs), num_returns=len(self._jobs), timeout=0) if self._jobs else ([], [])
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

    def _outcome(self, job: Any) -> Any:
        import ray

        worker = self._jobs[job]
        try:
            return ray.get(job)
        except (ray.exceptions.ObjectStoreFullError, ray.exceptions.OutOfDiskError) as error:
            device = self._staff[worker].facts.device_key
            return PoolError(f"the result of the worker on {device} could not be sent: {reason(error)}")
        except ray.exceptions.RayTaskError:
            raise
        except ray.exceptions.RayError as error:
            return self._lost(worker, error)

    def _lost(self, worker: int, error: Exception) -> PoolError:
        who = self._staff[worker]
        who.lost = True
        self._look_around(now=True)
        why = "its node was lost, and what ran there ends with its Ray daemon" if who.gone else reason(error)
        return PoolError(f"the worker on {who.facts.device_key} was lost: {why}")

    def _look_around(self, *, now: bool = False) -> None:
        """Take note of nodes that are gone and of those that joined."""
        self._nodes.check(now=now)
        alive = {node.id for node in self._nodes.alive}
        for worker in self._staff:
            worker.gone = worker.gone or worker.place.node.id not in alive
        for node in self._nodes.alive:
            if node.id not in self._known:
                self._known.add(node.id)
                if found := joining(node, self._gpus, self._room()):
                    self._joining.append(Arrival(found, self._needs))
        for arrival in [arrival for arrival in self._joining if arrival.settled]:
            self._welcome(arrival)

    def _room(self) -> int | None:
        if self._max_workers is None:
            return None
        coming = sum(len(arrival.actors) for arrival in self._joining)
        return max(0, self._max_workers - coming - sum(not worker.gone for worker in self._staff))

    def _welcome(self, arrival: Arrival) -> None:
        """Make workers of a node that joined; where others still are on its machine, when they are gone."""
        node = arrival.places[0].node
        arrival.drop_late()
        try:
            hosts = arrival.hosts() if arrival.actors else []
        except PoolError as error:
            self._joining.remove(arrival)
            arrival.end()
            self.notes.append(f"a node that joined ({node.address}) is not used: {error.message}")
            return
        machines = {(worker.place.node.address, worker.host.host) for worker in self._staff if not worker.gone}
        if any((node.address, host.host) in machines for host in hosts):
            return
        self._joining.remove(arrival)
        self._take_on(arrival, hosts)

    def _replaced(self) -> list[Result]:
        """Start the jobs that new processes were awaited for; what none can be had for is a result."""
        results: list[Result] = []
        for worker, (arrival, job) in list(self._returning.items()):
            if not arrival.settled:
                continue
            del self._returning[worker]
            try:
                self._replace(worker, arrival)
                self._submit(worker, job)
            except PoolError as error:
                arrival.end()
                results.append((worker, WorkerGone(error.message, error.next_step)))
        return results

    def _replace(self, worker: int, arrival: Arrival) -> None:
        """Put a new process in the place of a lost one.  PoolError: it is not there, or not the same."""
        import ray

        who = self._staff[worker]
        key, step = who.facts.device_key, "Check the node with `ray status`; the same command resumes the sweep."
        if who.gone:
            raise PoolError(f"the node of {key} was lost", step)
        if arrival.drop_late():
            raise PoolError(f"the worker on {key} was lost and got no GPU within {self._needs.ready_s:g} s", step)
        (host,) = arrival.hosts()
        if [gpu.id for gpu in host.gpus] != [gpu.id for gpu in who.host.gpus]:
            ids = ", ".join(gpu.id for gpu in host.gpus)
            raise PoolError(f"the worker on {key} came back with GPUs {ids}", step)
        ray.kill(who.actor)
        who.actor, who.lost = arrival.actors[0], False
