"""A pool that has its devices for itself: each worker takes them on its host before its first trial.

Everything here is done by jobs, so that it holds for whatever runs the workers: the lock belongs to the process that
starts the engines, and its supervisors inherit it.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from tuner import device_lock
from tuner.device_lock import Holder, Taken
from tuner.errors import PoolError, WorkerGone
from tuner.pool.base import Job, Pool, Report, Result
from tuner.records import WorkerFacts

_ASK_AGAIN_S = (0.5, 1.5)
"""Not regular: of two sweeps that each want devices of the other, one is to come first."""
_STOPPING_S = 60.0
"""How long the engine of a lost worker may take to be gone."""


@dataclass(frozen=True)
class Alone:
    """That no other sweep may use the same devices.  me: who asks.  on_wait: is told who has them, while it waits."""

    me: Holder
    on_wait: Callable[[str], None]


@contextmanager
def giving_back() -> Iterator[None]:
    """Context at whose end this process gives back what its own workers took; other processes do as they end."""
    try:
        yield
    finally:
        device_lock.release()


class AlonePool:
    """A pool whose workers run nothing before they have their devices."""

    def __init__(self, pool: Pool, me: Holder) -> None:
        self._pool = pool
        self._me = me
        self.notes: list[str] = pool.notes

    @property
    def workers(self) -> Sequence[WorkerFacts]:
        """Those of the pool."""
        return self._pool.workers

    def start(self, worker: int, job: Job) -> None:
        """Start a job.  Its result is a WorkerGone where another sweep has the devices of a worker that joined late."""
        self._pool.start(worker, partial(_on_own_devices, self._me, job))

    def phases(self) -> Mapping[int, str]:
        """Those of the pool."""
        return self._pool.phases()

    def wait(self, timeout_s: float) -> list[Result]:
        """Wait as the pool does."""
        return self._pool.wait(timeout_s)

    def close(self) -> None:
        """Close the pool."""
        self._pool.close()


def with_devices(pool: Pool, alone: Alone) -> AlonePool:
    """Wait until every worker has its devices.  PoolError: a worker was lost meanwhile.

    None is kept while another is waited for: two sweeps that each have what the other wants would wait for ever.
    """
    told = ""
    while (taken := _take_all(pool, alone.me)) is not None:
        _everywhere(pool, _give_back)
        if taken.words != told:
            told = taken.words
            alone.on_wait(f"waiting: {told}. This sweep begins when that ends.")
        time.sleep(random.uniform(*_ASK_AGAIN_S))
    return AlonePool(pool, alone.me)


def _take_all(pool: Pool, me: Holder) -> Taken | None:
    return next((taken for taken in _everywhere(pool, partial(_take, me)) if taken is not None), None)


def _everywhere(pool: Pool, job: Job) -> list[Any]:
    count = len(pool.workers)
    for worker in range(count):
        pool.start(worker, job)
    results: list[Any] = []
    while len(results) < count:
        results += [result for _, result in pool.wait(1.0)]
    if lost := next((result for result in results if isinstance(result, PoolError)), None):
        raise lost
    return results


def _take(me: Holder, facts: WorkerFacts, report: Report) -> Taken | None:
    return device_lock.take(lock_names(facts), me)


def _give_back(facts: WorkerFacts, report: Report) -> None:
    device_lock.release()


def _on_own_devices(me: Holder, job: Job, facts: WorkerFacts, report: Report) -> Any:
    """Run a job; a worker in a new process takes its devices first, once the engine of the lost one is gone."""
    deadline_s = time.monotonic() + _STOPPING_S
    while (taken := _take(me, facts, report)) is not None:
        if time.monotonic() > deadline_s:
            raise WorkerGone(taken.words, "The same command resumes the sweep.")
        report("waiting for the device")
        time.sleep(_ASK_AGAIN_S[0])
    return job(facts, report)


def lock_names(facts: WorkerFacts) -> tuple[str, ...]:
    """Return what its devices are called on their host, whoever asks: UUIDs of GPUs (or MIG slices), "cpu" without."""
    return tuple(facts.device_key.partition("/")[2].split("+")) if facts.gpu_ids else ("cpu",)
