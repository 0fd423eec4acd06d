"""What hands out trials, and how many may still be begun."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Protocol

from tuner.records import TrialRecord, WorkerFacts
from tuner.search.schedule import Task
from tuner.space.search_space import Limits


class Source(Protocol):
    """Hands out trials of one kind. A sweep has several; each begins when those before it have nothing left.

    notes: what a person should know, in order; whoever shows one takes it out.
    """

    notes: list[str]

    @property
    def waiting(self) -> int:
        """Trials that are still to be started, as far as is known now."""

    @property
    def waiting_plain(self) -> int:
        """Those of them that run without speculation."""

    @property
    def possible(self) -> int:
        """Trials that may be wanted on top of those, or none of them; a third runs without speculation."""

    def next(self, worker: WorkerFacts, alive: Sequence[WorkerFacts]) -> Task | None:
        """Return the next trial for this worker, None when there is none for it now.  alive: all workers."""

    def finished(self, record: TrialRecord) -> None:
        """Take note of a finished trial, failed ones and those of other sources included."""

    def put_back(self, task: Task, device_key: str) -> None:
        """Hand this trial out again: it ended without saying anything about what it measures."""

    def gone(self, task: Task, device_key: str) -> None:
        """Do without this device: `task` could not be started there, and nothing else can."""


class Budget:
    """Engine starts and time that the space allows a session.  clock: monotonic seconds.

    ended_by: the limit that first kept a trial from being begun, like "max_trials: 9"; "" as long as none did.
    """

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._begun = 0
        self.ended_by = ""
        self.started_s = clock()

    def spend(self) -> None:
        """Count an engine start."""
        self._begun += 1

    def refund(self) -> None:
        """Take one back: no engine came of it."""
        self._begun -= 1

    def reached(self, reserved: int = 0) -> bool:
        """Whether another trial may not be begun, if so many engine starts have to be left for others."""
        limit = self._limits.reached(self._begun, self._clock() - self.started_s, reserved)
        self.ended_by = self.ended_by or limit
        return bool(limit)

    def left(self) -> tuple[int | None, float | None]:
        """Return the engine starts and the seconds that the limits still allow, None where there is no such limit."""
        return self._limits.left(self._begun, self._clock() - self.started_s)

    def within_half(self, starts: int) -> int:
        """Return so many engine starts, or half of those allowed where that is fewer; 0 without a limit."""
        return min(starts, (self._limits.max_engine_starts or 0) // 2)
