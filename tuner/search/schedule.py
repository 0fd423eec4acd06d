"""Which trial a free worker runs next: every candidate after a baseline of its own device and engine arguments."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tuner.records import Candidate, Role, TrialRecord


@dataclass(frozen=True)
class Task:
    """One trial to run.  skip: why it cannot be run after all ("" if it can)."""

    role: Role
    candidate: Candidate
    skip: str = ""


class Scheduler:
    """Hands out tasks; knows nothing of processes or time.

    ask: the next candidate of the study, None when there is none.  done: records of earlier sessions of this run.
    A group is (device, engine arguments): figures are compared within one group only, so each group gets a baseline
    before its first candidate and, if `baseline_again`, one after its last.
    """

    def __init__(
        self, ask: Callable[[], Candidate | None], done: Iterable[TrialRecord] = (), *, baseline_again: bool = True
    ) -> None:
        self._ask = ask
        self._baseline_again = baseline_again
        self._ready: set[tuple[str, str]] = set()
        self._broken: dict[tuple[str, str], str] = {}
        self._used: dict[tuple[str, str], Candidate] = {}
        self._again: set[tuple[str, str]] = set()
        self._held: dict[str, Candidate] = {}
        self._returned: deque[Candidate] = deque()
        for record in done:
            self.finished(record)

    def next(self, device_key: str) -> Task | None:
        """Return the next task for this device, None when nothing is left for it."""
        candidate = self._held.pop(device_key, None) or self._next_candidate()
        if candidate is None:
            return self._closing_task(device_key)
        group = (device_key, candidate.args_key)
        if candidate.speculation is None:
            return Task(Role.BASELINE, candidate)
        if group in self._broken:
            return Task(Role.CANDIDATE, candidate, skip=f"its baseline failed: {self._broken[group]}")
        if group not in self._ready:
            self._held[device_key] = candidate
            return Task(Role.BASELINE, candidate.baseline)
        return Task(Role.CANDIDATE, candidate)

    def _next_candidate(self) -> Candidate | None:
        return self._returned.popleft() if self._returned else self._ask()

    def _closing_task(self, device_key: str) -> Task | None:
        if not self._baseline_again:
            return None
        for group, baseline in self._used.items():
            if group[0] == device_key and group not in self._again:
                self._again.add(group)
                return Task(Role.BASELINE_AGAIN, baseline)
        return None

    def finished(self, record: TrialRecord) -> None:
        """Take note of a finished trial, failed ones included."""
        group = (record.worker.device_key, record.candidate.args_key)
        if record.role is Role.BASELINE_AGAIN:
            self._again.add(group)
        elif record.role is Role.BASELINE:
            if record.failure is None:
                self._ready.add(group)
                self._broken.pop(group, None)
            elif group not in self._ready:
                self._broken[group] = record.failure.message
        elif record.ok:
            self._used[group] = record.candidate.baseline
            self._again.discard(group)

    def put_back(self, task: Task, device_key: str) -> None:
        """Hand this task out again, to the same device: it ended without saying anything about the candidate."""
        if task.role is Role.CANDIDATE:
            self._returned.append(task.candidate)
        elif task.role is Role.BASELINE_AGAIN:
            self._again.discard((device_key, task.candidate.args_key))
        elif device_key not in self._held:
            self._returned.append(task.candidate)

    def move(self, task: Task, device_key: str) -> None:
        """Hand this device's work out to others: the device is gone."""
        if task.role is Role.CANDIDATE:
            self._returned.append(task.candidate)
        waiting = self._held.pop(device_key, None)
        if waiting is not None:
            self._returned.append(waiting)
        elif task.role is Role.BASELINE:
            self._returned.append(task.candidate)
