"""A pool whose workers take virtual time: trials cost nothing, and every second of the driver's work is charged.

The pool's clock stands still while the pool itself works, runs as the real one does while the driver works, and jumps
to the next end of a trial when the driver waits. So a worker idles exactly as long as it would beside a driver of this
speed. A second clock beside it is charged with the driver's CPU time alone, trials ending in the same order: that is
how busy workers would be where nobody else uses the cores and the disk never has to be waited for.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, cast

import psutil

from tests.scale.engines import Lab
from tuner.pool import Job, Result
from tuner.records import Role, Trial, TrialRecord, WorkerFacts
from tuner.trial import TrialSpec

SEARCHING = (Role.BASELINE, Role.CANDIDATE, Role.BASELINE_AGAIN)


@dataclass(frozen=True)
class Step:
    """What the driver did between two waits.

    driver_s, cpu_s: seconds of its work and of its CPU time for each trial that ended before.
    rss: bytes of the process after it.
    trials: that had ended by then.
    """

    trials: int
    driver_s: float
    cpu_s: float
    rss: int


@dataclass
class Timeline:
    """busy_s, ended_s: worker-seconds in trials, and when the last one ended, of the search alone and of everything.

    searching_ended_cpu_s: the same on the clock that is charged with CPU time.
    """

    steps: list[Step] = field(default_factory=list)
    searched: int = 0
    searching_busy_s: float = 0.0
    searching_ended_s: float = 0.0
    searching_ended_cpu_s: float = 0.0
    busy_s: float = 0.0
    ended_s: float = 0.0
    trials: int = 0
    requests: int = 0

    def note(self, record: TrialRecord, ended_s: float, ended_cpu_s: float, requests: int) -> None:
        """Count a trial that ended, at these times of the two clocks."""
        self.trials += 1
        self.requests += requests
        self.busy_s += record.phases.total_s
        self.ended_s = ended_s
        if record.role in SEARCHING:
            self.searched += 1
            self.searching_busy_s += record.phases.total_s
            self.searching_ended_s = ended_s
            self.searching_ended_cpu_s = max(self.searching_ended_cpu_s, ended_cpu_s)


class VirtualPool:
    """Workers that are as many virtual devices."""

    notes: ClassVar[list[str]] = []

    def __init__(self, workers: int, lab: Lab, timeline: Timeline) -> None:
        self.workers = tuple(
            WorkerFacts(f"node-{n // 8:03d}/gpu{n % 8}", "virtual", f"node-{n // 8:03d}") for n in range(workers)
        )
        self._lab = lab
        self._timeline = timeline
        self._running: dict[int, tuple[Trial, float]] = {}
        self._ends: list[tuple[float, int]] = []
        self._now_s, self._now_cpu_s = 0.0, 0.0
        self._driver_s = 0.0
        self._returned = 0
        self._cpu_s = 0.0
        self._leave()
        self._process = psutil.Process()

    def start(self, worker: int, job: Job) -> None:
        """Begin a trial at this virtual moment."""
        self._enter()
        spec: TrialSpec = cast("partial[Trial]", job).args[0]
        trial = self._lab.life(spec, self.workers[worker])
        self._running[worker] = trial, self._now_cpu_s + trial.record.phases.total_s
        heapq.heappush(self._ends, (self._now_s + trial.record.phases.total_s, worker))
        self._leave()

    def phases(self) -> Mapping[int, str]:
        """Return the phase of each running job."""
        return dict.fromkeys(self._running, "measuring")

    def wait(self, timeout_s: float) -> list[Result]:
        """Jump to the end of the next trial; return all that ended by then."""
        self._enter()
        if self._returned:
            each = self._driver_s / self._returned, self._cpu_s / self._returned
            step = Step(self._timeline.trials, *each, self._process.memory_info().rss)
            self._timeline.steps.append(step)
        self._now_s = max(self._now_s, self._ends[0][0])
        ended = []
        while self._ends and self._ends[0][0] <= self._now_s:
            ended_s, worker = heapq.heappop(self._ends)
            trial, ended_cpu_s = self._running.pop(worker)
            self._timeline.note(trial.record, ended_s, ended_cpu_s, len(trial.samples))
            self._now_cpu_s = max(self._now_cpu_s, ended_cpu_s)
            ended.append((worker, trial))
        self._driver_s, self._cpu_s, self._returned = 0.0, 0.0, len(ended)
        self._leave()
        return ended

    def close(self) -> None:
        """Nothing runs."""

    def _enter(self) -> None:
        driver_s, cpu_s = time.perf_counter() - self._left_at_s, time.process_time() - self._left_at_cpu_s
        self._driver_s += driver_s
        self._now_s += driver_s
        self._cpu_s += cpu_s
        self._now_cpu_s += cpu_s

    def _leave(self) -> None:
        self._left_at_s, self._left_at_cpu_s = time.perf_counter(), time.process_time()
