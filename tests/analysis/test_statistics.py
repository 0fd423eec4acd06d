from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.analysis.statistics import (
    Column,
    Estimate,
    Spread,
    combined,
    geometric_mean,
    log_ratios,
    mean_estimate,
    mean_over_lives,
    over_rounds,
    percentile,
    ratio_figure,
    spread_of_mean,
    student_t,
    undefined,
)

positive = st.floats(1e-6, 1e6)
values = st.dictionaries(st.sampled_from([f"p{i}" for i in range(12)]), st.floats(-3, 3), min_size=2)


def test_student_t_is_the_table() -> None:
    assert student_t(0.95, 2) == pytest.approx(4.302653, abs=1e-6)
    assert student_t(0.95, 23) == pytest.approx(2.068658, abs=1e-6)
    assert student_t(0.99, 9) == pytest.approx(3.249836, abs=1e-6)


def test_one_column_is_the_textbook_interval() -> None:
    # values 1, 2, 3: mean 2, s = 1, se = 1/sqrt(3) = 0.577350, t(2) = 4.302653, half-width 2.484138
    estimate = mean_estimate([Column({"a": 1.0, "b": 2.0, "c": 3.0})])
    assert estimate is not None
    assert (estimate.mean, estimate.df, estimate.n) == pytest.approx((2.0, 2.0, 3))
    assert estimate.se == pytest.approx(0.577350, abs=1e-6)
    assert estimate.interval() == pytest.approx((2 - 2.484138, 2 + 2.484138), abs=1e-6)


def test_columns_of_one_group_are_clustered_by_prompt() -> None:
    # The same prompts at two load points, weights 1 and 3: per prompt (x + 3y)/4 = 2.5, 3.5, 6; mean 4, s^2 = 3.25.
    columns = [Column({"a": 1.0, "b": 2.0, "c": 6.0}, 1.0, "chat"), Column({"a": 3.0, "b": 4.0, "c": 6.0}, 3.0, "chat")]
    estimate = mean_estimate(columns)
    assert estimate is not None
    assert (estimate.mean, estimate.n, estimate.df) == pytest.approx((4.0, 3, 2.0))
    assert estimate.se == pytest.approx(math.sqrt(3.25 / 3))


def test_columns_of_different_groups_are_independent() -> None:
    # se^2 of each mean: 1/3 and 4/2 = 2, halved weights: (1/3 + 2)/4 = 0.583333.
    # Welch-Satterthwaite: 0.583333^2 / ((1/12)^2/2 + (1/2)^2/1) = 0.340278/0.253472 = 1.342466.
    columns = [Column({"a": 1.0, "b": 2.0, "c": 3.0}, 1.0, "chat"), Column({"a": 0.0, "b": math.sqrt(8)}, 1.0, "code")]
    estimate = mean_estimate(columns)
    assert estimate is not None
    assert estimate.n == 5
    assert estimate.se == pytest.approx(math.sqrt(0.583333), abs=1e-6)
    assert estimate.df == pytest.approx(1.342466, abs=1e-5)


def test_spreads_enter_with_the_square_of_their_share() -> None:
    # Shares 1/4 and 3/4. Prompts: 3.25/3 (see above). Spreads: 0.16/16 + 0.64 x 9/16 = 0.37.
    columns = [
        Column({"a": 1.0, "b": 2.0, "c": 6.0}, 1.0, "chat", (Spread(0.16, 2),)),
        Column({"a": 3.0, "b": 4.0, "c": 6.0}, 3.0, "chat", (Spread(0.64, 4), Spread(9.0, 0))),
    ]
    estimate = mean_estimate(columns)
    assert estimate is not None
    prompts, first, second = 3.25 / 3, 0.01, 0.36
    variance = prompts + first + second
    assert estimate.se == pytest.approx(math.sqrt(variance))
    assert estimate.df == pytest.approx(variance**2 / (prompts**2 / 2 + first**2 / 2 + second**2 / 4))
    assert estimate.n == 3


