"""From values to coordinates."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.page.charts import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Axes,
    Point,
    axes,
    dodges,
    line,
    round_ticks,
    shape,
    spaced,
    whole_ticks,
)
from tuner.page.view import Tick

FINITE = st.floats(0.05, 50.0)


@given(st.lists(st.tuples(st.integers(0, 20), FINITE), min_size=1, max_size=8), FINITE, FINITE)
def test_every_point_and_the_level_lie_in_the_drawing(values: list[tuple[int, float]], down: float, up: float) -> None:
    points = [Point(k, y, (y / (1 + down), y * (1 + up)), "") for k, y in values]
    shown = axes(points, 1.0)
    for mark in [shown.mark(point, 0) for point in points]:
        assert LEFT <= mark.x <= WIDTH - RIGHT
        assert TOP <= mark.y <= HEIGHT - BOTTOM
        assert mark.low is not None and mark.high is not None
        assert TOP <= mark.high <= mark.y + 0.1
        assert mark.y - 0.1 <= mark.low <= HEIGHT - BOTTOM
    assert TOP <= shown.y(1.0) <= HEIGHT - BOTTOM


def test_a_wide_interval_is_cut_and_says_so() -> None:
    points = [Point(1, 1.2, (0.1, 9.0), ""), Point(2, 1.3, (1.25, 1.35), "")]
    shown = axes(points, 1.0)
    wide, narrow = (shown.mark(point, 0) for point in points)
    assert (wide.low_cut, wide.high_cut) == (True, True)
    assert (narrow.low_cut, narrow.high_cut) == (False, False)
    assert narrow.low is not None and narrow.high is not None and narrow.low - narrow.high > 3  # not squashed


@given(st.floats(-10, 10), st.floats(0.01, 100))
def test_ticks_are_round_and_in_range(low: float, span: float) -> None:
    ticks = round_ticks(low, low + span)
    assert 2 <= len(ticks) <= 8
    for tick in ticks:
        assert low - 1e-6 * span <= tick.at <= low + span * (1 + 1e-6)
        assert float(tick.text) == pytest.approx(tick.at, abs=1e-6 * max(1.0, span))
    steps = {round(b.at - a.at, 9) for a, b in itertools.pairwise(ticks)}
    assert max(steps) - min(steps) < 1e-6 * span


def test_ticks_say_what_they_are_of() -> None:
    assert [tick.text for tick in round_ticks(0.74, 1.66, "x")] == ["0.8x", "1.0x", "1.2x", "1.4x", "1.6x"]
    assert [tick.text for tick in round_ticks(0.0, 1.0)][1] == "0.2"
    assert [tick.text for tick in round_ticks(0.0, 0.11)][1] == "0.025"


def test_of_many_whole_numbers_some_have_a_tick() -> None:
    assert [tick.text for tick in whole_ticks([0, 3, 1, 3])] == ["0", "1", "3"]
    assert len(whole_ticks(range(40))) <= 12


def test_words_at_ticks_do_not_run_into_one_another() -> None:
    ticks = [Tick(float(x), str(x)) for x in (0, 5, 20, 100, 190, 200)]
    assert [tick.text for tick in spaced(ticks)] == ["0", "20", "100", "200"]
    assert spaced([]) == ()


def test_lines_stand_beside_one_another() -> None:
    assert dodges(1) == [0.0]
    assert dodges(3) == [-5.0, 0.0, 5.0]


def test_lines_differ_in_shape_too() -> None:
    assert len({shape(10, 10, style, 4) for style in range(7)}) == 7
    assert shape(10, 10, 7, 4) == shape(10, 10, 0, 4)
    plain = Axes(0, 1, 0, 1)
    fresh = plain.mark(Point(0, 0, None, "", ("fresh",)), 0)
    assert fresh.shape != plain.mark(Point(0, 0, None, ""), 0).shape
    assert line([fresh]) == f"{fresh.x:g},{fresh.y:g}"
