from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import cast

from tuner.records import Candidate, Protocol, Role, Trial
from tuner.search.telling import Telling
from tuner.sources import Budget
from tuner.sources.single import SingleLives
from tuner.space.search_space import Limits

Make = Callable[..., Trial]


class Questions:
    """Asks for candidates in order, as the study does."""

    def __init__(self, candidates: list[Candidate]) -> None:
        self._left = list(candidates)

    @property
    def waiting(self) -> int:
        return len(self._left)

    def ask(self) -> Candidate | None:
        return self._left.pop(0) if self._left else None


def test_waiting_counts_down_to_nothing_with_the_closing_baseline(make_trial: Make) -> None:
    plain, fast = make_trial(0).record, make_trial(1, k=2).record
    tried = [plain.candidate, fast.candidate]
    telling = cast("Telling", Questions(tried))
    source = SingleLives(telling, Budget(Limits()), Protocol(), [plain.worker.device_key], [], tried)
    roles, waiting = [], [source.waiting]
    while task := source.next(plain.worker, [plain.worker]):
        roles.append(task.role)
        waiting.append(source.waiting)
        source.finished(replace(plain, role=task.role, candidate=task.candidate))
    assert roles == [Role.BASELINE, Role.CANDIDATE, Role.BASELINE_AGAIN]
    assert waiting == [3, 2, 1, 0]


def test_candidates_leave_starts_for_the_closing_baseline_and_the_finalists(make_trial: Make) -> None:
    plain = make_trial(0).record
    tried = [plain.candidate, *(make_trial(k, k=k).record.candidate for k in range(1, 9))]
    budget = Budget(Limits(max_engine_starts=10))
    telling = cast("Telling", Questions(tried))
    source = SingleLives(telling, budget, Protocol(lives=3), [plain.worker.device_key], [], tried)
    roles = []
    while task := source.next(plain.worker, [plain.worker]):
        budget.spend()
        roles.append(task.role)
        source.finished(replace(plain, role=task.role, candidate=task.candidate))
    # 10 starts: half of them for the finalists, one for the closing baseline.
    assert roles == [Role.BASELINE, *[Role.CANDIDATE] * 3, Role.BASELINE_AGAIN]
