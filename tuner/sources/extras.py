"""After the finals: trials that explain the answer."""

from __future__ import annotations

from collections.abc import Sequence

from tuner.extras import Extra, draft_models, dragged_along, missing, not_served_alone
from tuner.records import Candidate, Protocol, TrialRecord, WorkerFacts
from tuner.search.schedule import Task
from tuner.sources.base import Budget


class Extras:
    """Hands out each extra once, on the device where the lives ran that it is compared with.

    done: records of earlier sessions that count as measured.  version: of vLLM.
    """

    possible = 0

    def __init__(
        self,
        candidates: Sequence[Candidate],
        protocol: Protocol,
        version: str,
        done: Sequence[TrialRecord],
        budget: Budget,
    ) -> None:
        self.notes: list[str] = []
        self._candidates = candidates
        self._protocol = protocol
        self._version = version
        self._budget = budget
        self._done = list(done)
        self._running: list[Extra] = []
        self._said: set[str] = set()
        self._planned = False

    @property
    def waiting(self) -> int:
        """Extras that are still to be started; before anything is known of the engine, as many as can be expected."""
        if self._planned:
            return len(self._to_start())
        alone = len(draft_models(self._candidates)) if self._protocol.drafts_alone else 0
        return max(0, alone - sum(bool(record.served) for record in self._done))

    @property
    def waiting_plain(self) -> int:
        """All of them: drafts alone and second baselines."""
        return self.waiting

    def next(self, worker: WorkerFacts, alive: Sequence[WorkerFacts]) -> Task | None:
        """Return the next extra for this worker."""
        if not self._planned:
            self._planned = True
            self.notes += self._explanations()
        to_start = self._to_start()
        if to_start and self._budget.reached():
            return None
        devices = {other.device_key for other in alive}
        for extra in to_start:
            if extra.device_key == worker.device_key:
                self._running.append(extra)
                return extra.task
            if extra.device_key not in devices:
                self._once(f"{extra.task.label}: no worker is on {extra.device_key}, where its baseline was measured")
        return None

    def finished(self, record: TrialRecord) -> None:
        """Take note of a finished trial, whatever it was: what is wanted follows from all of them."""
        self._done.append(record)
        self._running = [extra for extra in self._running if not extra.is_measured_by(record)]

    def put_back(self, task: Task, device_key: str) -> None:
        """Hand this extra out again."""
        self._running = [extra for extra in self._running if (extra.task, extra.device_key) != (task, device_key)]

    def gone(self, task: Task, device_key: str) -> None:
        """Its extras cannot be measured elsewhere."""
        self.put_back(task, device_key)

    def _to_start(self) -> list[Extra]:
        wanted = missing(self._done, self._candidates, self._protocol, self._version)
        return [extra for extra in wanted if extra not in self._running]

    def _explanations(self) -> list[str]:
        """Return why there is nothing to measure where something was asked for."""
        notes = []
        if self._protocol.drafts_alone:
            notes += [f"{name}: {why}" for name, why in not_served_alone(self._candidates).items()]
            if not draft_models(self._candidates):
                notes.append("no draft model among the candidates: nothing to serve alone")
        if self._protocol.same_runner:
            found = dragged_along(self._done, self._candidates, self._version)
            if not any(dragged.extra for dragged in found):
                notes.append("speculation drags nothing along that a plain engine can be given: no second baseline")
            for line in dict.fromkeys(line for dragged in found for line in dragged.effects.others):
                notes.append(f"changed by speculation, and not reproducible without it: {line}")
        return notes

    def _once(self, note: str) -> None:
        if note not in self._said:
            self._said.add(note)
            self.notes.append(note)
