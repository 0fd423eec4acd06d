"""Weak drafts, text without repetition, a K that is too long: each once said and once not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.analysis.diagnoses.seeing import C1, C16, Make, by_concurrency, drifting, said, seen, the, with_steps
from tuner.records import Confidence, LoadPoint, Sampling

WEAK, FINE = (0.5, 0.3, 0.1), (0.9, 0.8, 0.7)
SEVEN = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3)


def test_a_draft_that_is_accepted_less_than_half_and_does_not_pay_is_too_weak(make_trial: Make) -> None:
    """Its three tokens are accepted 0.3 of the time; at 0.8x a step takes (1 + 0.9) / 0.8 = 2.4 plain ones."""
    slow = make_trial(1, k=3, acceptance=WEAK, tpot=drifting(0.025))
    one = the("draft_too_weak", seen([make_trial(tpot=drifting(0.02)), slow]))
    assert (one.subject, one.confidence) == ("good", Confidence.MEDIUM)  # built answers do not show single steps
    assert one.evidence[0].startswith("at best 30 % of its first 3 tokens are accepted on average (concurrency 1, n = ")
    assert one.evidence[1].startswith("good K=3 runs at 0.80x (")
    assert (
        "a step takes as long as 2.38 plain ones and gives 1.90 tokens; to pay, it has to give 2.38" in one.evidence[2]
    )
    assert "probabilistic" not in one.next_step and "Cheaper" not in one.next_step


def test_a_smaller_k_is_worth_a_try_where_first_tokens_are_accepted(make_trial: Make) -> None:
    slow = make_trial(1, k=3, acceptance=(0.65, 0.45, 0.3), tpot=drifting(0.025))
    one = the("draft_too_weak", seen([make_trial(tpot=drifting(0.02)), slow]))
    assert one.next_step.endswith("Cheaper to try: K = 1 instead of 3.")


def test_it_is_clear_where_the_interval_over_prompts_lies_below_half(make_trial: Make) -> None:
    steps = [(2, 2, 2, 1), (2, 2, 3, 1), (2, 2, 1, 2)]
    weak = with_steps(make_trial(1, k=3, acceptance=WEAK, tpot=drifting(0.025), prompts=12), steps)
    one = the("draft_too_weak", seen([make_trial(tpot=drifting(0.02), prompts=12), weak]))
    assert one.confidence is Confidence.HIGH
    assert one.evidence[0].endswith("(concurrency 1, n = 12 prompts)") and "30 % (2" in one.evidence[0]


@pytest.mark.parametrize(
    ("acceptance", "tpot"),
    [(FINE, 0.025), (WEAK, 0.01)],
    ids=["its tokens are accepted, so something else costs", "it wins all the same"],
)
def test_a_draft_that_guesses_well_or_pays_is_not_weak(
    make_trial: Make, acceptance: tuple[float, ...], tpot: float
) -> None:
    sweep = seen([make_trial(tpot=drifting(0.02)), make_trial(1, k=3, acceptance=acceptance, tpot=drifting(tpot))])
    assert said("draft_too_weak", sweep) == []


def test_one_load_point_at_which_it_clearly_pays_speaks_against_weakness(make_trial: Make) -> None:
    """Faster at one of them and slower at the other: that is load, whatever the verdict."""
    loads = (C1, C16)
    plain = make_trial(tpot=by_concurrency(c1=0.02, c16=0.02), loads=loads)
    weak = make_trial(1, k=3, acceptance=WEAK, tpot=by_concurrency(c1=0.015, c16=0.05), loads=loads)
    assert said("draft_too_weak", seen([plain, weak], loads)) == []
    mixed = make_trial(1, k=3, acceptance=WEAK, tpot=by_concurrency(c1=0.05, c16=0.015), loads=loads)
    sweep = seen([plain, mixed], loads)
    assert not sweep.wins(sweep.lines[0])
    assert said("draft_too_weak", sweep) == []


def test_above_temperature_0_sampling_drafts_are_named(make_trial: Make) -> None:
    warm = replace(C1, sampling=Sampling(temperature=1.0))
    trials = [make_trial(tpot=drifting(0.02), loads=(warm,))]
    trials.append(make_trial(1, k=3, acceptance=WEAK, tpot=drifting(0.03), loads=(warm,)))
    one = the("draft_too_weak", seen(trials, (warm,)))
    assert "at temperature 1" in one.what and "draft_sample_method: probabilistic" in one.next_step


def test_ngram_without_repetition_finds_too_little(make_trial: Make) -> None:
    ngram = {"draft": "ngram", "method": "ngram"}
    poor = make_trial(1, k=3, acceptance=(0.3, 0.1, 0.0), tpot=drifting(0.03), **ngram)
    one = the("few_matches", seen([make_trial(tpot=drifting(0.02)), poor]))
    assert one.subject == "ngram" and "100 % of the steps had a draft, and 13 % of what was copied" in one.evidence[0]
    assert "copies what does not follow" in one.what and "too little" not in one.what
    rich = make_trial(1, k=3, acceptance=FINE, tpot=drifting(0.03), **ngram)
    assert said("few_matches", seen([make_trial(tpot=drifting(0.02)), rich])) == []
    pays = make_trial(1, k=3, acceptance=(0.3, 0.1, 0.0), tpot=drifting(0.018), **ngram)
    assert said("few_matches", seen([make_trial(tpot=drifting(0.02)), pays])) == []


def k_of_3_and_7(make: Make, at_7: float, acceptance: tuple[float, ...] = SEVEN, **more: object) -> list[object]:
    return [
        make(tpot=drifting(0.02)),
        make(1, k=3, acceptance=FINE, tpot=drifting(0.01)),
        make(2, k=7, acceptance=acceptance, tpot=drifting(at_7), **more),
    ]


def test_a_k_is_too_long_where_acceptance_falls_and_a_smaller_one_is_faster(make_trial: Make) -> None:
    one = the("k_too_long", seen(k_of_3_and_7(make_trial, 0.013)))  # type: ignore[arg-type]
    assert "K = 7 is longer than what good guesses right" in one.what
    assert "89 81 70 59 49 41 30 (n = 111 drafts" in one.evidence[0]
    assert one.evidence[1].startswith("K = 3 is 1.30x as fast as K = 7 (95 % ")
    assert one.confidence is Confidence.MEDIUM  # one engine life each
    assert one.next_step.startswith("Keep K at 3")


@pytest.mark.parametrize(
    ("at_7", "acceptance"),
    [(0.008, SEVEN), (0.013, (0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6)), (0.0102, SEVEN)],
    ids=["it is the fastest", "its last token is accepted: the step is what costs", "noise does not separate them"],
)
def test_a_large_k_is_not_too_long(make_trial: Make, at_7: float, acceptance: tuple[float, ...]) -> None:
    trials = k_of_3_and_7(make_trial, at_7, acceptance)
    if at_7 == 0.0102:
        trials[2] = make_trial(
            2, k=7, acceptance=SEVEN, tpot=lambda _l, prompt, _r: 0.0102 * (1.5 if prompt % 2 else 1 / 1.5)
        )
    assert said("k_too_long", seen(trials)) == []  # type: ignore[arg-type]


def test_a_large_k_that_is_recommended_below_a_concurrency_is_not_too_long(make_trial: Make) -> None:
    """It alone pays at 1, though a smaller K is faster over both load points."""
    loads = (C1, C16)
    trials = [
        make_trial(tpot=by_concurrency(c1=0.02, c16=0.02), loads=loads),
        make_trial(1, k=3, acceptance=FINE, tpot=by_concurrency(c1=0.0202, c16=0.021), loads=loads),
        make_trial(2, k=7, acceptance=SEVEN, tpot=by_concurrency(c1=0.014, c16=0.06), loads=loads),
    ]
    sweep = seen(trials, loads)
    assert sweep.findings.answers[0].best.k == 7
    assert said("k_too_long", sweep) == []


def test_a_winner_below_half_gets_the_advice_beside_its_gain(make_trial: Make) -> None:
    wins = make_trial(1, k=3, acceptance=WEAK, tpot=drifting(0.01))
    one = the("acceptance_below_half", seen([make_trial(tpot=drifting(0.02)), wins]))
    assert "measured, it pays as it is" in one.what
    assert one.evidence[1].startswith("it runs at 2.00x (")
    assert "Try K below 3" in one.next_step
    smaller = make_trial(2, k=1, acceptance=(0.5,), tpot=drifting(0.015))
    told = the("acceptance_below_half", seen([make_trial(tpot=drifting(0.02)), wins, smaller]))
    assert told.evidence[1].endswith("; K = 1 was measured too") and "K below" not in told.next_step
    two = make_trial(3, k=2, acceptance=WEAK, tpot=drifting(0.015))
    told = the("acceptance_below_half", seen([make_trial(tpot=drifting(0.02)), wins, smaller, two]))
    assert told.evidence[1].endswith("; K = 1 and 2 were measured too")
    fine = make_trial(1, k=3, acceptance=FINE, tpot=drifting(0.01))
    assert said("acceptance_below_half", seen([make_trial(tpot=drifting(0.02)), fine])) == []


def test_two_sets_of_engine_arguments_are_told_apart(make_trial: Make) -> None:
    trials = [
        make_trial(2 * i + j, k=3 * j, acceptance=WEAK if j else None, tpot=drifting(0.02 + 0.01 * j), args={"a": i})
        for i in (0, 1)
        for j in (0, 1)
    ]
    assert [one.subject for one in said("draft_too_weak", seen(trials))] == ["good (a 0)", "good (a 1)"]


def test_without_counters_nothing_is_said_of_acceptance(make_trial: Make) -> None:
    load = LoadPoint("chat", 1, 33)
    trial = make_trial(1, k=3, acceptance=WEAK, tpot=drifting(0.03), loads=(load,))
    measured = trial.record.loads[0]
    bare = [
        replace(r, counters=replace(r.counters, drafts=None, accepted_per_pos=None, accepted_tokens=None))
        for r in measured.repeats
    ]
    blind = replace(trial, record=replace(trial.record, loads=(replace(measured, repeats=tuple(bare)),)))
    assert said("draft_too_weak", seen([make_trial(tpot=drifting(0.02)), blind])) == []


def test_no_k_below_1_is_advised(make_trial: Make) -> None:
    one = make_trial(1, k=1, acceptance=(0.45,), tpot=drifting(0.017))
    told = the("acceptance_below_half", seen([make_trial(tpot=drifting(0.02)), one]))
    assert told.next_step == "Keep it. A draft that guesses better would gain more."


def test_no_k_is_kept_where_none_pays(make_trial: Make) -> None:
    eight = (0.85, 0.72, 0.6, 0.5, 0.4, 0.3, 0.2, 0.12)
    short = make_trial(1, k=3, acceptance=eight[:3], tpot=drifting(0.022))
    long = make_trial(2, k=8, acceptance=eight, tpot=drifting(0.033))
    told = the("k_too_long", seen([make_trial(tpot=drifting(0.02)), short, long]))
    assert told.next_step.startswith("Leave K = 8 out") and "Keep" not in told.next_step
