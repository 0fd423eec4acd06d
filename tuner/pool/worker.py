"""The process that Ray runs for one worker: it holds the GPUs that Ray granted, and runs one job at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tuner.errors import TunerError
from tuner.pool.base import Abandoned, Job
from tuner.pool.host import HostFacts, look_around
from tuner.records import WorkerFacts


class TrialWorker:
    """A Ray actor with two threads: one runs the job, the other says in which phase it is."""

    def __init__(self) -> None:
        self._phase = ""
        self._abandoned = False

    def look(self, required_paths: Sequence[str], engine_differs: Callable[[], str] | None) -> HostFacts:
        """Return what is on this host, with the GPUs that Ray granted."""
        import ray

        granted = ray.get_runtime_context().get_accelerator_ids().get("GPU", [])
        return look_around([str(gpu_id) for gpu_id in granted], required_paths, engine_differs)

    def run(self, job: Job, facts: WorkerFacts, omp_num_threads: str | None) -> Any:
        """Return what the job returns, or the TunerError that it ended with.

        facts: what the driver knows this worker as.  omp_num_threads: that of the driver's environment, None if unset
        there.
        """
        _prepare(facts, omp_num_threads)
        self._report("starting")
        try:
            return job(facts, self._report)
        except TunerError as error:
            return error
        except Abandoned:
            return None

    def phase(self) -> str:
        """Return the phase that the running job reported last."""
        return self._phase

    def abandon(self) -> None:
        """Let the running job stop its engine and end, at its next word."""
        self._abandoned = True

    def leave(self) -> None:
        """End this process, for a driver that Ray's head can no longer do it for; an engine ends with its worker."""
        os._exit(0)

    def _report(self, phase: str) -> None:
        if self._abandoned:
            raise Abandoned
        self._phase = phase


def _prepare(facts: WorkerFacts, omp_num_threads: str | None) -> None:
    # Linux keeps affinity per thread, and an engine inherits that of the thread which starts it.
    for task in Path("/proc/self/task").iterdir():
        os.sched_setaffinity(int(task.name), facts.cpu_cores)
    # Ray sets OMP_NUM_THREADS to the actor's CPUs, here 1, and an engine on the CPU would obey it.
    if omp_num_threads is None:
        os.environ.pop("OMP_NUM_THREADS", None)
    else:
        os.environ["OMP_NUM_THREADS"] = omp_num_threads
