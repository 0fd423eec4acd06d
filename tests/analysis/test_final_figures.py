"""A finalist's figures over its fresh lives, by hand and by what must not change them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.analysis.comparison import advantage, objective_speedup, similar_prompts_estimate, speedup_estimate
from tuner.analysis.final_figures import final_figures
from tuner.analysis.metrics import counter_figures
from tuner.analysis.rounds import Arm, arms
from tuner.analysis.statistics import student_t
from tuner.records import LoadPoint, Role, Trial, TrialFigures

Make = Callable[..., Trial]
Seconds = Callable[[LoadPoint, int, int], float]
C1, C8 = LoadPoint("chat", 1, 33), LoadPoint("chat", 8, 33)
logs = st.floats(-0.7, 0.7)
few_lives = st.lists(st.tuples(logs, logs), min_size=2, max_size=4)


def tpot_of(log: float) -> Seconds:
    """Return TPOT whose prompts differ by a factor of 1, 2, 3: pairing takes that out."""
    return lambda _load, i, _r: 0.02 * (1 + i) * math.exp(log)


def by_load(logs: Mapping[int, float]) -> Seconds:
    return lambda load, _i, _r: 0.02 * math.exp(logs[load.concurrency])


def finals(
    make: Make, lives: Sequence[tuple[float, float]], loads: Sequence[LoadPoint] = (C1,), **more: object
) -> dict[int, Arm]:
    """Return the arms by K of rounds with a baseline and K = 4: logs of their TPOT's factor on 0.02 s a token."""
    trials: list[Trial] = []
    for number, factors in enumerate(lives):
        for k, log in zip((0, 4), factors, strict=True):
            trials.append(
                make(len(trials), k=k, tpot=tpot_of(log), loads=loads, prompts=3, repeats=1, final_round=number, **more)
            )
    return {arm.candidate.k: arm for arm in arms(trials)}


def speedup(figures: TrialFigures) -> tuple[float, float, float]:
    figure = figures.loads[0].figures["speedup_tpot"]
    assert figure.value is not None and figure.low is not None and figure.high is not None
    return figure.value, figure.low, figure.high


def test_a_speedup_over_three_lives_by_hand(make_trial: Make) -> None:
    # Log speedups of the rounds 0.1, 0.2, 0.3: mean 0.2, s = 0.1, half-width 4.302653 x 0.1 / sqrt(3) = 0.248414.
    arm = finals(make_trial, [(0.0, -0.1), (0.5, 0.3), (-0.2, -0.5)])[4]
    figures = final_figures(arm, (C1,))
    value, low, high = speedup(figures)
    assert math.log(value) == pytest.approx(0.2)
    assert (math.log(low), math.log(high)) == pytest.approx((0.2 - 0.248414, 0.2 + 0.248414), abs=1e-6)
    (load,) = figures.loads
    assert load.figures["speedup_tpot"].note == "over 3 engine lives"
    assert load.figures["speedup_tpot"].n == 3
    assert figures.lives == 3
    rounds = {number: {math.log(s) for s in of_round.values()} for number, of_round in load.rounds.items()}
    assert [of_round.pop() for of_round in rounds.values()] == pytest.approx([0.1, 0.2, 0.3])
    estimate = speedup_estimate(figures, (C1,))
    assert estimate is not None
    assert (estimate.mean, estimate.se, estimate.df, estimate.lives) == pytest.approx((0.2, 0.1 / math.sqrt(3), 2, 3))
    objective = objective_speedup(figures, 0.0)
    assert (objective.value, objective.low) == pytest.approx((value, low))


def test_own_figures_over_lives_by_hand(make_trial: Make) -> None:
    # The candidate's TPOT is 0.02 x (1, 2, 3)'s geometric mean x exp of its lives' logs, 0.1 on average.
    arm = finals(make_trial, [(0.0, 0.0), (0.0, 0.2)])[4]
    (load,) = final_figures(arm, (C1,)).loads
    assert load.figures["tpot_s"].value == pytest.approx(0.02 * 6 ** (1 / 3) * math.exp(0.1))
    # s^2/2 = 0.02/2, t(1) = 12.7062.
    assert math.log((load.figures["tpot_s"].high or 0) / (load.figures["tpot_s"].value or 1)) == pytest.approx(
        12.7062 * 0.1, rel=1e-4
    )
    assert load.figures["requests"].value == 6
    assert load.figures["tpot_s_p50"].n == 6
    assert load.figures["ttft_ratio"].value == pytest.approx(1.0)
    assert load.figures["throughput_ratio"].n == 2
    assert load.figures["throughput_ratio"].n_of == "rounds"
    assert list(load.cost_by_prompt.values()) == pytest.approx([0.02 * i * math.exp(0.1) for i in (1, 2, 3)])


