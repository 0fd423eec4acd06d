"""After selection: fresh lives of the finalists, until they have settled the question or may not go on."""

from __future__ import annotations

from collections.abc import Sequence

from tuner.analysis.finals import Judgement
from tuner.evidence import judgement
from tuner.records import Role, RunManifest, TrialRecord, WorkerFacts
from tuner.search.rounds import FinalRounds
from tuner.search.schedule import Task
from tuner.sources.base import Budget
from tuner.store import RunStore
from tuner.words import distinguishing, full_label


class Confirming:
    """Hands out the finalists' lives; asks the analysis again whenever a life may have changed what it wants.

    notes: what a person should know about it, in order.
    """

    def __init__(self, store: RunStore, manifest: RunManifest, budget: Budget) -> None:
        self.notes: list[str] = []
        self._store = store
        self._manifest = manifest
        self._budget = budget
        self._rounds = FinalRounds(store.records())
        self._planned = False
        self._stale = True
        self._devices: frozenset[str] = frozenset()
        self._names: tuple[str, ...] = ()
        self._wanted = 0

    @property
    def waiting(self) -> int:
        """Lives that are still to be started; before the finalists are known, of two and their baseline."""
        if self._planned:
            return self._rounds.waiting
        lives = self._manifest.protocol.lives
        return 3 * lives if lives > 1 else 0

    def next(self, worker: WorkerFacts, alive: Sequence[WorkerFacts]) -> Task | None:
        """Return the next life for this worker; call it only when all single lives are measured.

        Rounds run on the kind of device that the winner was selected on, if one of those alive is such a device.
        """
        if self._budget.reached():
            return None
        if self._stale:
            self._plan(alive)
        if worker.device_key not in self._devices:
            return None
        return self._rounds.next(worker.device_key)

    def finished(self, record: TrialRecord) -> None:
        """Take note of a finished trial."""
        if record.role is Role.FINAL:
            self._rounds.finished(record)
            self._stale = True  # whatever a life shows may bar a finalist: the next best takes its place at once

    def put_back(self, task: Task, device_key: str) -> None:
        """Hand this life out again."""
        self._rounds.put_back(task)

    def gone(self, task: Task, device_key: str) -> None:
        """Give up the rounds that are open on this device."""
        self._rounds.gone(device_key)
        self._stale = True

    def _plan(self, alive: Sequence[WorkerFacts]) -> None:
        self._planned, self._stale = True, False
        judged = judgement(self._store.trials(), self._manifest)
        self._devices = self._of_the_winners_kind(judged, alive)
        self._rounds.want(judged.arms, judged.wanted, self._devices)
        differing = distinguishing(judged.arms)
        names = tuple(full_label(arm, differing) for arm in judged.arms)
        if names and names != self._names:
            self.notes.append(f"finalists: {', '.join(names)}; in {judged.wanted} or more fresh engine lives each")
        elif names and judged.wanted > self._wanted:
            self.notes.append(f"the finalists go on to {judged.wanted} fresh engine lives each")
        self._names, self._wanted = names, judged.wanted

    def _of_the_winners_kind(self, judged: Judgement, alive: Sequence[WorkerFacts]) -> frozenset[str]:
        """Return the devices of the kind on which the first finalist was selected; all if none of those is there."""
        winner = next((arm.key for arm in judged.arms if arm.k), "")
        single = (r for r in self._store.records() if r.ok and r.role is Role.CANDIDATE and r.candidate.key == winner)
        kind = next((record.worker.device for record in single), None)
        same = frozenset(worker.device_key for worker in alive if worker.device == kind)
        return same or frozenset(worker.device_key for worker in alive)
