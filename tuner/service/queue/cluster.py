"""Sweeps as Ray jobs of a cluster."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tuner.pool.jobs import RayJobs
from tuner.service.queue.runner import Ended
from tuner.service.queue.sweeps import Sweep


class ClusterRunner:
    """One job at a time, which goes on when this server ends; the next server takes it over by its id.

    Run directories, the registry and tuner's own environment must be at the same paths on the cluster's head node.
    """

    outlives = True

    def __init__(self, jobs: RayJobs) -> None:
        self._jobs = jobs
        self._job = ""

    def adopt(self, sweep: Sweep) -> bool:
        """Take over a job, also one that has ended since: what it said is still known."""
        self._job = _job(sweep)
        return self._jobs.state(self._job) is not None

    def start(self, sweep: Sweep, arguments: Sequence[str]) -> tuple[int | None, float | None]:
        """Submit it."""
        self._job = _job(sweep)
        self._jobs.submit(self._job, (sys.executable, "-m", "tuner", *arguments), {})
        return None, None

    def ended(self) -> Ended | None:
        """Return how it ended; a job that the cluster forgot is one that nobody saw end."""
        state = self._jobs.state(self._job)
        if state is None:
            return Ended(None, "")
        return None if state.exit_code is None else Ended(state.exit_code, self._jobs.output(self._job))

    def interrupt(self) -> None:
        """Ask the cluster to send it what Ctrl-C sends."""
        self._jobs.stop(self._job)


def _job(sweep: Sweep) -> str:
    # A cluster takes an id once, so a sweep that is gone on with has another.
    return f"tuner-{sweep.id}-{sweep.attempt}"
