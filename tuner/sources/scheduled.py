"""After the finals: a K schedule as it would be deployed, beside the static K and no speculation."""

from __future__ import annotations

from tuner.evidence import schedule_judgement
from tuner.records import Role, RunManifest
from tuner.sources.base import Budget
from tuner.sources.fresh import FreshLives
from tuner.store import RunStore


class Scheduled(FreshLives):
    """Hands out the lives of each temperature's schedule, where the surface asks for one and the engine supports it.

    One round first: where it shows that the schedule is ignored or far slower, no further one is measured.
    """

    def __init__(self, store: RunStore, manifest: RunManifest, budget: Budget) -> None:
        super().__init__(store, manifest, budget, Role.SCHEDULE, schedule_judgement, what="arms of the K schedule")