def test_throughput_is_one_observation_a_round(make_trial: Make) -> None:
    # TTFT 0: all the time is decoding, so throughput follows TPOT: log ratios 0.1 and 0.3.
    arm = finals(make_trial, [(0.0, -0.1), (0.0, -0.3)], ttft=0.0)[4]
    (load,) = final_figures(arm, (C1,)).loads
    figure = load.figures["throughput_ratio"]
    assert math.log(figure.value or 0) == pytest.approx(0.2)
    assert math.log(figure.high or 0) == pytest.approx(0.2 + student_t(0.95, 1) * 0.1, rel=1e-6)


def test_load_points_are_weighted_within_each_round(make_trial: Make) -> None:
    trials: list[Trial] = []
    for number, (one, eight) in enumerate([(0.4, 0.0), (0.2, 0.2)]):
        tpot = by_load({1: -one, 8: -eight})
        trials.append(make_trial(len(trials), loads=(C1, C8), final_round=number))
        trials.append(make_trial(len(trials), k=4, loads=(C1, C8), tpot=tpot, final_round=number))
    figures = final_figures(arms(trials)[1], (C1, C8))
    # Weights 1 and 1: both rounds are 0.2, although the load points differ between them.
    estimate = speedup_estimate(figures, (C1, C8))
    assert estimate is not None
    assert (estimate.mean, estimate.se, estimate.df) == pytest.approx((0.2, 0.0, 1), abs=1e-9)


def test_two_finalists_are_compared_within_their_rounds(make_trial: Make) -> None:
    """Whatever a round has in common cancels: 0.1 between the two in each, though rounds differ by 0.5."""
    trials: list[Trial] = []
    for number, common in enumerate((0.0, 0.5, -0.2)):
        for k, log in ((0, 0.0), (2, -0.3 + common), (4, -0.4 + common + 0.01 * number)):
            trials.append(make_trial(len(trials), k=k, tpot=0.02 * math.exp(log), final_round=number))
    two, four = (final_figures(arm, (C1,)) for arm in arms(trials)[1:])
    lead = advantage(four, two, (C1,))
    assert lead is not None
    # Differences 0.1, 0.09, 0.08: mean 0.09, s = 0.01.
    assert (lead.mean, lead.se, lead.df) == pytest.approx((0.09, 0.01 / math.sqrt(3), 2))


def test_another_baseline_takes_the_place_of_the_own_one(make_trial: Make) -> None:
    eager = {"enforce_eager": True}
    trials: list[Trial] = []
    for number in range(3):
        for k, tpot, args in ((0, 0.02, None), (0, 0.06, eager), (4, 0.03, eager)):
            trials.append(make_trial(len(trials), k=k, tpot=tpot, args=args, final_round=number))
    reference, own, fast = arms(trials)
    assert objective_speedup(final_figures(fast, (C1,)), 0.0).value == pytest.approx(2.0)
    ranked = final_figures(fast, (C1,), over=reference.lives)
    assert ranked.loads[0].figures["speedup_tpot"].value == pytest.approx(2 / 3)
    slow = final_figures(own, (C1,), over=reference.lives)
    assert slow.loads[0].figures["speedup_tpot"].value == pytest.approx(1 / 3)
    assert "speedup_tpot" not in final_figures(own, (C1,)).loads[0].figures


def test_an_invalid_life_takes_its_round_out_of_that_load_point(make_trial: Make) -> None:
    trials = [make_trial(2 * r + i, k=4 * i, tpot=0.02 / (1 + i), final_round=r) for r in range(3) for i in (0, 1)]
    trials[4] = make_trial(4, final_round=2, problems=dict.fromkeys(range(3), ("a counter went backwards",)))
    (load,) = final_figures(arms(trials)[1], (C1,)).loads
    assert sorted(load.rounds) == [0, 1]
    assert load.figures["speedup_tpot"].note == "over 2 engine lives"


