"""The picture of what a draft would need: what is drawn where."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tuner.analysis.breakeven import SPEEDUPS, Breakeven, Cell, need
from tuner.analysis.step_growth import Basis
from tuner.plots import plot_breakeven
from tuner.records import Candidate, LoadPoint, Speculation
from tuner.records import Figure as Estimated


def cell(k: int, growth: float, basis: Basis = Basis.MEASURED, has: float | None = None) -> Cell:
    steps = Estimated(growth, "plain steps", "test", 6, "prompts", growth - 0.2, growth + 0.2)
    ceiling = Estimated((k + 1) / growth, "x", "test", 6)
    needs = tuple(need(speedup, k, steps, basis) for speedup in SPEEDUPS)
    return Cell(k, basis, steps, None, ceiling, needs, None if has is None else 1 + has, has)


def row(*cells: Cell, draft: str = "good", concurrency: int = 1) -> Breakeven:
    candidate = Candidate({}, Speculation("draft_model", cells[0].k, draft, "/models/good"))
    tpot = Estimated(0.02, "s", "test", 6)
    return Breakeven(candidate, LoadPoint("chat", concurrency, 33), tpot, cells, None)


def marks(axes: Axes, marker: str) -> list[tuple[float, float]]:
    lines = [line for line in axes.lines if line.get_marker() == marker]
    return [
        (float(x), float(y))
        for line in lines
        for x, y in zip(np.asarray(line.get_xdata()), np.asarray(line.get_ydata()), strict=True)
    ]


def texts(figure: Figure) -> str:
    legends = [legend for axes in figure.axes if (legend := axes.get_legend())] + list(figure.legends)
    parts = [text.get_text() for text in figure.texts]
    parts += [text.get_text() for axes in figure.axes for text in axes.texts]
    for legend in legends:
        parts += [legend.get_title().get_text(), *(text.get_text() for text in legend.get_texts())]
    return "\n".join(parts)


def test_a_panel_for_each_draft_and_load_point_with_the_needs_and_what_the_draft_has() -> None:
    rows = [row(cell(1, 1.25, has=0.7)), row(cell(1, 1.5), concurrency=8), row(cell(1, 1.5), draft="weak")]
    figure = plot_breakeven(rows, subtitle="target on a card")
    assert len(figure.axes) == 3
    first = figure.axes[0]
    assert [round(y, 6) for _, y in marks(first, "o")] == [0.25]  # 1 + alpha = 1.25
    assert [round(y, 6) for _, y in marks(first, "s")] == [0.875]  # 1 + alpha = 1.875
    assert marks(first, "D") == [pytest.approx((0.8, 0.7))]
    assert marks(figure.axes[1], "D") == []
    words = texts(figure)
    assert "to pay: least at K = 1, 0.25" in words
    assert "for 2x: a draft that is always right comes to 1.60x" in words
    assert "weak, chat" in words and "target on a card" in words


def test_what_is_impossible_stands_above_one() -> None:
    axes = plot_breakeven([row(cell(1, 1.25), cell(2, 3.5))], subtitle="").axes[0]
    crosses = marks(axes, "x")
    assert all(y > 1 for _, y in crosses)
    assert sorted(round(x) for x, _ in crosses) == [1, 2, 2, 2]  # 2x at K = 1; everything at K = 2


def test_only_measured_points_are_filled_and_bounds_are_not_joined() -> None:
    cells = [cell(1, 1.2, Basis.EXTRAPOLATED), cell(2, 1.5), cell(3, 1.5, Basis.AT_LEAST)]
    axes = plot_breakeven([row(*cells)], subtitle="").axes[0]
    pay = [line for line in axes.lines if line.get_color() == "#0072B2" and line.get_marker() in ("o", "^")]
    faces = {str(line.get_marker()): line.get_markerfacecolor() for line in pay if len(line.get_xdata()) == 1}  # type: ignore[arg-type]
    assert faces["o"] == "#0072B2"
    hollow = [line for line in pay if line.get_markerfacecolor() == "white"]
    assert {(str(line.get_marker()), round(float(np.asarray(line.get_xdata())[0]))) for line in hollow} == {
        ("o", 1),
        ("^", 3),
    }
    (joined,) = [
        line
        for line in axes.lines
        if line.get_marker() == "None" and line.get_linewidth() > 2 and line.get_color() == "#0072B2"
    ]
    assert [round(float(x)) for x in np.asarray(joined.get_xdata())] == [1, 2]


def test_what_is_not_known_is_said() -> None:
    figure = plot_breakeven([row(cell(1, 2.5, Basis.AT_MOST), cell(3, 2.5))], subtitle="")
    assert "not known" in texts(figure)
    assert "only a bound is known" in texts(figure)


def test_the_arrow_shows_an_interval_that_reaches_into_what_is_impossible() -> None:
    wide = cell(1, 1.9)
    steps = replace(wide.growth, high=2.4)
    wide = replace(wide, growth=steps, needs=tuple(need(s, 1, steps) for s in SPEEDUPS))
    axes = plot_breakeven([row(wide)], subtitle="").axes[0]
    assert [y for _, y in marks(axes, "^")] == [1.0]
