from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import cast

from tuner.records import Candidate, Protocol, Role, Trial
from tuner.search.decision import Decision
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

    def ask(self) -> Decision:
        left = self._left.pop(0) if self._left else None
        return Decision(left, left is None, "it comes next" if left else "all is known")


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
    assert source.notes == ["it comes next", "it comes next", "all is known"]


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
    assert source.waiting == 0
    assert source.notes[-1] == "a limit of the space is reached"


class Undecided:
    """Has one candidate; what comes next depends on how it ends."""

    def __init__(self, candidate: Candidate) -> None:
        self.decisions = [Decision(candidate, False, ""), *[Decision(None, False, "1 is running")] * 2]

    waiting = 2

    def ask(self) -> Decision:
        return self.decisions.pop(0) if self.decisions else Decision(None, True, "")


def test_a_worker_without_work_waits_for_results_and_closes_only_when_all_is_known(make_trial: Make) -> None:
    plain, fast = make_trial(0).record, make_trial(1, k=2).record
    telling = cast("Telling", Undecided(fast.candidate))
    other = replace(fast.candidate, engine_args={"max_num_seqs": 4})  # a group that is never begun
    tried = [plain.candidate, fast.candidate, other]
    source = SingleLives(telling, Budget(Limits()), Protocol(), [plain.worker.device_key], [plain], tried)
    task = source.next(plain.worker, [plain.worker])
    assert task is not None and task.candidate == fast.candidate
    source.finished(fast)
    assert [source.next(plain.worker, [plain.worker]) for _ in range(2)] == [None, None]
    assert source.waiting_plain == 2
    assert source.waiting == 4  # two that may be asked for, and the closing baselines of both groups
    closing = source.next(plain.worker, [plain.worker])
    assert closing is not None and closing.role is Role.BASELINE_AGAIN
    assert source.waiting == 0
    assert source.notes == []


class Told(Questions):
    """Remembers what it is told to do without."""

    def __init__(self, candidates: list[Candidate]) -> None:
        super().__init__(candidates)
        self.left_out: list[tuple[str, str]] = []

    def leave_out(self, candidate: Candidate, why: str) -> None:
        self.left_out.append((candidate.label, why))


def test_candidates_of_a_failed_baseline_are_left_out_with_one_note_and_the_study_is_told(make_trial: Make) -> None:
    plain, one, two = make_trial(0).record, make_trial(1, k=1).record.candidate, make_trial(2, k=2).record.candidate
    study = Told([plain.candidate, one, two])
    devices = [plain.worker.device_key]
    source = SingleLives(cast("Telling", study), Budget(Limits()), Protocol(), devices, [], [plain.candidate, one, two])
    assert source.next(plain.worker, [plain.worker]) is not None
    source.finished(make_trial(0, failure="no such card").record)
    assert source.next(plain.worker, [plain.worker]) is None
    assert study.left_out == [("good K=1", "no such card"), ("good K=2", "no such card")]
    assert source.notes.count("what would be compared with this failed baseline is left out") == 1
