"""Quantities and their ratios by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.analysis.statistics import Estimate, Spread, student_t
from tuner.artifact.figures import MeasuredFigure
from tuner.compare.quantity import (
    WHOLE,
    Quantity,
    exactly,
    from_figure,
    inverse,
    log_ratio,
    nothing,
    on_common_prompts,
    product,
)


def lives(*values: float) -> Quantity:
    return Quantity(tuple({WHOLE: value} for value in values))


def figure(value: float | None, low: float | None = None, high: float | None = None, note: str = "") -> MeasuredFigure:
    return MeasuredFigure(value=value, unit="s", estimator="e", n=4, n_of="prompts", low=low, high=high, note=note)


def test_the_ratio_of_two_sweeps_is_welchs_interval_by_hand() -> None:
    # Means 0.1 and 0.3; s^2 / L is 0.01 / 2 and 0.04 / 2 with a degree of freedom each.
    old, new = (
        lives(0.1 - math.sqrt(0.005), 0.1 + math.sqrt(0.005)),
        lives(0.3 - math.sqrt(0.02), 0.3 + math.sqrt(0.02)),
    )
    ratio = log_ratio(old.estimate, new.estimate)
    assert ratio is not None and ratio.se is not None
    assert ratio.mean == pytest.approx(0.2)
    assert ratio.se == pytest.approx(math.sqrt(0.005 + 0.02))
    assert ratio.df == pytest.approx(0.025**2 / (0.005**2 + 0.02**2))
    interval = ratio.interval(0.95)
    assert interval is not None
    assert interval[1] - 0.2 == pytest.approx(student_t(0.95, ratio.df) * ratio.se)


def test_one_life_gives_no_standard_error_and_so_no_interval() -> None:
    ratio = log_ratio(lives(0.1).estimate, lives(0.3, 0.4).estimate)
    assert ratio is not None
    assert ratio.mean == pytest.approx(0.25)
    assert ratio.interval() is None
    assert log_ratio(None, lives(0.1).estimate) is None


def test_few_lives_are_no_surer_than_their_repeats_allow() -> None:
    alike = Quantity(tuple({"a": 0.1} for _ in range(3)), repeats=Spread(0.0003, 6))
    many = Quantity(tuple({"a": 0.1} for _ in range(6)), repeats=Spread(0.0003, 6))
    assert alike.estimate is not None and many.estimate is not None
    assert alike.estimate.se == pytest.approx(0.01)
    assert many.estimate.se == 0.0


def test_only_prompts_that_all_lives_of_both_answered_count() -> None:
    old = Quantity(({"a": 1.0, "b": 9.0}, {"a": 1.2, "b": 9.0}))
    new = Quantity(({"a": 2.0, "b": 5.0}, {"a": 2.2}))
    first, second, left_out = on_common_prompts(old, new)
    assert (first.lives, second.lives, left_out) == (({"a": 1.0}, {"a": 1.2}), ({"a": 2.0}, {"a": 2.2}), 1)


def test_no_common_prompt_is_said_and_a_whole_load_is_left_as_it_is() -> None:
    first, second, left_out = on_common_prompts(Quantity(({"a": 1.0},)), Quantity(({"b": 1.0},)))
    assert first.estimate is second.estimate is None
    assert (first.note, left_out) == ("no prompt was answered in all lives of both", 2)
    whole, by_prompt = lives(1.0, 1.1), Quantity(({"b": 1.0},))
    assert on_common_prompts(whole, by_prompt) == (whole, by_prompt, 0)


def test_a_figures_interval_gives_its_standard_error_back() -> None:
    half = student_t(0.96, 3) * 0.01
    quantity = from_figure(figure(2.0, 2 * math.exp(-half), 2 * math.exp(half)), lives=4, confidence=0.96)
    assert quantity.estimate is not None and quantity.estimate.se is not None
    assert quantity.estimate.mean == pytest.approx(math.log(2))
    assert quantity.estimate.se == pytest.approx(0.01)
    assert (quantity.estimate.df, quantity.estimate.lives) == (3, 4)


@pytest.mark.parametrize(
    ("given_figure", "of_lives", "note"),
    [
        (figure(2.0, 1.9, 2.1), 1, "of one engine life"),
        (figure(2.0), 4, "the artifact has no interval of it"),
        (figure(None, note="no drafts"), 4, "no drafts"),
        (None, 4, "it was not measured"),
    ],
)
def test_a_figure_without_lives_or_interval_says_why(
    given_figure: MeasuredFigure | None, of_lives: int, note: str
) -> None:
    quantity = from_figure(given_figure, of_lives, 0.95)
    assert quantity.note == note
    assert quantity.estimate is None or quantity.estimate.se is None


def test_what_is_exact_adds_no_error() -> None:
    ratio = log_ratio(exactly(1.0).estimate, lives(0.1, 0.3).estimate)
    assert ratio is not None and ratio.se is not None
    assert ratio.se == pytest.approx(math.sqrt(0.02 / 2))
    assert ratio.df == pytest.approx(1.0)
    assert (ratio.n, ratio.lives) == (1, 2)
    both = log_ratio(exactly(1.0).estimate, exactly(1.0).estimate)
    assert both is not None
    assert both.interval(0.999) == (0.0, 0.0)


def test_a_product_is_taken_life_by_life_where_it_can_be() -> None:
    assert product(lives(0.1, 0.2), lives(1.0, 2.0)).lives == ({WHOLE: 1.1}, {WHOLE: 2.2})
    known = Quantity(known=Estimate(1.0, 0.2, 3, 1, lives=4))
    of_means = product(lives(0.1, 0.3), known).estimate
    assert of_means is not None and of_means.se is not None
    assert of_means.mean == pytest.approx(1.2)
    assert of_means.se == pytest.approx(0.1 + 0.2)
    assert (of_means.df, of_means.lives) == (1, 2)
    assert product(nothing("why"), known).note == "why"
    unsure = product(Quantity(known=Estimate(1.0, None, 0.0, 1), note="no interval"), known)
    assert unsure.estimate is not None
    assert (unsure.estimate.se, unsure.note) == (None, "no interval")


values = st.lists(st.floats(-1.0, 1.0), min_size=2, max_size=6)


@given(values, values)
def test_exchanging_the_sweeps_turns_the_ratio_over(old: list[float], new: list[float]) -> None:
    there, back = (
        log_ratio(lives(*old).estimate, lives(*new).estimate),
        log_ratio(lives(*new).estimate, lives(*old).estimate),
    )
    assert there is not None and back is not None
    assert there.mean == pytest.approx(-back.mean)
    assert there.se == pytest.approx(back.se)
    inverted = inverse(lives(*old)).estimate
    assert inverted is not None
    assert inverted.mean == pytest.approx(-(sum(old) / len(old)))


@given(values, st.floats(-1.0, 1.0))
def test_a_factor_on_the_new_sweep_moves_the_ratio_by_itself(old: list[float], factor: float) -> None:
    ratio = log_ratio(lives(*old).estimate, lives(*(value + factor for value in old)).estimate)
    assert ratio is not None
    assert ratio.mean == pytest.approx(factor, abs=1e-9)
