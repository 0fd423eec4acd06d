"""Metrics other than TPOT: what decides, and with what uncertainty."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.analysis.comparison import (
    advantage,
    against,
    log_drift,
    objective_cost,
    objective_speedup,
    similar_prompts_estimate,
    speedup_estimate,
)
from tuner.analysis.costs import WALL, WHOLE, cost_spread, costs
from tuner.analysis.final_figures import final_figures
from tuner.analysis.findings import findings
from tuner.analysis.life import load_view
from tuner.analysis.metrics import trial_figures
from tuner.analysis.rounds import arms
from tuner.records import Goal, LoadPoint, Metric, Protocol, Role, Trial, Verdict

C1, C8 = LoadPoint("chat", 1, 33), LoadPoint("chat", 8, 33)
Make = Callable[..., Trial]
Seconds = Callable[[LoadPoint, int, int], float]


def by_repeat(*logs: float, tpot: float = 0.01) -> Seconds:
    """Return a TPOT, in each repeat off by that factor's logarithm."""
    return lambda _load, _i, r: tpot * math.exp(logs[r])


def test_the_cost_of_throughput_is_wall_time_per_token(make_trial: Make) -> None:
    view = load_view(make_trial(tpot=by_repeat(0.3, 0.0, 0.1), ttft=0.0, tokens=33), C1.key)
    assert view is not None
    # 32 x TPOT for 33 tokens; the median of the repeats is the last one. Log rates -0.3, 0, -0.1: s^2/3.
    assert costs(view, WALL) == {WHOLE: pytest.approx(32 / 33 * 0.01 * math.exp(0.1))}
    spread = cost_spread(view, WALL)
    assert (spread.variance, spread.df) == pytest.approx(((0.0278 + 0.0178 + 0.0011) / 2 / 3, 2), rel=1e-2)
    assert costs(view, "ttft_s") == {}


def test_e2e_by_hand(make_trial: Make) -> None:
    """0.1 s and 32 tokens of 20 and 10 ms: 0.74 and 0.42 s; the prompt whose lengths differ is left out."""
    base = make_trial(tpot=0.02)
    fast = make_trial(1, k=2, tpot=0.01, tokens=lambda _load, i, _r: 30 if i == 3 else 33)
    trial = trial_figures(fast, base, base, metric=Metric.E2E)
    figure = objective_speedup(trial, 0.0)
    assert figure.value == pytest.approx(0.74 / 0.42)
    assert (figure.n, figure.n_of) == (5, "prompts")
    assert figure.estimator == "weighted geometric mean over load points of paired E2E ratios"
    assert figure.value == pytest.approx(trial.loads[0].figures["speedup_e2e"].value)
    assert trial.loads[0].figures["speedup_tpot"].value == pytest.approx(2.0)
    assert objective_cost(trial_figures(base, None, metric=Metric.E2E), 0.0) == pytest.approx(0.74)


def test_throughput_by_hand(make_trial: Make) -> None:
    base = make_trial(tpot=0.02, ttft=0.0)
    fast = make_trial(1, k=2, tpot=by_repeat(-0.1, 0.0, 0.1), ttft=0.0)
    trial = trial_figures(fast, base, metric=Metric.THROUGHPUT)
    estimate = speedup_estimate(trial, [C1])
    assert estimate is not None
    # s^2/3 of (-0.1, 0, 0.1) is 1/300; the baseline's repeats are alike.
    assert (estimate.mean, estimate.se, estimate.df, estimate.n) == pytest.approx(
        (math.log(2), math.sqrt(1 / 300), 2, 3)
    )
    figure = objective_speedup(trial, 0.0)
    assert (figure.low, figure.high) == pytest.approx(
        (2 * math.exp(-4.3027 * math.sqrt(1 / 300)), 2 * math.exp(4.3027 * math.sqrt(1 / 300))), rel=1e-4
    )
    assert (figure.n, figure.n_of, figure.estimator) == (
        3,
        "repeats",
        "weighted geometric mean over load points of throughput ratios",
    )
    ratio = trial.loads[0].figures["throughput_ratio"]
    assert (ratio.value, ratio.low) == pytest.approx((2.0, figure.low))
    assert ratio.n_of == "repeats"
    assert objective_cost(trial_figures(base, None, metric=Metric.THROUGHPUT), 0.0) == pytest.approx(32 / 33 * 0.02)