def test_spread_of_a_mean() -> None:
    three = spread_of_mean([-0.1, 0.0, 0.1])
    assert (three.variance, three.df) == pytest.approx((0.01 / 3, 2))
    assert spread_of_mean([0.3]) == spread_of_mean([]) == Spread(0.0, 0)
    both = combined([Spread(0.5, 3), Spread(0.5, 3), Spread(8.0, 0)])
    assert (both.variance, both.df) == pytest.approx((1.0, 6.0))
    assert combined([]) == Spread(0.0, 0.0)


def one_column(*rounds: float) -> list[list[Column]]:
    """Return rounds of two prompts with that mean, far apart from each other."""
    return [[Column({"a": value - 1.0, "b": value + 1.0})] for value in rounds]


def test_rounds_are_the_observations() -> None:
    # 0.1, 0.2, 0.6: mean 0.3, s^2 = (0.04 + 0.01 + 0.09)/2 = 0.07; se = sqrt(0.07/3), t(2) = 4.302653.
    estimate = over_rounds(one_column(0.1, 0.2, 0.6))
    assert estimate is not None
    assert (estimate.mean, estimate.se, estimate.df) == pytest.approx((0.3, math.sqrt(0.07 / 3), 2))
    assert (estimate.n, estimate.lives) == (2, 3)
    assert estimate.interval() == pytest.approx((0.3 - 4.302653 * 0.152753, 0.3 + 4.302653 * 0.152753), abs=1e-5)


def test_a_rounds_value_is_the_weighted_mean_of_its_columns() -> None:
    # Weights 1 and 3: (0.4 + 3 x 0.8)/4 = 0.7 and (0.8 + 3 x 0.0)/4 = 0.2.
    rounds = [
        [Column({"a": 0.3, "b": 0.5}, 1.0, "chat"), Column({"x": 0.8}, 3.0, "code")],
        [Column({"a": 0.8}, 1.0, "chat"), Column({"x": -0.1, "y": 0.1}, 3.0, "code")],
    ]
    estimate = over_rounds(rounds)
    assert estimate is not None
    assert (estimate.mean, estimate.se, estimate.df, estimate.n) == pytest.approx((0.45, 0.25, 1, 4))


def test_one_round_has_no_interval_and_an_empty_column_no_mean() -> None:
    estimate = over_rounds(one_column(0.2))
    assert estimate is not None
    assert (estimate.se, estimate.interval(), estimate.above(0.0)) == (None, None, False)
    assert ratio_figure(estimate, "e").note == "no interval"
    assert over_rounds([]) is None
    assert over_rounds([[]]) is None
    assert over_rounds([*one_column(0.2), [Column({})]]) is None


@given(st.lists(st.floats(-3, 3), min_size=2, max_size=6))
def test_exchanging_the_arms_changes_the_sign_of_the_mean_alone(rounds: list[float]) -> None:
    one, other = over_rounds(one_column(*rounds)), over_rounds(one_column(*(-value for value in rounds)))
    assert one is not None
    assert other is not None
    assert (other.mean, other.se) == pytest.approx((-one.mean, one.se), abs=1e-12)


def test_a_column_without_values_leaves_the_mean_undefined() -> None:
    assert mean_estimate([Column({"a": 1.0}), Column({})]) is None
    assert mean_estimate([]) is None


def test_one_observation_has_no_interval() -> None:
    estimate = mean_estimate([Column({"a": 0.5})])
    assert estimate is not None
    assert estimate.interval() is None
    assert not estimate.above(0.0)
    assert not estimate.below(9.0)
    figure = ratio_figure(estimate, "e")
    assert figure.value == pytest.approx(math.exp(0.5))
    assert figure.low is figure.high is None
    assert "no interval" in figure.note


def test_the_allowance_widens_the_interval_in_full() -> None:
    without, allowed = Estimate(0.2, 0.01, 9, 10), Estimate(0.2, 0.01, 9, 10, allowance=0.05)
    narrow, wide = without.interval(), allowed.interval()
    assert narrow is not None
    assert wide is not None
    assert wide == pytest.approx((narrow[0] - 0.05, narrow[1] + 0.05))
    assert Estimate(0.2, 0.0, 9, 10, allowance=0.2).above(0.0) is False


