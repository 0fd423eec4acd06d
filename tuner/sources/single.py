"""One life of every candidate that the study asks for, between lives of its baseline."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tuner.records import Candidate, Protocol, Role, TrialRecord, WorkerFacts
from tuner.search.decision import Decision
from tuner.search.schedule import Scheduler, Task
from tuner.search.telling import Telling
from tuner.sources.base import Budget
from tuner.sources.fixed import Fixes


class SingleLives:
    """The scheduler's trials, as long as the budget leaves room for what has to come after them.

    devices: keys of the workers.  done: records that count as measured.  candidates: all of the space.
    fixes: retries with other arguments, which run where the study has nothing to ask; None for none.
    """

    possible = 0

    def __init__(
        self,
        telling: Telling,
        budget: Budget,
        protocol: Protocol,
        devices: Iterable[str],
        done: Iterable[TrialRecord],
        candidates: Iterable[Candidate],
        fixes: Fixes | None = None,
    ) -> None:
        self.notes: list[str] = []
        self._telling = telling
        self._budget = budget
        self._protocol = protocol
        self._fixes = fixes
        self._groups = len({candidate.args_key for candidate in candidates})
        self._closings = 0
        self._done = False
        self._left_out: set[str] = set()
        self._scheduler = Scheduler(
            self._ask,
            devices,
            done,
            baseline_again=protocol.baseline_again,
            baseline_every=protocol.baseline_every,
        )

    @property
    def waiting(self) -> int:
        """Trials to come, a guess while the search goes on; each group of engine arguments ends with a baseline."""
        asked = 0 if self._done else self._telling.waiting
        retries = self._fixes.waiting if self._fixes else 0
        return asked + retries + self._scheduler.waiting + self.waiting_plain

    @property
    def waiting_plain(self) -> int:
        """The closing baselines."""
        expected = 0 if self._done or not self._protocol.baseline_again else self._groups - self._closings
        return max(self._scheduler.closing, expected, 0)

    def next(self, worker: WorkerFacts, alive: Sequence[WorkerFacts]) -> Task | None:
        """Return the next trial for this worker."""
        while (task := self._scheduler.next(worker.device_key)) is not None and task.skip:
            self._leave_out(task)
        self._closings += task is not None and task.role is Role.BASELINE_AGAIN
        return replace(task, fix=self._fixes.of(task.candidate)) if task and self._fixes else task

    def finished(self, record: TrialRecord) -> None:
        """Take note of a finished trial."""
        self._scheduler.finished(record)
        if self._fixes:
            self._fixes.finished(record)

    def put_back(self, task: Task, device_key: str) -> None:
        """Hand this trial out again."""
        self._closings -= task.role is Role.BASELINE_AGAIN
        self._scheduler.put_back(task, device_key)

    def gone(self, task: Task, device_key: str) -> None:
        """Hand this device's work out to the others."""
        self._scheduler.gone(task, device_key)

    def _leave_out(self, task: Task) -> None:
        """Do without a candidate whose baseline fails: why stands in the baseline's record, and once is enough."""
        self._telling.leave_out(task.candidate, task.skip)
        if task.candidate.args_key not in self._left_out:
            self._left_out.add(task.candidate.args_key)
            self.notes.append("what would be compared with this failed baseline is left out")

    def _ask(self) -> Decision:
        if self._fixes and self._fixes.refit_due:
            decision = Decision(None, True, "")
        elif self._budget.reached(self._reserved()):
            decision = Decision(None, True, "a limit of the space is reached")
        else:
            decision = self._retry_or(self._telling.ask())
        if decision.why and (decision.candidate or (decision.done and not self._done)):
            self.notes.append(decision.why)
        self._done = decision.done
        return decision

    def _retry_or(self, decision: Decision) -> Decision:
        """Return a retry where the study has no candidate now."""
        retry = self._fixes.next() if self._fixes and decision.candidate is None else None
        if retry is None:
            return decision
        return Decision(retry.candidate, False, f"{retry.candidate.label} again: {retry.fix.note}")

    def _reserved(self) -> int:
        """Engine starts that candidates must leave: for closing baselines and, within half the limit, for finalists."""
        closing = max(self._scheduler.closing, 1) if self._protocol.baseline_again else 0
        lives = self._protocol.lives
        return closing + (self._budget.within_half(3 * lives) if lives > 1 else 0)