def test_one_repeat_gives_no_interval_of_throughput(make_trial: Make) -> None:
    trial = trial_figures(make_trial(1, k=2, tpot=0.01, repeats=1), make_trial(), metric=Metric.THROUGHPUT)
    figure = objective_speedup(trial, 0.0)
    assert (figure.low, figure.n) == (None, 1)
    assert "one repeat gives no interval" in figure.note


def test_throughput_over_load_points_by_weight_and_its_drift(make_trial: Make) -> None:
    """Ratios 2 and 1 with weights 3 and 1; the baseline is 10 % slower at the end, at concurrency 8 alone."""
    loads = (LoadPoint("chat", 1, 33, weight=3.0), C8)

    def seconds(one: float, eight: float) -> Seconds:
        return lambda load, _i, _r: one if load.concurrency == 1 else eight

    base, again = make_trial(loads=loads, ttft=0.0), make_trial(9, loads=loads, ttft=0.0, tpot=seconds(0.02, 0.022))
    fast = make_trial(1, k=2, loads=loads, ttft=0.0, tpot=seconds(0.01, 0.02 * math.sqrt(1.1)))
    trial = trial_figures(fast, base, again, metric=Metric.THROUGHPUT)
    assert log_drift(trial, loads) == pytest.approx(math.log(1.1) / 4)
    estimate = speedup_estimate(trial, loads)
    assert estimate is not None
    assert (estimate.mean, estimate.allowance) == pytest.approx((0.75 * math.log(2), 1.5 * math.log(1.1) / 4))


def test_the_repeats_of_a_load_point_count_with_the_square_of_its_share(make_trial: Make) -> None:
    loads = (LoadPoint("chat", 1, 33, weight=3.0), C8)
    wobble = by_repeat(-0.1, 0.0, 0.1)
    fast = make_trial(
        1, k=2, loads=loads, ttft=0.0, tpot=lambda load, i, r: wobble(load, i, r) if load.concurrency == 1 else 0.01
    )
    estimate = speedup_estimate(trial_figures(fast, make_trial(loads=loads), metric=Metric.THROUGHPUT), loads)
    assert estimate is not None
    assert estimate.se == pytest.approx(0.75 * math.sqrt(1 / 300))


@pytest.mark.parametrize(("metric", "drift"), [(Metric.TPOT, 1.0), (Metric.E2E, 1.5), (Metric.THROUGHPUT, 1.5)])
def test_drift_is_that_of_the_metric(make_trial: Make, metric: Metric, drift: float) -> None:
    """0.64 s of decoding stay, the first token comes 0.32 s later: E2E 0.96 s instead of 0.64 s."""
    fast = trial_figures(make_trial(1, k=2), make_trial(ttft=0.0), make_trial(9, ttft=0.32), metric=metric)
    assert log_drift(fast, [C1]) == pytest.approx(math.log(drift), abs=1e-9)


def test_two_throughputs_are_compared_without_their_baseline(make_trial: Make) -> None:
    base = make_trial(tpot=by_repeat(-0.2, 0.0, 0.2), ttft=0.0)
    one, two = (
        trial_figures(make_trial(k, k=k, tpot=tpot, ttft=0.0), base, metric=Metric.THROUGHPUT)
        for k, tpot in ((2, 0.01), (4, 0.008))
    )
    lead = advantage(two, one, [C1])
    assert lead is not None
    assert (lead.mean, lead.se) == pytest.approx((math.log(1.25), 0.0), abs=1e-9)
    eager = {"enforce_eager": True}
    own = make_trial(5, tpot=0.03, ttft=0.0, args=eager)
    slow = trial_figures(make_trial(6, k=2, tpot=0.01, ttft=0.0, args=eager), own, metric=Metric.THROUGHPUT)
    reference, plain = (trial_figures(t, None, metric=Metric.THROUGHPUT) for t in (make_trial(ttft=0.0), own))
    ranked = speedup_estimate(against(slow, plain, reference), [C1])
    assert ranked is not None
    assert ranked.mean == pytest.approx(math.log(2.0))  # 3 over its own baseline, which is at 2/3 of the reference


def lives(make_trial: Make, ratios: list[float]) -> list[Trial]:
    """Return rounds of a baseline and K = 4 that is so many times as fast, without a time to the first token."""
    trials = []
    for n, ratio in enumerate(ratios):
        trials.append(make_trial(2 * n, final_round=n, role=Role.FINAL, tpot=0.02, ttft=0.0))
        trials.append(make_trial(2 * n + 1, k=4, final_round=n, tpot=0.02 / ratio, ttft=0.0))
    return trials


