"""Workers that are threads of this process: for the simulated engine and for debugging."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from tuner.errors import TunerError
from tuner.pool.base import UNWIND_S, Abandoned, Job, Result
from tuner.records import WorkerFacts


class LocalPool:
    """One thread per worker."""

    def __init__(self, workers: Sequence[WorkerFacts]) -> None:
        self.workers = tuple(workers)
        self.notes: list[str] = []
        self._phases: dict[int, str] = {}
        self._threads: dict[int, threading.Thread] = {}
        self._ended: queue.SimpleQueue[tuple[int, Any, BaseException | None]] = queue.SimpleQueue()
        self._failure: BaseException | None = None
        self._closed = False

    def start(self, worker: int, job: Job) -> None:
        """Start a job in the worker's thread.  ValueError: the worker is busy."""
        if worker in self._threads:
            raise ValueError(f"worker {worker} is busy")
        self._phases[worker] = "starting"
        thread = threading.Thread(target=self._run, args=(worker, job), name=f"worker-{worker}", daemon=True)
        self._threads[worker] = thread
        thread.start()

    def phases(self) -> Mapping[int, str]:
        """Return the phase of each running job."""
        return {worker: self._phases[worker] for worker in list(self._threads)}

    def wait(self, timeout_s: float) -> list[Result]:
        """Wait until a job ends, at most `timeout_s`; raise what a job did not expect, after the others' results."""
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        results: list[Result] = []
        while self._threads:
            try:
                worker, result, error = self._ended.get(block=not results, timeout=timeout_s)
            except queue.Empty:
                break
            self._threads.pop(worker).join()
            if error is None:
                results.append((worker, result))
            elif results:
                self._failure = error
                break
            else:
                raise error
        return results

    def close(self) -> None:
        """Let the running jobs unwind; what does not in time ends with this process."""
        self._closed = True
        deadline_s = time.monotonic() + UNWIND_S
        for thread in self._threads.values():
            thread.join(max(0.0, deadline_s - time.monotonic()))

    def _run(self, worker: int, job: Job) -> None:
        os.sched_setaffinity(0, self.workers[worker].cpu_cores)  # of this thread and the engines that it starts
        try:
            self._ended.put((worker, job(self.workers[worker], lambda phase: self._report(worker, phase)), None))
        except TunerError as error:
            self._ended.put((worker, error, None))
        except BaseException as error:  # noqa: BLE001 - carried to the thread that waits, where it is raised
            self._ended.put((worker, None, error))

    def _report(self, worker: int, phase: str) -> None:
        if self._closed:
            raise Abandoned
        self._phases[worker] = phase
