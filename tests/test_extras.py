"""Which extra trials are wanted, and which are measured already."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tuner.extras import dragged_along, missing, not_served_alone
from tuner.records import Candidate, EngineFacts, Failure, FailureKind, Protocol, Role, Speculation, Trial, TrialRecord

VERSION = "0.32.0"
V1 = "Model Runner V2 does not yet support speculative method 'x'; using the V1 model runner instead."
SYNC = "Asynchronous scheduling is disabled."
BOTH = Protocol(same_runner=True, drafts_alone=True)
Make = Callable[..., Trial]


@pytest.fixture
def run(make_trial: Make) -> list[TrialRecord]:
    """A baseline, two draft models of which one changes the runner, and n-gram that changes the scheduling too."""
    return [
        make_trial(0).record,
        make_trial(1, k=2, draft="good", changed_settings=(V1,)).record,
        make_trial(2, k=4, draft="good", changed_settings=(V1,)).record,
        make_trial(3, k=2, draft="weak").record,
        make_trial(4, k=3, draft="ngram", method="ngram", changed_settings=(V1, SYNC)).record,
    ]


def candidates(run: list[TrialRecord]) -> list[Candidate]:
    return [record.candidate for record in run]


def after(record: TrialRecord, role: Role, served: str = "", env: dict[str, str] | None = None) -> TrialRecord:
    engine = EngineFacts(VERSION, (), env or {}, 1.0)
    return replace(record, role=role, served=served, engine=engine, number=record.number + 10)


def test_nothing_is_wanted_that_was_not_asked_for(run: list[TrialRecord]) -> None:
    assert missing(run, candidates(run), Protocol(), VERSION) == ()


def test_each_draft_model_is_served_alone_once_and_ngram_has_none(run: list[TrialRecord]) -> None:
    wanted = missing(run, candidates(run), Protocol(drafts_alone=True), VERSION)
    assert [(extra.task.role, extra.task.served) for extra in wanted] == [
        (Role.DRAFT_ALONE, "/models/good"),
        (Role.DRAFT_ALONE, "/models/weak"),
    ]
    assert {extra.device_key for extra in wanted} == {"node-a/cpu"}


def test_one_second_baseline_for_each_set_of_changes(run: list[TrialRecord]) -> None:
    wanted = missing(run, candidates(run), Protocol(same_runner=True), VERSION)
    assert [(dict(e.task.candidate.engine_args), dict(e.task.env)) for e in wanted] == [
        ({}, {"VLLM_USE_V2_MODEL_RUNNER": "0"}),
        ({"async_scheduling": False}, {"VLLM_USE_V2_MODEL_RUNNER": "0"}),
    ]
    assert all(e.task.role is Role.SAME_RUNNER and not e.task.candidate.k for e in wanted)
    dragged = dragged_along(run, candidates(run), VERSION)
    assert [[record.number for record in one.trials] for one in dragged] == [[1, 2], [3], [4]]


def test_where_nothing_is_dragged_along_there_is_no_second_baseline(make_trial: Make) -> None:
    plain = make_trial(0, changed_settings=(SYNC,)).record
    same = make_trial(1, k=2, changed_settings=(SYNC,)).record
    assert missing([plain, same], [plain.candidate, same.candidate], Protocol(same_runner=True), VERSION) == ()


def test_what_is_measured_is_not_wanted_again_be_it_failed(run: list[TrialRecord]) -> None:
    plain = run[0]
    crashed = Failure(FailureKind.CRASHED, "no")
    done = [
        after(plain, Role.DRAFT_ALONE, "/models/good"),
        replace(after(plain, Role.DRAFT_ALONE, "/models/weak"), failure=crashed),
        after(plain, Role.SAME_RUNNER, env={"VLLM_USE_V2_MODEL_RUNNER": "0", "OMP_NUM_THREADS": "2"}),
    ]
    (left,) = missing([*run, *done], candidates(run), BOTH, VERSION)
    assert left.task.candidate.engine_args == {"async_scheduling": False}
    plainly = after(plain, Role.SAME_RUNNER)  # without the variable it was no V1 runner
    assert len(missing([*run, *done[:2], plainly], candidates(run), BOTH, VERSION)) == 2
    elsewhere = replace(done[0], worker=replace(plain.worker, device_key="node-b/cpu"))
    assert len(missing([*run, elsewhere], candidates(run), BOTH, VERSION)) == 4


def test_without_a_baseline_that_worked_there_is_nothing_to_compare_with(run: list[TrialRecord]) -> None:
    failed = replace(run[0], failure=Failure(FailureKind.CRASHED, "no"))
    assert missing([failed, *run[1:]], candidates(run), BOTH, VERSION) == ()


def test_heads_cannot_be_served_alone_and_are_named() -> None:
    head = Candidate({}, Speculation("eagle3", 3, "head", "/models/head"))
    own = Candidate({}, Speculation("draft_model", 3, "good", "/models/good"))
    ngram = Candidate({}, Speculation("ngram", 3, "ngram"))
    assert list(not_served_alone([own, head, ngram])) == ["head"]
