from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tuner.records import Protocol, Role, Trial, TrialRecord
from tuner.sources import Budget
from tuner.sources.extras import Extras
from tuner.space.search_space import Limits

V1 = "Model Runner V2 does not yet support speculative method 'x'; using the V1 model runner instead."
Make = Callable[..., Trial]


@pytest.fixture
def run(make_trial: Make) -> list[TrialRecord]:
    return [make_trial(0).record, make_trial(1, k=2, changed_settings=(V1, "Disabling something new")).record]


def extras(run: list[TrialRecord], protocol: Protocol, done: list[TrialRecord], limits: Limits | None = None) -> Extras:
    return Extras([record.candidate for record in run], protocol, "0.32.0", done, Budget(limits or Limits()))


def test_they_follow_from_what_this_session_measured_and_run_once(run: list[TrialRecord]) -> None:
    source = extras(run, Protocol(same_runner=True, drafts_alone=True), [])
    worker = run[0].worker
    assert source.waiting == 1  # the draft; whether there is a second baseline is not known yet
    for record in run:
        source.finished(record)
    first = source.next(worker, [worker])
    second = source.next(worker, [worker])
    assert first is not None and second is not None
    assert [first.role, second.role] == [Role.DRAFT_ALONE, Role.SAME_RUNNER]
    assert source.next(worker, [worker]) is None
    source.put_back(first, worker.device_key)
    assert source.next(worker, [worker]) == first
    env = dict(second.env)
    done = replace(run[0], role=second.role, candidate=second.candidate)
    assert done.engine is not None
    source.finished(replace(done, engine=replace(done.engine, env=env)))
    source.finished(replace(run[0], role=first.role, served=first.served))
    assert source.next(worker, [worker]) is None
    assert source.waiting == 0


def test_what_cannot_be_reproduced_is_said(run: list[TrialRecord]) -> None:
    source = extras(run, Protocol(same_runner=True), run)
    source.next(run[0].worker, [run[0].worker])
    assert source.notes == ["changed by speculation, and not reproducible without it: Disabling something new"]


def test_nothing_dragged_along_is_said_and_starts_nothing(make_trial: Make) -> None:
    run = [make_trial(0).record, make_trial(1, k=2).record]
    source = extras(run, Protocol(same_runner=True), run)
    assert source.next(run[0].worker, [run[0].worker]) is None
    assert "no second baseline" in source.notes[0]


def test_they_need_the_device_of_their_baseline_and_room_within_the_limits(run: list[TrialRecord]) -> None:
    elsewhere = replace(run[0].worker, device_key="node-b/cpu")
    source = extras(run, Protocol(drafts_alone=True), run)
    assert source.next(elsewhere, [elsewhere]) is None
    assert "node-a/cpu" in source.notes.pop(0)
    assert source.next(elsewhere, [elsewhere]) is None and source.notes == []  # said once
    assert source.next(elsewhere, [elsewhere, run[0].worker]) is None
    assert extras(run, Protocol(drafts_alone=True), run, Limits(max_minutes=0.0)).next(run[0].worker, []) is None
