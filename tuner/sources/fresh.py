"""Rounds of fresh lives, planned from the records: until they have settled their question or may not go on."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol

from tuner.records import Candidate, Role, RunManifest, Trial, TrialFigures, TrialRecord, WorkerFacts
from tuner.search.rounds import FinalRounds
from tuner.search.schedule import Task
from tuner.sources.base import Budget
from tuner.store import RunStore
from tuner.words import distinguishing, full_label


class Wanted(Protocol):
    """What the analysis wants measured: complete rounds of these arms.  settled: whether no further one is wanted."""

    @property
    def arms(self) -> tuple[Candidate, ...]:
        """What runs in each round, baselines first."""

    @property
    def wanted(self) -> int:
        """Complete rounds."""

    @property
    def settled(self) -> bool:
        """Whether there are so many."""


class FreshLives:
    """Hands out the lives of one role; asks the analysis again whenever a life may have changed what it wants.

    judge: from all trials, and figures that it keeps from call to call, to what is wanted.  what: the arms in a word,
    for notes.  expected: lives that can be expected before that is known.  possible: further ones that may be wanted.
    """

    def __init__(
        self,
        store: RunStore,
        manifest: RunManifest,
        budget: Budget,
        role: Role,
        judge: Callable[[Sequence[Trial], RunManifest, dict[int, TrialFigures]], Wanted],
        *,
        what: str,
        expected: int = 0,
        possible: int = 0,
    ) -> None:
        self.notes: list[str] = []
        self._store = store
        self._manifest = manifest
        self._budget = budget
        self._role = role
        self._judge = judge
        self._what = what
        self._expected = expected
        self._possible = possible
        self._figures: dict[int, TrialFigures] = {}
        self._rounds = FinalRounds(store.records(), role)
        self._planned = self._over = False
        self._stale = True
        self._devices: frozenset[str] = frozenset()
        self._names: tuple[str, ...] = ()
        self._wanted = 0

    @property
    def waiting(self) -> int:
        """Lives that are still to be started, with those that can be expected; none once the budget is spent."""
        return 0 if self._over else self._rounds.waiting + self._expected

    @property
    def waiting_plain(self) -> int:
        """Lives of baselines among them; of those expected one in a round of three."""
        return 0 if self._over else self._rounds.waiting_plain + math.ceil(self._expected / 3)

    @property
    def possible(self) -> int:
        """Lives that may be wanted on top, as long as that is not known."""
        return 0 if self._over else self._possible

    def next(self, worker: WorkerFacts, alive: Sequence[WorkerFacts]) -> Task | None:
        """Return the next life for this worker; call it only when everything before these lives is measured.

        Rounds run on the kind of device that the winner was selected on, if one of those alive is such a device.
        """
        if self._budget.reached():
            self._over = True
            return None
        if self._stale:
            self._plan(alive)
        if worker.device_key not in self._devices:
            return None
        return self._rounds.next(worker.device_key)

    def finished(self, record: TrialRecord) -> None:
        """Take note of a finished trial."""
        if record.role not in (Role.FINAL, Role.SCHEDULE):
            self._figures.clear()  # of lives that this one may be compared with
        if record.role is self._role:
            self._rounds.finished(record)
            self._stale = True  # whatever a life shows may bar an arm: the next best takes its place at once

    def put_back(self, task: Task, device_key: str) -> None:
        """Hand this life out again."""
        self._rounds.put_back(task)

    def gone(self, task: Task, device_key: str) -> None:
        """Give up the rounds that are open on this device."""
        self._rounds.gone(device_key)
        self._stale = True

    def _plan(self, alive: Sequence[WorkerFacts]) -> None:
        self._planned, self._stale = True, False
        judged = self._judge(self._store.trials(), self._manifest, self._figures)
        self._devices = self._of_the_winners_kind(judged, alive)
        self._rounds.want(judged.arms, judged.wanted, self._devices)
        self._expected = self._possible = 0
        differing = distinguishing(judged.arms)
        names = tuple(full_label(arm, differing) for arm in judged.arms)
        if names and names != self._names:
            self.notes.append(f"{self._what}: {', '.join(names)}; in {judged.wanted} or more fresh engine lives each")
        elif names and judged.wanted > self._wanted:
            self.notes.append(f"the {self._what} go on to {judged.wanted} fresh engine lives each")
        self._names, self._wanted = names, judged.wanted

    def _of_the_winners_kind(self, judged: Wanted, alive: Sequence[WorkerFacts]) -> frozenset[str]:
        """Return the devices of the kind on which the first finalist was selected; all if none of those is there."""
        winner = next((arm.key for arm in judged.arms if arm.k), "")
        single = (r for r in self._store.records() if r.ok and r.role is Role.CANDIDATE and r.candidate.key == winner)
        kind = next((record.worker.device for record in single), None)
        same = frozenset(worker.device_key for worker in alive if worker.device == kind)
        return same or frozenset(worker.device_key for worker in alive)
