"""Counters that no draft can have."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from tuner.analysis.plausible import binomial_at_most, counter_bars, counter_doubts, draft_is_target
from tuner.records import Bar, BarKind, LoadPoint, Trial
from tuner.store.reading import read_run

LOAD = LoadPoint("chat", 1, 33)
RECORDED = Path(__file__).parents[1] / "data" / "h200-14b"
Make = Callable[..., Trial]


def bars(trial: Trial, *loads: LoadPoint) -> tuple[Bar, ...]:
    return counter_bars(trial, loads or (LOAD,))


def started_with(trial: Trial, target: str, draft: str) -> Trial:
    command = ("python", "--model", target, "--speculative-config", json.dumps({"model": draft}))
    assert trial.record.engine is not None
    return replace(trial, record=replace(trial.record, engine=replace(trial.record.engine, command=command)))


# --- the test ---------------------------------------------------------------------------------------------------------


def test_binomial_by_hand() -> None:
    assert binomial_at_most(0, 2, 0.5) == pytest.approx(0.25)
    assert binomial_at_most(1, 2, 0.5) == pytest.approx(0.75)
    assert binomial_at_most(5, 2, 0.5) == pytest.approx(1.0)
    assert binomial_at_most(0, 0, 0.01) == 1.0
    # 0.99^458 = 0.01002, 0.99^459 = 0.00992.
    assert binomial_at_most(0, 458, 0.01) > 0.01 > binomial_at_most(0, 459, 0.01)
    assert binomial_at_most(0, 100_000, 0.01) == 0.0


@given(st.integers(0, 2000), st.integers(0, 40), st.floats(0.001, 0.5))
def test_binomial_as_scipy_has_it(n: int, most: int, p: float) -> None:
    assert binomial_at_most(most, n, p) == pytest.approx(binom.cdf(most, n, p), abs=1e-9)


# --- too good to be true ----------------------------------------------------------------------------------------------


def accepting(make: Make, rates: Sequence[float], **fields: object) -> Trial:
    return make(1, k=len(rates), acceptance=rates, prompts=20, tokens=201, **fields)


def test_a_draft_that_is_never_wrong_is_implausible(make_trial: Make) -> None:
    # 20 prompts x 200 tokens / 5 a draft x K 4 = 3200 draft tokens a pass, all accepted, in three repeats.
    (bar,) = bars(accepting(make_trial, (1.0,) * 4))
    assert bar.kind is BarKind.ACCEPTANCE_IMPLAUSIBLE
    assert bar.text == (
        "chat, concurrency 1, T=0, up to 33 tokens: 100.0% of 9600 draft tokens were accepted, more than a model other "
        "than the target can be right"
    )


@pytest.mark.parametrize("rate", [0.90, 0.988, 0.995])
def test_good_drafts_are_plausible(make_trial: Make, rate: float) -> None:
    assert bars(accepting(make_trial, (rate,))) == ()


def test_few_tokens_prove_nothing_however_often_they_are_repeated(make_trial: Make) -> None:
    """Six prompts of 96 draft tokens, 576 a pass: 2 % short of enough at a hundredth of 1 %, thirty times over."""
    few = make_trial(1, k=1, acceptance=(1.0,), prompts=4, tokens=201, repeats=30)
    assert few.record.loads[0].repeats[0].counters.draft_tokens == 400
    assert bars(few) == ()
    enough = make_trial(1, k=1, acceptance=(1.0,), prompts=5, tokens=201)
    assert enough.record.loads[0].repeats[0].counters.draft_tokens == 500
    assert bars(enough) != ()


def test_repeating_text_explains_acceptance(make_trial: Make) -> None:
    trial = accepting(make_trial, (1.0,))
    looping = tuple(replace(s, token_ids=(1, 2) * 100) if s.prompt_id >= "p03" else s for s in trial.samples)
    assert bars(replace(trial, samples=looping)) == ()


def test_the_target_as_its_own_draft_may_be_right(make_trial: Make) -> None:
    trial = accepting(make_trial, (1.0,) * 4)
    assert not draft_is_target(trial)
    assert bars(started_with(trial, "/models/one", "/models/one")) == ()
    assert bars(started_with(trial, "/models/one", "/models/two")) != ()


def test_n_gram_copies_and_may_be_right(make_trial: Make) -> None:
    assert bars(accepting(make_trial, (1.0,) * 4, method="ngram")) == ()


# --- no drafts --------------------------------------------------------------------------------------------------------


def idle(trial: Trial) -> Trial:
    """Return the trial with no draft counted."""
    (load,) = trial.record.loads
    repeats = tuple(
        replace(r, counters=replace(r.counters, drafts=0, draft_tokens=0, accepted_tokens=0, accepted_per_pos=(0,)))
        for r in load.repeats
    )
    return replace(trial, record=replace(trial.record, loads=(replace(load, repeats=repeats),)))


def test_a_draft_model_that_never_drafts_is_not_active(make_trial: Make) -> None:
    (bar,) = bars(idle(make_trial(1, k=1)))
    assert bar.kind is BarKind.SPECULATION_INACTIVE
    assert bar.text == "chat, concurrency 1, T=0, up to 33 tokens: not one draft in 594 output tokens"  # 33 x 6 x 3
    assert counter_doubts(idle(make_trial(1, k=1)), (LOAD,)) == ()


def test_n_gram_may_find_nothing(make_trial: Make) -> None:
    trial = idle(make_trial(1, k=1, method="ngram"))
    assert bars(trial) == ()
    (doubt,) = counter_doubts(trial, (LOAD,))
    assert "not one draft in 594 output tokens" in doubt


def test_a_schedule_may_switch_drafting_off(make_trial: Make) -> None:
    trial = idle(make_trial(1, k=1))
    candidate = trial.record.candidate
    assert candidate.speculation is not None
    spec = replace(candidate.speculation, options={"num_speculative_tokens_per_batch_size": [[1, 8, 0]]})
    scheduled = replace(trial, record=replace(trial.record, candidate=replace(candidate, speculation=spec)))
    assert bars(scheduled) == ()
    assert len(counter_doubts(scheduled, (LOAD,))) == 1


def test_answers_of_one_token_need_no_draft(make_trial: Make) -> None:
    assert bars(make_trial(1, k=1, tokens=1)) == ()


def test_a_baseline_drafts_nothing_and_is_not_judged(make_trial: Make) -> None:
    assert bars(make_trial()) == ()
    assert counter_doubts(make_trial(), (LOAD,)) == ()


# --- doubts -----------------------------------------------------------------------------------------------------------


def test_acceptance_that_does_not_fall_with_the_position_is_odd(make_trial: Make) -> None:
    (doubt,) = counter_doubts(accepting(make_trial, (0.8,) * 4), (LOAD,))
    assert "acceptance does not fall with the position (0.800 at the first, 0.800 at position 4" in doubt
    assert counter_doubts(accepting(make_trial, (0.8,) * 3), (LOAD,)) == ()
    assert counter_doubts(accepting(make_trial, (0.8, 0.79, 0.78, 0.77)), (LOAD,)) == ()
    assert counter_doubts(accepting(make_trial, (0.0,) * 4), (LOAD,)) == ()
    assert counter_doubts(make_trial(1, k=4, acceptance=(0.8,) * 4), (LOAD,)) == ()  # few drafts


# --- real engines -----------------------------------------------------------------------------------------------------


def test_a_real_run_is_plausible() -> None:
    _, trials = read_run(RECORDED)
    points = [load.load_point for load in trials[0].record.loads]
    assert len(trials) == 6
    for trial in trials:
        assert counter_bars(trial, points) == ()
        assert counter_doubts(trial, points) == ()
