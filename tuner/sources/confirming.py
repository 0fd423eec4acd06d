"""After selection: fresh lives of the finalists."""

from __future__ import annotations

from tuner.evidence import judgement
from tuner.records import Role, RunManifest
from tuner.sources.base import Budget
from tuner.sources.fresh import FreshLives
from tuner.store import RunStore


class Confirming(FreshLives):
    """Hands out the finalists' lives and those of their baselines."""

    def __init__(self, store: RunStore, manifest: RunManifest, budget: Budget) -> None:
        lives = manifest.protocol.lives
        of_two_and_baseline = 3 * lives if lives > 1 else 0
        super().__init__(store, manifest, budget, Role.FINAL, judgement, what="finalists", expected=of_two_and_baseline)
