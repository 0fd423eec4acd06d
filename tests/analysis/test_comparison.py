from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.analysis.comparison import (
    FEW_LIVES,
    advantage,
    against,
    claimable_estimate,
    log_drift,
    objective_cost,
    objective_speedup,
    similar_prompts_estimate,
    speedup_estimate,
)
from tuner.analysis.metrics import trial_figures
from tuner.records import Candidate, LoadFigures, LoadPoint, Speculation, Trial, TrialFigures

C1, C8, CODE = LoadPoint("chat", 1, 33), LoadPoint("chat", 8, 33), LoadPoint("code", 1, 33)
Make = Callable[..., Trial]
speeds = st.fixed_dictionaries({load: st.floats(0.2, 5) for load in (C1, C8, CODE)})


def test_objective_by_hand(make_trial: Make) -> None:
    loads = (replace(C1, weight=3.0), C8)
    base = make_trial(loads=loads, tpot=0.02)
    fast = make_trial(1, k=2, loads=loads, tpot=lambda load, _i, _r: 0.005 if load.concurrency == 1 else 0.02)
    figure = objective_speedup(trial_figures(fast, base), 0.0)
    assert figure.value == pytest.approx(4**0.75)
    assert figure.n == 6


def test_objective_counts_a_prompt_once_per_eval_set(make_trial: Make) -> None:
    loads = (C1, C8, CODE)
    trial = trial_figures(make_trial(1, k=2, loads=loads), make_trial(loads=loads))
    assert objective_speedup(trial, 0.0).n == 12


def test_objective_of_a_baseline_is_one(make_trial: Make) -> None:
    assert objective_speedup(trial_figures(make_trial(), None), 0.0).value == 1.0


def test_objective_without_a_baseline_is_undefined(make_trial: Make) -> None:
    figure = objective_speedup(trial_figures(make_trial(1, k=2), None), 0.0)
    assert figure.value is None
    assert "not every load point" in figure.note


@settings(deadline=None)  # the first example imports scipy
@given(speeds, st.lists(st.floats(0.1, 10), min_size=3, max_size=3))
def test_objective_is_the_weighted_mean_of_the_load_points(
    make_trial: Make, speeds: dict[LoadPoint, float], weights: list[float]
) -> None:
    loads = tuple(replace(load, weight=weight) for load, weight in zip(speeds, weights, strict=True))
    by_key = {load.key: speed for load, speed in speeds.items()}
    base = make_trial(loads=loads, prompts=3, repeats=1, tpot=lambda _l, i, _r: 0.02 + 0.01 * i)
    fast = make_trial(
        1, k=2, loads=loads, prompts=3, repeats=1, tpot=lambda load, i, _r: (0.02 + 0.01 * i) / by_key[load.key]
    )
    trial = trial_figures(fast, base)
    each = [math.log(load.figures["speedup_tpot"].value or 0) for load in trial.loads]
    expected = sum(w * log for w, log in zip(weights, each, strict=True)) / sum(weights)
    assert math.log(objective_speedup(trial, 0.0).value or 0) == pytest.approx(expected, abs=1e-9)


def test_drifts_of_load_points_do_not_cancel(make_trial: Make) -> None:
    """+10 % at one load point and -9.1 % at the other are 10 % on average, not none."""
    loads = (C1, C8)
    base = make_trial(loads=loads, tpot=0.02)
    again = make_trial(9, loads=loads, tpot=lambda load, _i, _r: 0.022 if load.concurrency == 1 else 0.02 / 1.1)
    fast = trial_figures(make_trial(1, k=2, loads=loads, tpot=0.01), base, again)
    assert log_drift(fast, [C1]) == pytest.approx(math.log(1.1))
    assert log_drift(fast, loads) == pytest.approx(math.log(1.1))
    one, both = speedup_estimate(fast, [C1]), speedup_estimate(fast, loads)
    assert one is not None
    assert both is not None
    assert (one.allowance, both.allowance) == pytest.approx((1.5 * math.log(1.1),) * 2)
    assert log_drift(trial_figures(make_trial(1, k=2, loads=loads), base), loads) is None


def test_the_baseline_cancels_between_two_candidates(make_trial: Make) -> None:
    def noisy(_load: LoadPoint, i: int, _r: int) -> float:
        return 0.02 * (1 + i)

    a = make_trial(1, k=2, tpot=lambda load, i, r: noisy(load, i, r) / 2)
    b = make_trial(2, k=4, tpot=lambda load, i, r: noisy(load, i, r) / 3)
    for base in (make_trial(tpot=0.02), make_trial(tpot=lambda _l, i, _r: 0.01 * (7 - i))):
        lead = advantage(trial_figures(b, base), trial_figures(a, base), [C1])
        assert lead is not None
        assert (lead.mean, lead.se) == pytest.approx((math.log(1.5), 0.0), abs=1e-9)