def test_one_life_has_no_interval_and_does_not_blame_the_prompts(make_trial: Make) -> None:
    figure = final_figures(finals(make_trial, [(0.0, -0.1)])[4], (C1,)).loads[0].figures["speedup_tpot"]
    assert (figure.low, figure.high) == (None, None)
    assert figure.note == "within one engine life; no interval"


def test_sampled_answers_have_no_e2e(make_trial: Make) -> None:
    figures = final_figures(finals(make_trial, [(0.0, -0.1), (0.0, -0.1)])[4], (C1,)).loads[0].figures
    assert figures["speedup_e2e"].value is not None
    assert 1 < figures["speedup_e2e"].value < math.exp(0.1)


@settings(deadline=None, max_examples=25)
@given(few_lives)
def test_exchanging_the_arms_inverts_the_figures(make_trial: Make, lives: list[tuple[float, float]]) -> None:
    value, low, high = speedup(final_figures(finals(make_trial, lives)[4], (C1,)))
    other = speedup(final_figures(finals(make_trial, [(b, a) for a, b in lives])[4], (C1,)))
    assert other == pytest.approx((1 / value, 1 / high, 1 / low), rel=1e-6)


@settings(deadline=None, max_examples=25)
@given(few_lives, st.lists(logs, min_size=4, max_size=4))
def test_what_slows_a_whole_round_cancels(
    make_trial: Make, lives: list[tuple[float, float]], slow: list[float]
) -> None:
    plain = speedup(final_figures(finals(make_trial, lives)[4], (C1,)))
    slowed = [(a + by, b + by) for (a, b), by in zip(lives, slow, strict=False)]
    assert speedup(final_figures(finals(make_trial, slowed)[4], (C1,))) == pytest.approx(plain, rel=1e-6)


@settings(deadline=None, max_examples=25)
@given(few_lives, st.randoms())
def test_the_order_of_the_rounds_changes_nothing(
    make_trial: Make, lives: list[tuple[float, float]], rng: object
) -> None:
    shuffled = list(lives)
    rng.shuffle(shuffled)  # type: ignore[attr-defined]
    a, b = (final_figures(finals(make_trial, of)[4], (C1,)) for of in (lives, shuffled))
    assert speedup(b) == pytest.approx(speedup(a), rel=1e-6)
    one, other = (similar_prompts_estimate(f, (C1,)) for f in (a, b))
    assert one is not None and other is not None
    assert (one.mean, one.se) == pytest.approx((other.mean, other.se), abs=1e-9)


def test_tokens_per_draft_and_step_have_the_interval_of_their_lives(make_trial: Make) -> None:
    accepted = ((0.8, 0.6), (0.7, 0.5), (0.9, 0.7))
    lives = [
        make_trial(number=n, k=2, loads=(C1,), role=Role.FINAL, final_round=n, acceptance=acceptance)
        for n, acceptance in enumerate(accepted)
    ]
    bases = [make_trial(number=10 + n, loads=(C1,), role=Role.FINAL, final_round=n) for n in range(3)]
    arm = next(arm for arm in arms([*bases, *lives]) if arm.candidate.k)
    (load,) = final_figures(arm, [C1]).loads
    figure = load.figures["mean_acceptance_length"]
    lengths = [
        math.log(counter_figures(life.record.loads[0].repeats)["mean_acceptance_length"].value or 0) for life in lives
    ]
    half = student_t(0.95, 2) * statistics.stdev(lengths) / math.sqrt(3)
    middle = statistics.fmean(lengths)
    assert figure.low == pytest.approx(math.exp(middle - half))
    assert figure.high == pytest.approx(math.exp(middle + half))
    assert figure.note == "over 3 engine lives"
    assert load.figures["effective_tokens_per_step"].low is not None
    one = final_figures(replace(arm, lives={0: lives[0]}), [C1]).loads[0].figures["mean_acceptance_length"]
    assert (one.low, one.high) == (None, None)