def test_throughput_over_rounds_by_hand(make_trial: Make) -> None:
    logs = (0.3, 0.4, 0.5)
    arm = arms(lives(make_trial, [math.exp(x) for x in logs]))[1]
    figures = final_figures(arm, (C1,), metric=Metric.THROUGHPUT)
    assert {n: dict(r) for n, r in figures.loads[0].rounds.items()} == {
        n: {WHOLE: pytest.approx(math.exp(x))} for n, x in enumerate(logs)
    }
    estimate = speedup_estimate(figures, (C1,))
    assert estimate is not None
    assert (estimate.mean, estimate.se, estimate.n, estimate.lives) == pytest.approx((0.4, 0.1 / math.sqrt(3), 3, 3))
    figure = objective_speedup(figures, 0.0)
    assert (figure.n_of, figure.note) == ("rounds", "over 3 engine lives")
    similar = similar_prompts_estimate(figures, (C1,))
    assert similar is not None and similar.se is None  # of no prompt, so of no other prompts either


ratio = st.floats(0.2, 5)


@settings(deadline=None, max_examples=25)
@given(st.lists(ratio, min_size=3, max_size=3), st.sampled_from(list(Metric)))
def test_exchanging_the_arms_inverts_every_metric(make_trial: Make, speeds: list[float], metric: Metric) -> None:
    def tpot(_load: LoadPoint, i: int, r: int) -> float:
        return 0.02 / speeds[(i + r) % 3]

    there = trial_figures(make_trial(1, k=2, tpot=tpot), make_trial(), metric=metric)
    back = trial_figures(make_trial(1, k=2), make_trial(tpot=tpot), metric=metric)
    one, other = speedup_estimate(there, [C1]), speedup_estimate(back, [C1])
    assert one is not None and other is not None
    assert one.mean == pytest.approx(-other.mean, abs=1e-9)
    assert one.se == pytest.approx(other.se, abs=1e-9)


@settings(deadline=None, max_examples=25)
@given(ratio)
def test_without_a_first_token_to_wait_for_all_metrics_agree(make_trial: Make, speed: float) -> None:
    base, fast = make_trial(ttft=0.0), make_trial(1, k=2, tpot=0.02 / speed, ttft=0.0)
    found = [speedup_estimate(trial_figures(fast, base, metric=metric), [C1]) for metric in Metric]
    assert [e.mean for e in found if e] == pytest.approx([math.log(speed)] * 3, abs=1e-9)


@pytest.mark.parametrize(("metric", "k"), [(Metric.TPOT, 4), (Metric.E2E, 2), (Metric.THROUGHPUT, 2)])
@pytest.mark.parametrize("fresh", [1, 3])
def test_the_metric_decides(make_trial: Make, metric: Metric, k: int, fresh: int) -> None:
    """K = 4 has twice the speed per token, and waits for its first token; K = 2 is faster as a whole."""

    def of(number: int, k: int, **facts: object) -> Trial:
        tpot, ttft = {0: (0.02, 0.1), 2: (0.013, 0.1), 4: (0.01, 0.3)}[k]
        return make_trial(
            number, k=k, tpot=lambda _l, i, r: tpot * (1 + 0.001 * i + 0.0005 * (r + number % 3)), ttft=ttft, **facts
        )

    trials = [of(0, 0), of(1, 2), of(2, 4), of(3, 0, role=Role.BASELINE_AGAIN)]
    for n in range(fresh if fresh > 1 else 0):
        trials += [of(10 + 3 * n + i, k, final_round=n, role=Role.FINAL) for i, k in enumerate((0, 2, 4))]
    protocol = Protocol(lives=fresh, max_lives=fresh)
    result = findings(trials, (C1,), protocol=protocol, goal=Goal(metric))
    (answer,) = result.answers
    assert (answer.verdict, answer.best.k, answer.lives) == (Verdict.SPECULATE, k, fresh)
    assert f"({metric.words}, 95 %" in answer.why
    assert (answer.similar_prompts is None) is (metric is Metric.THROUGHPUT)
    (curve,) = answer.curves
    assert (curve.metric, curve.best_k, result.goal) == (metric, k, Goal(metric))
    assert curve.points[-1].speedup.value == pytest.approx(
        {"tpot": 2.0, "e2e": 0.74 / 0.62}.get(metric, 0.74 / 0.62), rel=1e-2
    )
