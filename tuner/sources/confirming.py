"""After selection: fresh lives of the finalists."""

from __future__ import annotations

from collections.abc import Sequence

from tuner.evidence import judgement
from tuner.records import Role, RunManifest, WorkerFacts
from tuner.search.schedule import Task
from tuner.sources.base import Budget
from tuner.sources.fresh import FreshLives
from tuner.store import RunStore


class Confirming(FreshLives):
    """Hands out the finalists' lives and those of their baselines.

    The closest rival goes on as long as it may still win: it has one life, or as many as the winner and the baseline.
    """

    def __init__(self, store: RunStore, manifest: RunManifest, budget: Budget) -> None:
        self._asked_for = manifest.protocol.lives > 1
        lives = manifest.protocol.lives
        super().__init__(
            store,
            manifest,
            budget,
            Role.FINAL,
            judgement,
            what="finalists",
            expected=2 * lives + 1 if self._asked_for else 0,
            possible=lives - 1 if self._asked_for else 0,
        )

    def next(self, worker: WorkerFacts, alive: Sequence[WorkerFacts]) -> Task | None:
        """Return the next life; without reading a trial where the protocol asks for none."""
        return super().next(worker, alive) if self._asked_for else None
