"""Lives of the same engines again and again, to see how they differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from tuner.records import Candidate, Role, TrialRecord, WorkerFacts
from tuner.search.schedule import Task
from tuner.sources.base import Budget

MOST_FAILURES = 2
"""Lives of one arm that may fail in a session before nothing more is started."""
_LIVES = (Role.BASELINE, Role.BASELINE_AGAIN, Role.CANDIDATE, Role.CANDIDATE_AGAIN, Role.FINAL)


class LivesAgain:
    """Hands out lives of each arm until each has so many on this device; in turns, so that no arm is always first.

    arms: the baseline first.  done: records of earlier sessions; a sweep's lives count.
    """

    possible = 0

    def __init__(
        self, arms: Sequence[Candidate], lives: int, device_key: str, done: Iterable[TrialRecord], budget: Budget
    ) -> None:
        self.notes: list[str] = []
        self._arms = tuple(arms)
        self._lives = lives
        self._device_key = device_key
        self._budget = budget
        self._measured: Counter[str] = Counter()
        self._failed: Counter[str] = Counter()
        self._first_lives: set[str] = set()
        self._running = ""
        for record in done:
            if record.ok:
                self.finished(record)

    @property
    def waiting(self) -> int:
        """Lives that are still to be started, if none fails."""
        return sum(max(0, self._lives - self._measured[arm.key]) for arm in self._arms) - bool(self._running)

    @property
    def waiting_plain(self) -> int:
        """Those of them that are of a baseline."""
        plain = [arm for arm in self._arms if not arm.k]
        left = sum(max(0, self._lives - self._measured[arm.key]) for arm in plain)
        return left - any(arm.key == self._running for arm in plain)

    def next(self, worker: WorkerFacts, alive: Sequence[WorkerFacts]) -> Task | None:
        """Return the arm with the fewest lives, while none runs."""
        left = [arm for arm in self._arms if self._measured[arm.key] < self._lives]
        if not left or self._running or worker.device_key != self._device_key:
            return None
        broken = next((arm for arm in self._arms if self._failed[arm.key] >= MOST_FAILURES), None)
        if broken is not None or self._budget.reached():
            why = f"{MOST_FAILURES} lives of {broken.label} failed" if broken else "the limits of the space are reached"
            self.notes.append(f"no further lives: {why}")
            return None
        arm = min(left, key=lambda candidate: self._measured[candidate.key])
        self._running = arm.key
        return Task(self._role(arm), arm)

    def finished(self, record: TrialRecord) -> None:
        """Take note of a finished life on this device."""
        if record.role not in _LIVES or record.worker.device_key != self._device_key:
            return
        key = record.candidate.key
        self._running = "" if self._running == key else self._running
        self._failed[key] += not record.ok
        if record.ok:
            self._measured[key] += 1
            if record.role in (Role.BASELINE, Role.CANDIDATE):
                self._first_lives.add(key)

    def put_back(self, task: Task, device_key: str) -> None:
        """Hand this life out again."""
        self._running = ""

    def gone(self, task: Task, device_key: str) -> None:
        """Lives of another device say nothing about this one's."""
        self._running = ""

    def _role(self, arm: Candidate) -> Role:
        first, again = (Role.CANDIDATE, Role.CANDIDATE_AGAIN) if arm.k else (Role.BASELINE, Role.BASELINE_AGAIN)
        return again if arm.key in self._first_lives else first