def by_repeat(*logs: float) -> Callable[[LoadPoint, int, int], float]:
    """Return TPOT 0.01 s, in each repeat off by that factor's logarithm."""
    return lambda _load, _i, r: 0.01 * math.exp(logs[r])


def test_repeats_of_the_baseline_cancel_and_those_of_candidates_do_not(make_trial: Make) -> None:
    # s^2/3 of (-0.1, 0, 0.1) is 1/300.
    base, still = make_trial(tpot=by_repeat(-0.1, 0.0, 0.1)), make_trial(1, k=2, tpot=0.01)
    a, b = (trial_figures(trial, base) for trial in (still, make_trial(2, k=4, tpot=by_repeat(0.1, 0.0, -0.1))))
    speedup, lead = speedup_estimate(a, [C1]), advantage(b, a, [C1])
    assert speedup is not None
    assert lead is not None
    assert (speedup.se, speedup.df) == pytest.approx((math.sqrt(1 / 300), 2.0))
    assert (lead.se, lead.df) == pytest.approx((math.sqrt(1 / 300), 2.0))
    elsewhere = trial_figures(make_trial(3, k=2, tpot=0.01, device="b/0"), make_trial(4, device="b/0"))
    apart = advantage(b, elsewhere, [C1])
    assert apart is not None
    assert apart.se == pytest.approx(math.sqrt(2 / 300))


def test_another_baseline_brings_its_own_repeats(make_trial: Make) -> None:
    eager = {"enforce_eager": True}
    reference = trial_figures(make_trial(tpot=by_repeat(-0.1, 0.0, 0.1)), None)
    own_trial = make_trial(1, tpot=0.06, args=eager)
    own, trial = trial_figures(own_trial, None), trial_figures(make_trial(2, k=4, args=eager), own_trial)
    spread = against(trial, own, reference).loads[0]
    assert (spread.baseline_repeat_variance, spread.baseline_repeat_df) == pytest.approx((1 / 300, 2.0))


def test_one_repeat_is_said_of_an_objective(make_trial: Make) -> None:
    figure = objective_speedup(trial_figures(make_trial(1, k=2, repeats=1), make_trial()), 0.0)
    assert "with one repeat" in figure.note


def test_a_changed_weight_is_the_same_load_point(make_trial: Make) -> None:
    trial = trial_figures(make_trial(1, k=2, tpot=0.01), make_trial())
    assert objective_speedup(trial, 0.0, [replace(C1, weight=5.0)]).value == pytest.approx(2.0)


def test_drifts_of_two_devices_add_up(make_trial: Make) -> None:
    def on(device: str, drift: float, number: int) -> tuple[Trial, Trial, Trial]:
        again = make_trial(number + 2, tpot=0.02 * drift, device=device)
        return make_trial(number + 1, k=2, tpot=0.01, device=device), make_trial(number, device=device), again

    first, same = trial_figures(*on("a/0", 1.1, 0)), trial_figures(*on("a/0", 1.1, 3))
    other = trial_figures(*on("b/0", 1.2, 6))
    one, two = advantage(first, same, [C1]), advantage(first, other, [C1])
    assert one is not None
    assert two is not None
    assert (one.allowance, two.allowance) == pytest.approx((math.log(1.1), math.log(1.1) + math.log(1.2)))


def test_against_another_baseline_rescales_by_the_gain_of_the_arguments(make_trial: Make) -> None:
    eager = {"enforce_eager": True}
    reference, own = make_trial(tpot=0.02), make_trial(1, tpot=0.06, args=eager)
    trial = trial_figures(make_trial(2, k=4, tpot=0.02, args=eager), own)
    ranked = against(trial, trial_figures(own, None), trial_figures(reference, None))
    assert list(ranked.loads[0].speedup_by_prompt.values()) == pytest.approx([1.0] * 6)
    plain = against(trial_figures(own, None), trial_figures(own, None), trial_figures(reference, None))
    assert list(plain.loads[0].speedup_by_prompt.values()) == pytest.approx([1 / 3] * 6)


