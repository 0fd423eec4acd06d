"""Which trial a free worker runs next: every candidate after a baseline of its own device and engine arguments."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from tuner.records import Candidate, Fix, Role, TrialRecord
from tuner.search.decision import Decision


@dataclass(frozen=True)
class Task:
    """One trial to run.

    skip: why nothing can be measured of the candidate ("" if it is to run).  round: of a FINAL.  served: the model that
    runs where it is not the target, as the user wrote it.  env: variables for this engine alone.  fix: why the
    candidate has other arguments than the space gave it.
    """

    role: Role
    candidate: Candidate
    skip: str = ""
    round: int | None = None
    served: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    fix: Fix | None = None

    @property
    def label(self) -> str:
        """Words for a person."""
        return f"{self.served} alone" if self.served else self.candidate.label


class Scheduler:
    """Hands out tasks; knows nothing of processes or time.

    ask: the next candidate of the study, or that there is none now (results are awaited) or none any more.
    devices: keys of those that ask for tasks; one that asks later counts too.  done: records of earlier sessions of
    this run.
    A group is (device, engine arguments): figures are compared within one group only, so each group gets a baseline
    before its first candidate and, if `baseline_again`, one after every `baseline_every` and after its last. A device
    on which the baseline failed gets no candidate of that group; a candidate is skipped only when the baseline failed
    on every device.
    """

    def __init__(
        self,
        ask: Callable[[], Decision],
        devices: Iterable[str],
        done: Iterable[TrialRecord] = (),
        *,
        baseline_again: bool = True,
        baseline_every: int | None = None,
    ) -> None:
        self._ask = ask
        self._devices = set(devices)
        self._baseline_again = baseline_again
        self._every = baseline_every if baseline_again else None
        self._since: Counter[tuple[str, str]] = Counter()
        self._ready: set[tuple[str, str]] = set()
        self._broken: dict[tuple[str, str], str] = {}
        self._used: dict[tuple[str, str], Candidate] = {}
        self._again: set[tuple[str, str]] = set()
        self._held: dict[str, Candidate] = {}
        self._returned: deque[Candidate] = deque()
        for record in done:
            self.finished(record)

    @property
    def waiting(self) -> int:
        """Candidates that were asked for and not handed out yet."""
        return len(self._returned) + len(self._held)

    @property
    def closing(self) -> int:
        """Closing baselines that are still to come, as far as is known now."""
        return len(self._used.keys() - self._again) if self._baseline_again else 0

    def next(self, device_key: str) -> Task | None:
        """Return the next task for this device, None when there is none for it now."""
        self._devices.add(device_key)
        candidate = self._held.pop(device_key, None) or self._put_back_for(device_key)
        if candidate is None and not self._returned:
            decision = self._ask()
            candidate = decision.candidate
            if candidate is None and not decision.done:
                return None
        if candidate is None:
            return self._closing_task(device_key)
        group = (device_key, candidate.args_key)
        if self._broken_everywhere(candidate):
            return Task(Role.CANDIDATE, candidate, skip=self._broken[group])
        if candidate.speculation is None:
            return Task(Role.BASELINE, candidate)
        if group in self._broken:
            self._returned.appendleft(candidate)
            return self._closing_task(device_key)
        if group not in self._ready:
            self._held[device_key] = candidate
            return Task(Role.BASELINE, candidate.baseline)
        if self._every is not None and self._since[group] >= self._every:
            self._held[device_key] = candidate
            return Task(Role.BASELINE_AGAIN, candidate.baseline)
        return Task(Role.CANDIDATE, candidate)

    def _put_back_for(self, device_key: str) -> Candidate | None:
        """Return what was put back and can run here. While there is more a bad device must not ask: it drains all."""
        for candidate in self._returned:
            here = (device_key, candidate.args_key) not in self._broken
            if here or candidate.speculation is None or self._broken_everywhere(candidate):
                self._returned.remove(candidate)
                return candidate
        return None

    def _broken_everywhere(self, candidate: Candidate) -> bool:
        return all((device, candidate.args_key) in self._broken for device in self._devices)

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
            self._since[group] = 0
        elif record.role is Role.BASELINE:
            if record.failure is None:
                self._ready.add(group)
                self._broken.pop(group, None)
            elif group not in self._ready:
                self._broken[group] = record.failure.what or record.failure.message
        elif record.role is Role.CANDIDATE and record.ok:
            self._used[group] = record.candidate.baseline
            self._again.discard(group)
            self._since[group] += 1

    def put_back(self, task: Task, device_key: str) -> None:
        """Hand this task out again: it ended without saying anything about the candidate."""
        if task.role is Role.CANDIDATE:
            self._returned.append(task.candidate)
        elif task.role is Role.BASELINE_AGAIN:
            self._again.discard((device_key, task.candidate.args_key))
        elif device_key not in self._held:
            self._returned.append(task.candidate)

    def gone(self, task: Task, device_key: str) -> None:
        """Hand this device's work out to the others: the device is gone."""
        self._devices.discard(device_key)
        if task.role is Role.CANDIDATE:
            self._returned.append(task.candidate)
        waiting = self._held.pop(device_key, None)
        if waiting is not None:
            self._returned.append(waiting)
        elif task.role is Role.BASELINE:
            self._returned.append(task.candidate)
