"""What of a run's trials an answer may rest on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tuner.analysis.finals import Judgement
from tuner.analysis.findings import latest_attempts
from tuner.evidence import evidence, judgement, schedule_judgement
from tuner.records import Candidate, Protocol, Role, RunManifest, Speculation, Trial

Make = Callable[..., Trial]
Manifest = Callable[..., RunManifest]


def test_what_left_the_space_is_no_evidence(
    make_manifest: Manifest, make_trial: Make, make_candidate: Callable[..., Candidate]
) -> None:
    trials = [make_trial(0), make_trial(1, k=2), make_trial(2, k=4), make_trial(3, k=4, final_round=0)]
    kept = evidence(trials, make_manifest([make_candidate(0), make_candidate(2)])).trials
    assert [trial.record.number for trial in kept] == [0, 1]
    assert evidence(trials, make_manifest()).trials == tuple(trials)


def test_methods_that_change_answers_are_named(make_manifest: Manifest, make_trial: Make) -> None:
    fake = Speculation("draft_model", 3, "good", "/models/good", {"rejection_sample_method": "synthetic"})
    base, fast = make_trial(0), make_trial(1, k=3)
    fast = replace(fast, record=replace(fast.record, candidate=Candidate({}, fake)))
    (key,) = evidence([base, fast], make_manifest()).undeployable
    assert key == fast.record.candidate.key
    assert judgement([base, fast], make_manifest()).arms == ()


def test_failures_that_were_made_up_for_are_no_evidence_but_those_of_fresh_lives_are(
    make_manifest: Manifest, make_trial: Make
) -> None:
    trials = [
        make_trial(0, failure="died"),
        make_trial(1),
        make_trial(2, k=4, failure="died"),
        make_trial(3, k=4),
        make_trial(4, k=4, failure="died", final_round=0),
        make_trial(5, k=4, final_round=1),
        make_trial(6, k=4, failure="died", final_round=2),
    ]
    assert [trial.record.number for trial in latest_attempts(trials)] == [1, 3, 4, 5, 6]
    assert [trial.record.number for trial in evidence(trials, make_manifest()).trials] == [1, 3, 4, 5, 6]


def test_without_a_baseline_there_is_nothing_to_confirm(make_manifest: Manifest, make_trial: Make) -> None:
    assert judgement([make_trial(0, failure="died")], make_manifest()) == Judgement((), 0, 0, ())
    assert judgement([], make_manifest()).settled


def test_a_judgement_is_of_the_protocol_and_the_space_of_the_run(make_manifest: Manifest, make_trial: Make) -> None:
    trials = [make_trial(0), make_trial(1, k=4, tpot=0.01), make_trial(2, role=Role.BASELINE_AGAIN)]
    assert [arm.k for arm in judgement(trials, make_manifest()).arms] == [0, 4]
    assert judgement(trials, make_manifest(protocol=Protocol())).arms == ()
    without = make_manifest([trials[0].record.candidate])
    assert judgement(trials, without).arms == ()


def test_lives_of_a_k_schedule_stay_though_it_is_in_no_space(
    make_manifest: Manifest, make_trial: Make, make_candidate: Callable[..., Candidate]
) -> None:
    trials = [
        make_trial(0),
        make_trial(1, k=4),
        make_trial(2, k=4, role=Role.SCHEDULE, final_round=0, failure="died"),
        make_trial(3, k=4, role=Role.SCHEDULE, final_round=1),
    ]
    kept = evidence(trials, make_manifest([make_candidate(0)])).trials
    assert [trial.record.number for trial in kept] == [0, 2, 3]


def test_a_schedule_is_judged_only_where_the_protocol_asks_for_one(make_manifest: Manifest, make_trial: Make) -> None:
    trials = [make_trial(0), make_trial(1, k=4, tpot=0.01), make_trial(2, role=Role.BASELINE_AGAIN)]
    assert schedule_judgement(trials, make_manifest(protocol=Protocol())).answers == ()
    (answer,) = schedule_judgement(trials, make_manifest(protocol=Protocol(schedule=True))).answers
    assert "One concurrency was measured" in answer.why
    assert schedule_judgement([make_trial(0, failure="died")], make_manifest()).settled
    (waiting,) = schedule_judgement(trials, make_manifest(protocol=Protocol(lives=3, schedule=True))).answers
    assert "is not settled yet" in waiting.why
