"""Which fresh life of a finalist a free worker runs next."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from tuner.records import Candidate, Role, TrialRecord
from tuner.search.schedule import Task


class FinalRounds:
    """Hands out rounds of fresh lives; knows nothing of processes, time or statistics.

    A round belongs to one device, and its lives follow one another there directly. Each round begins with another arm,
    so that none is always measured first. A round in which a life failed or that cannot go on as it began is given up,
    and another one takes its place.
    done: records of earlier sessions.  role: of these lives; what has another one is ignored.
    """

    def __init__(self, done: Iterable[TrialRecord] = (), role: Role = Role.FINAL) -> None:
        self._role = role
        self._arms: tuple[Candidate, ...] = ()
        self._wanted = 0
        self._device: dict[int, str] = {}
        self._measured: dict[int, set[str]] = {}
        self._running: dict[int, str] = {}
        self._failed: set[int] = set()
        for record in done:
            self.finished(record)

    def want(self, arms: Sequence[Candidate], rounds: int, devices: Collection[str] | None = None) -> None:
        """Ask for so many complete rounds of these arms on these devices (None: on any).

        Open rounds that nobody can go on with are given up: those on other devices, those that were begun with other
        arms, and those after which another one began on the device: their lives would not follow one another.
        """
        self._arms, self._wanted = tuple(arms), rounds
        keys = {arm.key for arm in arms}
        last = {device: max(n for n, on in self._device.items() if on == device) for device in self._device.values()}
        for number, device in self._device.items():
            here = devices is None or device in devices
            goes_on = here and number == last[device] and self._measured.get(number, set()) <= keys
            if not goes_on and not self._complete(number):
                self._failed.add(number)

    @property
    def waiting(self) -> int:
        """Lives that are still to be started, if none fails."""
        return len(self._to_start())

    @property
    def waiting_plain(self) -> int:
        """Those of them that are of a baseline."""
        return sum(not arm.k for arm in self._to_start())

    @property
    def idle(self) -> bool:
        """Whether nothing runs and nothing waits."""
        return not self._running and not self.waiting

    def next(self, device_key: str) -> Task | None:
        """Return the next life for this device: of the round that is open there, else of a new one if one is wanted."""
        for number, device in self._device.items():
            if device == device_key and number not in self._failed and number not in self._running:
                missing = self._missing(number)
                if missing:
                    return self._start(number, missing[0])
        if not self._arms or self._possible() >= self._wanted:
            return None
        number = max(self._device, default=-1) + 1
        self._device[number] = device_key
        return self._start(number, self._missing(number)[0])

    def finished(self, record: TrialRecord) -> None:
        """Take note of a finished life, failed ones included; other trials are ignored."""
        if record.role is not self._role or record.round is None:
            return
        self._device.setdefault(record.round, record.worker.device_key)
        self._running.pop(record.round, None)
        if record.ok:
            self._measured.setdefault(record.round, set()).add(record.candidate.key)
        else:
            self._failed.add(record.round)

    def put_back(self, task: Task) -> None:
        """Hand this life out again: it ended without saying anything about the candidate."""
        if task.round is not None:
            self._running.pop(task.round, None)

    def gone(self, device_key: str) -> None:
        """Give up the rounds that are open on this device."""
        for number, device in self._device.items():
            if device == device_key and not self._complete(number):
                self._failed.add(number)
                self._running.pop(number, None)

    def _start(self, number: int, candidate: Candidate) -> Task:
        self._running[number] = candidate.key
        return Task(self._role, candidate, round=number)

    def _to_start(self) -> list[Candidate]:
        """Return the arms of the lives that are still to be started, an arm once for each life."""
        begun = [number for number in self._device if number not in self._failed]
        found = [arm for n in begun for arm in self._missing(n) if arm.key != self._running.get(n)]
        return [*found, *self._arms * max(0, self._wanted - self._possible())]

    def _possible(self) -> int:
        """Rounds that are complete or may still become so; in one that was given up all that is wanted may have run."""
        return sum(number not in self._failed or self._complete(number) for number in self._device)

    def _complete(self, number: int) -> bool:
        return not self._missing(number)

    def _missing(self, number: int) -> list[Candidate]:
        first = number % len(self._arms) if self._arms else 0
        measured = self._measured.get(number, set())
        return [arm for arm in (*self._arms[first:], *self._arms[:first]) if arm.key not in measured]
