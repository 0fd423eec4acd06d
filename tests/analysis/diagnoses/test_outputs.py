"""Outputs that are not the baseline's: a fault, near-ties, sampling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tests.analysis.diagnoses.seeing import C1, C16, Make, drifting, said, seen, the
from tuner.analysis.diagnoses import Measured
from tuner.records import Confidence, LoadPoint, Losslessness, SameOutput

LOADS = (C1, C16)


def told(make: Make, verdicts: Mapping[LoadPoint, SameOutput], tpot: float = 0.01) -> Measured:
    """Return a sweep whose candidate's outputs were judged so at each load point."""
    sweep = seen([make(tpot=drifting(0.02), loads=LOADS), make(1, k=3, tpot=drifting(tpot), loads=LOADS)], LOADS)

    def judged(load: LoadPoint) -> Losslessness:
        return Losslessness(verdicts[load], 20, 36, 36, 36, note="20 of 36 answers have the baseline's token ids")

    plain, trial = sweep.findings.trials
    trial = replace(trial, loads=tuple(replace(load, sameness=judged(load.load_point)) for load in trial.loads))
    return replace(sweep, findings=replace(sweep.findings, trials=(plain, trial)))


def test_answers_that_differ_are_a_fault_shown_where_there_is_no_batch(make_trial: Make) -> None:
    one = the("outputs_fault", told(make_trial, dict.fromkeys(LOADS, SameOutput.DIFFERS), tpot=0.03))
    assert one.subject == "good K=3" and one.confidence is Confidence.HIGH
    assert one.evidence[0].startswith("concurrency 1: 20 of 36 answers") and "also at concurrency 16" in one.evidence[0]
    assert one.evidence[1].startswith("one request at a time has no batch")
    assert "Do not deploy it" in one.next_step


def test_near_ties_of_the_winner_are_rounding(make_trial: Make) -> None:
    sweep = told(make_trial, {C1: SameOutput.IDENTICAL, C16: SameOutput.NEAR_TIES})
    one = the("outputs_near_ties", sweep)
    assert one.confidence is Confidence.HIGH and one.evidence[0].startswith("concurrency 16: ")
    assert said("outputs_fault", sweep) == []
    unsure = the("outputs_near_ties", told(make_trial, {C1: SameOutput.NEAR_TIES, C16: SameOutput.UNEXPLAINED}))
    assert unsure.confidence is Confidence.LOW and "losslessness" in unsure.next_step


def test_near_ties_of_a_loser_help_nobody_and_equal_answers_need_no_words(make_trial: Make) -> None:
    assert said("outputs_near_ties", told(make_trial, dict.fromkeys(LOADS, SameOutput.NEAR_TIES), tpot=0.03)) == []
    same = told(make_trial, dict.fromkeys(LOADS, SameOutput.IDENTICAL))
    assert not any(said(code, same) for code in ("outputs_fault", "outputs_near_ties", "outputs_sampling_noise"))


def test_sampled_answers_without_a_difference_are_noise(make_trial: Make) -> None:
    sweep = told(make_trial, dict.fromkeys(LOADS, SameOutput.NO_DIFFERENCE_FOUND))
    assert the("outputs_sampling_noise", sweep).confidence is Confidence.MEDIUM
    assert said("outputs_sampling_noise", told(make_trial, dict.fromkeys(LOADS, SameOutput.NOT_COMPARED))) == []