def test_the_objectives_cost_is_the_weighted_geometric_mean_in_seconds(make_trial: Make) -> None:
    loads = (replace(C1, weight=3.0), C8)
    trial = make_trial(loads=loads, tpot=lambda load, _i, _r: 0.01 if load.concurrency == 1 else 0.16)
    assert objective_cost(trial_figures(trial, None), 0.0) == pytest.approx(0.02)
    assert objective_cost(trial_figures(trial, None), 0.7) is None


Logs = dict[int, dict[str, float]]


def lived(k: int, by_load: dict[LoadPoint, Logs], lives: int = 3) -> TrialFigures:
    """Return figures over fresh lives with these log speedups by load point, round and prompt."""
    loads = tuple(
        LoadFigures(load, {}, rounds={n: {p: math.exp(x) for p, x in logs.items()} for n, logs in rounds.items()})
        for load, rounds in by_load.items()
    )
    return TrialFigures(k, Candidate({}, Speculation("draft_model", k, "good", "good")), "a/0", loads, lives=lives)


def test_a_round_counts_where_it_has_every_load_point() -> None:
    trial = lived(2, {C1: {0: {"a": 0.1}, 1: {"a": 0.3}, 2: {"a": 9.0}}, C8: {0: {"a": 0.3}, 1: {"a": 0.1}}})
    estimate = speedup_estimate(trial, (C1, C8))
    assert estimate is not None
    assert (estimate.mean, estimate.se, estimate.lives) == pytest.approx((0.2, 0.0, 2), abs=1e-12)
    assert objective_speedup(trial, 0.0).note == "over 2 engine lives"
    assert speedup_estimate(trial, (C1, CODE)) is None


def test_over_lives_drift_is_part_of_what_differs_between_rounds() -> None:
    trial = lived(2, {C1: {n: {"a": 0.1 * n, "b": 0.3} for n in range(3)}})
    estimate = speedup_estimate(trial, (C1,))
    assert log_drift(trial, (C1,)) == 0.0
    assert estimate is not None
    # Rounds 0.15, 0.2, 0.25.
    assert (estimate.mean, estimate.se, estimate.allowance) == pytest.approx((0.2, 0.05 / math.sqrt(3), 0.0))
    similar = similar_prompts_estimate(trial, (C1,))
    assert similar is not None
    # Prompts 0.1 and 0.3 on average: s^2/2 = 0.02/2.
    assert similar.se == pytest.approx(math.sqrt(0.05**2 / 3 + 0.01))


def test_a_claim_of_few_lives_is_no_surer_than_their_repeats() -> None:
    """Rounds 0.19, 0.2, 0.21 at both load points, se 0.01 / sqrt(3), though repeats vary far more.

    Weights 3 and 1: r^2 = (3/4)^2 (0.02 + 0.01) + (1/4)^2 (0.02 + 0.01) = 0.01875.
    """
    heavy, light = replace(C1, weight=3.0), C8
    agreeing = {load: {n: {"a": 0.19 + 0.01 * n} for n in range(3)} for load in (heavy, light)}
    trial = lived(2, agreeing)
    noisy = tuple(replace(load, repeat_variance=0.02, baseline_repeat_variance=0.01) for load in trial.loads)
    few = replace(trial, loads=noisy)
    plain, claim = speedup_estimate(few, (heavy, light)), claimable_estimate(few, (heavy, light))
    assert plain is not None
    assert claim is not None
    assert plain.se == pytest.approx(0.01 / math.sqrt(3))
    assert claim.se == pytest.approx(math.sqrt(0.01875 / 3))
    assert (claim.mean, claim.df) == (plain.mean, plain.df)
    assert claimable_estimate(trial, (heavy, light)) == speedup_estimate(trial, (heavy, light))
    many = replace(few, lives=FEW_LIVES + 1)
    assert claimable_estimate(many, (heavy, light)) == speedup_estimate(many, (heavy, light))


def test_finalists_are_compared_in_rounds_that_both_have() -> None:
    # Differences 0.2, 0.3 in rounds 0 and 1; prompt b is in one of them only.
    one = lived(2, {C1: {0: {"a": 0.5, "b": 7.0}, 1: {"a": 0.9}, 2: {"a": 4.0}}})
    two = lived(4, {C1: {0: {"a": 0.3}, 1: {"a": 0.6}, 3: {"a": 0.0}}})
    lead = advantage(one, two, (C1,))
    assert lead is not None
    assert (lead.mean, lead.se, lead.lives) == pytest.approx((0.25, 0.05, 2))
    assert lead.allowance == 0.0