def test_percentiles_interpolate() -> None:
    # Type 7: position 0.95 * 4 = 3.8 between 4 and 10.
    assert percentile([10, 1, 2, 3, 4], 95) == pytest.approx(4 + 0.8 * 6)
    assert percentile([7.0], 99) == 7.0
    assert percentile([1.0, 3.0], 50) == 2.0


def test_log_ratios_pair_what_both_have() -> None:
    ratios = log_ratios({"a": 4.0, "b": 1.0, "only": 9.0}, {"b": 2.0, "a": 2.0})
    assert ratios == {"a": pytest.approx(math.log(2)), "b": pytest.approx(-math.log(2))}


def test_lives_are_averaged_geometrically_over_common_prompts() -> None:
    assert mean_over_lives([{"a": 1.0, "b": 5.0}, {"a": 4.0}]) == {"a": pytest.approx(2.0)}


def test_an_interval_too_wide_for_a_float_stays_finite() -> None:
    figure = ratio_figure(Estimate(0.0, 1e6, 1, 2), "e")
    assert figure.low is not None
    assert figure.high is not None
    assert 0.0 < figure.low < 1.0 < figure.high < math.inf


def test_undefined_carries_its_reason() -> None:
    assert ratio_figure(None, "e", note="why").note == "why"
    assert undefined("s", "e", "no drafts").value is None


@given(st.lists(positive, min_size=1, max_size=20), positive)
def test_geometric_mean_scales(numbers: list[float], factor: float) -> None:
    assert geometric_mean([n * factor for n in numbers]) == pytest.approx(geometric_mean(numbers) * factor)


@given(st.lists(st.tuples(positive, positive), min_size=1, max_size=20))
def test_geometric_mean_of_ratios_is_the_ratio_of_geometric_means(pairs: list[tuple[float, float]]) -> None:
    tops, bottoms = zip(*pairs, strict=True)
    assert geometric_mean([a / b for a, b in pairs]) == pytest.approx(geometric_mean(tops) / geometric_mean(bottoms))


@given(values, st.floats(-5, 5))
def test_a_shift_moves_the_mean_and_leaves_the_error(column: dict[str, float], shift: float) -> None:
    before = mean_estimate([Column(column)])
    after = mean_estimate([Column({p: v + shift for p, v in column.items()})])
    assert before is not None
    assert after is not None
    assert after.mean == pytest.approx(before.mean + shift, abs=1e-9)
    assert after.se == pytest.approx(before.se, abs=1e-9)


@given(values, values, st.floats(0.1, 10), st.booleans())
def test_only_shares_of_weights_matter(a: dict[str, float], b: dict[str, float], factor: float, one: bool) -> None:
    group = "chat" if one else "code"
    plain = mean_estimate([Column(a, 1.0, "chat"), Column(b, 2.0, group)])
    scaled = mean_estimate([Column(a, factor, "chat"), Column(b, 2.0 * factor, group)])
    assert plain is not None
    assert scaled is not None
    assert (scaled.mean, scaled.se) == pytest.approx((plain.mean, plain.se), abs=1e-12)


@given(values, st.floats(0, 1), st.sampled_from([0.8, 0.95, 0.999]))
def test_the_interval_contains_the_mean_and_grows_with_confidence(
    column: dict[str, float], allowance: float, confidence: float
) -> None:
    estimate = mean_estimate([Column(column)])
    assert estimate is not None
    estimate = Estimate(estimate.mean, estimate.se, estimate.df, estimate.n, allowance)
    interval, wider = estimate.interval(confidence), estimate.interval(0.9999)
    assert interval is not None
    assert wider is not None
    assert wider[0] <= interval[0] <= estimate.mean <= interval[1] <= wider[1]


@given(values)
def test_the_same_column_twice_is_no_more_evidence(column: dict[str, float]) -> None:
    """Two load points with the same prompts and the same values do not make the interval narrower."""
    once = mean_estimate([Column(column, 1.0, "chat")])
    twice = mean_estimate([Column(column, 1.0, "chat")] * 2)
    assert once is not None
    assert twice is not None
    assert (twice.se, twice.df, twice.n) == pytest.approx((once.se, once.df, once.n), abs=1e-9)
