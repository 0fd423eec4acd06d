"""The door to Ray: workers that run trials, one per group of GPUs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

from tuner.pool.base import Job, Pool, Report, Result
from tuner.pool.host import look_around, visible_gpu_ids
from tuner.pool.local import LocalPool
from tuner.pool.plan import Node, check_hosts, places, worker_facts

__all__ = ["Job", "LocalPool", "Pool", "Report", "Result", "open_pool"]


@contextmanager
def open_pool(
    kind: Literal["ray", "cluster", "local"],
    *,
    gpus_per_worker: int,
    max_workers: int | None = None,
    required_paths: Sequence[str] = (),
    engine_differs: Callable[[], str] | None = None,
) -> Iterator[Pool]:
    """Open workers for the length of the block; on leaving it they end, whatever they are doing.

    kind: "ray" for one Ray actor per group of GPUs of this machine, "cluster" for those of the cluster behind
    RAY_ADDRESS; "local" for threads of this process, at most one per group of GPUs of this machine.  gpus_per_worker:
    tensor_parallel x pipeline_parallel; 0 for engines that need no device, which then share a host's cores.  On a
    machine without GPUs there is one worker with all cores.  required_paths: the engine's Python and local models; they
    have to exist on each node.  engine_differs: is asked on each node of a cluster how its engine is another one than
    the sweep's, "" if it is the same; has to be picklable.
    PoolError: no node can ever hold a worker, a node lacks something, or Ray cannot be reached.
    InputError: RAY_ADDRESS names a cluster that was not asked for, or none where one was.
    """
    if kind == "local":
        pool = _local_pool(gpus_per_worker, max_workers, required_paths)
        try:
            yield pool
        finally:
            pool.close()
        return
    from tuner.pool.arrival import Needs
    from tuner.pool.ray_pool import ray_pool

    needs = Needs(required_paths, engine_differs)
    with ray_pool(kind, gpus_per_worker=gpus_per_worker, max_workers=max_workers, needs=needs) as workers:
        yield workers


def _local_pool(gpus_per_worker: int, max_workers: int | None, required_paths: Sequence[str]) -> LocalPool:
    gpu_ids = visible_gpu_ids() if gpus_per_worker else ()
    node = Node("local", "127.0.0.1", len(gpu_ids))
    found = places([node], gpus_per_worker, max_workers)
    hosts = []
    for index, place in enumerate(found):
        host = look_around(gpu_ids[index * place.gpus : (index + 1) * place.gpus], required_paths)
        check_hosts([host], host.tuner_version)
        hosts.append(host)
    return LocalPool(worker_facts([node] * len(hosts), hosts))
