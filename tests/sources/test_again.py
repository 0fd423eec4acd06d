from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tuner.records import Failure, FailureKind, Role, Trial, TrialRecord, WorkerFacts
from tuner.search.schedule import Task
from tuner.sources import Budget
from tuner.sources.again import LivesAgain
from tuner.space.search_space import Limits

Make = Callable[..., Trial]


@pytest.fixture
def plain(make_trial: Make) -> TrialRecord:
    return make_trial(0).record


@pytest.fixture
def fast(make_trial: Make) -> TrialRecord:
    return make_trial(1, k=3).record


def lives_again(plain: TrialRecord, fast: TrialRecord, lives: int, done: list[TrialRecord]) -> LivesAgain:
    return LivesAgain((plain.candidate, fast.candidate), lives, plain.worker.device_key, done, Budget(Limits()))


def ended(task: Task, like: TrialRecord, failed: bool = False) -> TrialRecord:
    failure = Failure(FailureKind.CRASHED, "boom") if failed else None
    return replace(like, role=task.role, candidate=task.candidate, failure=failure)


def roles(source: LivesAgain, worker: WorkerFacts, like: TrialRecord) -> list[Role]:
    found = []
    while task := source.next(worker, [worker]):
        assert source.next(worker, [worker]) is None  # one at a time
        found.append(task.role)
        source.finished(ended(task, like))
    return found


def test_arms_take_turns_and_the_first_life_of_each_is_a_sweeps(plain: TrialRecord, fast: TrialRecord) -> None:
    source = lives_again(plain, fast, 3, [])
    assert (source.waiting, source.waiting_plain) == (6, 3)
    assert roles(source, plain.worker, plain) == [
        Role.BASELINE,
        Role.CANDIDATE,
        Role.BASELINE_AGAIN,
        Role.CANDIDATE_AGAIN,
        Role.BASELINE_AGAIN,
        Role.CANDIDATE_AGAIN,
    ]
    assert source.waiting == 0


def test_a_sweeps_lives_count_the_finalists_too_and_those_of_other_devices_do_not(
    plain: TrialRecord, fast: TrialRecord
) -> None:
    elsewhere = replace(plain, worker=replace(plain.worker, device_key="node-b/cpu"))
    done = [plain, replace(plain, role=Role.FINAL, round=0), elsewhere, fast]
    source = lives_again(plain, fast, 3, done)
    assert (source.waiting, source.waiting_plain) == (3, 1)
    assert source.next(elsewhere.worker, [plain.worker]) is None
    assert roles(source, plain.worker, plain) == [Role.CANDIDATE_AGAIN, Role.BASELINE_AGAIN, Role.CANDIDATE_AGAIN]


def test_a_lost_life_is_handed_out_again(plain: TrialRecord, fast: TrialRecord) -> None:
    source = lives_again(plain, fast, 2, [])
    task = source.next(plain.worker, [plain.worker])
    assert task is not None
    source.put_back(task, plain.worker.device_key)
    assert source.next(plain.worker, [plain.worker]) == task


def test_two_failures_end_it_with_a_note(plain: TrialRecord, fast: TrialRecord) -> None:
    source = lives_again(plain, fast, 5, [])
    for _ in range(2):
        task = source.next(plain.worker, [plain.worker])
        assert task is not None and task.role is Role.BASELINE
        source.finished(ended(task, plain, failed=True))
    assert source.next(plain.worker, [plain.worker]) is None
    assert "2 lives of no speculation failed" in source.notes[0]


def test_the_limits_of_the_space_end_it_with_a_note(plain: TrialRecord, fast: TrialRecord) -> None:
    budget = Budget(Limits(max_engine_starts=1))
    source = LivesAgain((plain.candidate, fast.candidate), 5, plain.worker.device_key, [], budget)
    assert source.next(plain.worker, [plain.worker]) is not None
    budget.spend()
    source.finished(plain)
    assert source.next(plain.worker, [plain.worker]) is None
    assert "limits" in source.notes[0]


def test_a_budget_counts_starts_refunds_and_minutes() -> None:
    now = [100.0]
    budget = Budget(Limits(max_engine_starts=3, max_minutes=1.0), clock=lambda: now[0])
    budget.spend()
    assert not budget.reached(1) and budget.reached(2)
    budget.refund()
    assert not budget.reached(2)
    assert (budget.within_half(6), Budget(Limits()).within_half(6)) == (1, 0)
    assert budget.ended_by == "max_engine_starts: 3"
    now[0] = 160.0
    assert budget.reached()
    assert budget.ended_by == "max_engine_starts: 3"  # the first one that was met
