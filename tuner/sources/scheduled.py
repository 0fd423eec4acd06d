"""After the finals: a K schedule as it would be deployed, beside the static K and no speculation."""

from __future__ import annotations

from collections.abc import Sequence

from tuner.evidence import foreseen_schedule, schedule_judgement
from tuner.records import Role, RunManifest, TrialRecord, WorkerFacts
from tuner.search.schedule import Task
from tuner.sources.base import Budget
from tuner.sources.fresh import FreshLives
from tuner.store import RunStore

ARMS = 3
"""No speculation, the best static K and the schedule."""
MOST_LOOKED_AT = 50
"""Trials up to which it is foreseen from all of them how many lives a schedule will have. In a longer sweep these lives
are a small part, and reading every trial at every step would take longer than the trials do."""


class Scheduled(FreshLives):
    """Hands out the lives of each temperature's schedule, where the surface asks for one and the engine supports it.

    One round first: where it shows that the schedule is ignored or far slower, no further one is measured.
    Whether there will be a schedule is settled by the finals alone, and its lives are up to a third of a sweep. They
    are possible from the beginning, and expected as soon as the single lives ask for one.
    """

    def __init__(self, store: RunStore, manifest: RunManifest, budget: Budget) -> None:
        self._outdated = True
        super().__init__(
            store,
            manifest,
            budget,
            Role.SCHEDULE,
            schedule_judgement,
            what="arms of the K schedule",
        )

    @property
    def waiting(self) -> int:
        """Lives that are still to be started, with those that can be expected."""
        if self._outdated:
            self._foresee()
        return super().waiting

    @property
    def possible(self) -> int:
        """All lives of one schedule, as long as it is not known whether there will be one."""
        if self._outdated:
            self._foresee()
        return super().possible

    def finished(self, record: TrialRecord) -> None:
        """Take note of a finished trial."""
        super().finished(record)
        self._outdated = True  # looked at when it is asked for: by then the free worker has something to do

    def next(self, worker: WorkerFacts, alive: Sequence[WorkerFacts]) -> Task | None:
        """Return the next life; without reading a trial where the protocol asks for none."""
        return super().next(worker, alive) if self._manifest.protocol.schedule else None

    def _foresee(self) -> None:
        self._outdated, self._possible = False, 0
        if not self._manifest.protocol.schedule or len(self._store.records()) > MOST_LOOKED_AT:
            return
        arms, rounds = foreseen_schedule(self._store.trials(), self._manifest)
        searching = not any(record.role in (Role.FINAL, Role.SCHEDULE) for record in self._store.records())
        self._expected = arms * max(0, rounds - self._wanted)
        several = len({load.concurrency for load in self._manifest.load_points}) > 1
        if several and not arms and not self._planned and searching:
            self._possible = ARMS * max(1, self._manifest.protocol.lives)
