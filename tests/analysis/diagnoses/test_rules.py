"""The table of rules as a whole: order, documentation, and that no diagnosis contradicts a verdict."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analysis.diagnoses.seeing import C1, C16, Make, by_concurrency, drifting, seen
from tuner.analysis.diagnoses import RULES, diagnoses
from tuner.records import Confidence, Verdict

DOCS = Path(__file__).parents[3] / "docs" / "diagnoses.md"
AGAINST_A_WINNER = {"draft_too_weak", "draft_too_slow", "few_matches", "vocabulary_mismatch", "head_of_another_target"}


def test_every_code_is_documented_and_nothing_else_is() -> None:
    sections = {
        line.removeprefix("### ").strip("`") for line in DOCS.read_text().splitlines() if line.startswith("### `")
    }
    assert sections == {code for rule in RULES for code in rule.codes}


def test_what_is_only_possible_comes_after_what_is_likely(make_trial: Make) -> None:
    slow = make_trial(1, k=3, acceptance=(0.5, 0.3, 0.1), tpot=drifting(0.05))
    found = diagnoses(seen([make_trial(tpot=drifting(0.02)), slow]))
    assert [(one.code, one.confidence) for one in found] == [
        ("draft_too_weak", Confidence.MEDIUM),
        ("draft_too_slow", Confidence.LOW),
    ]


def test_what_is_about_the_recommended_draft_comes_before_others_and_asides_last(make_trial: Make) -> None:
    """The winner's long K, then the other draft's weakness (an earlier rule), then the note on quantisation."""
    trials = [
        make_trial(tpot=drifting(0.02)),
        make_trial(1, k=3, acceptance=(0.9, 0.8, 0.7), tpot=drifting(0.01)),
        make_trial(2, k=7, acceptance=(0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3), tpot=drifting(0.013)),
        make_trial(3, k=3, draft="poor", acceptance=(0.5, 0.3, 0.1), tpot=drifting(0.022)),
    ]
    found = diagnoses(seen(trials, target="model-awq"))
    order = [(one.code, one.subject) for one in found if one.code != "draft_too_slow"]
    assert order == [("k_too_long", "good"), ("draft_too_weak", "poor"), ("stacked_accelerators", "good, poor")]


def test_notes_come_after_what_is_only_possible(make_trial: Make) -> None:
    slow = make_trial(1, k=3, acceptance=(0.9, 0.8, 0.7), tpot=drifting(0.05))
    wins = make_trial(2, k=3, draft="other", acceptance=(0.6, 0.4, 0.1), tpot=drifting(0.01))
    found = diagnoses(seen([make_trial(tpot=drifting(0.02)), slow, wins]))
    assert [one.code for one in found] == ["draft_too_slow", "acceptance_below_half"]


def test_a_candidate_that_may_not_win_for_its_outputs_is_not_judged_by_its_speed(make_trial: Make) -> None:
    empty = make_trial(1, k=3, acceptance=(0.5, 0.3, 0.1), tpot=drifting(0.05))
    empty = replace(empty, samples=tuple(replace(sample, text="") for sample in empty.samples))
    sweep = seen([make_trial(tpot=drifting(0.02)), empty])
    assert sweep.findings.barred
    assert diagnoses(sweep) == ()


def test_a_plain_win_needs_no_explanation(make_trial: Make) -> None:
    wins = make_trial(1, k=3, acceptance=(0.9, 0.8, 0.7), tpot=drifting(0.01))
    assert diagnoses(seen([make_trial(tpot=drifting(0.02)), wins])) == ()


@settings(max_examples=40)
@given(
    times=st.lists(st.tuples(st.floats(0.005, 0.06), st.floats(0.005, 0.06)), min_size=1, max_size=3),
    rate=st.floats(0.0, 0.95),
    ttft=st.floats(0.01, 2.0),
)
def test_no_diagnosis_speaks_against_the_winner(
    make_trial: Make, times: list[tuple[float, float]], rate: float, ttft: float
) -> None:
    loads = (C1, C16)
    trials = [make_trial(tpot=by_concurrency(c1=0.02, c16=0.022), loads=loads, ttft=ttft)]
    for k, (alone, busy) in enumerate(times, start=2):
        acceptance = [rate ** (i + 1) for i in range(k)]
        tpot = by_concurrency(c1=alone, c16=busy)
        trials.append(make_trial(k, k=k, draft=f"d{k}", tpot=tpot, loads=loads, acceptance=acceptance, ttft=ttft))
    sweep = seen(trials, loads)
    (answer,) = sweep.findings.answers
    for one in diagnoses(sweep):
        assert one.evidence and one.next_step and one.what
        if answer.verdict in (Verdict.SPECULATE, Verdict.SPECULATE_BELOW):
            assert not (one.code in AGAINST_A_WINNER and one.subject == answer.best.draft_name), one
            assert one.code not in ("noise_too_large", "target_too_small")
