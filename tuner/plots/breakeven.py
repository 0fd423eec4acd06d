"""The acceptance that a draft needs against K."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tuner.analysis.breakeven import SPEEDUPS, Breakeven, Cell, Need, Reach
from tuner.analysis.step_growth import BOUNDS, Basis
from tuner.plots.layout import COLOURS, GREY, LINE, TEXT, Head, Style, footer_columns, footer_legend, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_STYLES = (
    Style(COLOURS[0], "o", "-", -0.05),
    Style(COLOURS[1], "s", "--", 0.0),
    Style(COLOURS[2], "^", "-.", 0.05),
)
"""One for each of SPEEDUPS."""
_HAS: Any = {
    "marker": "D",
    "markersize": 11,
    "markeredgecolor": "white",
    "markeredgewidth": 1.2,
    "ls": "none",
    "zorder": 8,
}
_NEVER: Any = {"marker": "x", "markersize": 11, "markeredgewidth": 2.6, "ls": "none", "clip_on": False, "zorder": 6}
_NEVER_AT = 1.07  # where impossible needs are marked, side by side
_HAS_AT = -0.2  # to the left of the needs
_TOP = 1.22
_BOUND_MARKS = {Basis.AT_LEAST: "^", Basis.AT_MOST: "v"}


@dataclass(frozen=True)
class _Panel:
    """A draft at a load point."""

    row: int
    label: str


def plot_breakeven(found: Sequence[Breakeven], *, subtitle: str) -> Figure:
    """Return the acceptance needed against K: a panel for each draft and load point, a line for each speedup.

    found: at least one.  subtitle: what was measured on what.
    """
    keys = {_Panel(i, f"{row.draft_name}, {row.load_point.label}"): row for i, row in enumerate(found)}
    heads = {
        key: [Head(style, _words(row, speedup)) for speedup, style in zip(SPEEDUPS, _STYLES, strict=True)]
        for key, row in keys.items()
    }
    symbols, columns = _symbols(found), footer_columns(len(found))
    title = "What a draft would need: acceptance by number of draft tokens K"
    figure, axes_of = panels(title, subtitle, heads, math.ceil(len(symbols) / columns))
    for key, axes in axes_of.items():
        _draw(axes, keys[key])
    footer_legend(figure, symbols, columns)
    return figure


def _words(row: Breakeven, speedup: float) -> str:
    asked = "to pay" if speedup == 1 else f"for {speedup:g}x"
    easiest = row.easiest(speedup)
    if easiest is not None:
        cell, need = easiest
        return f"{asked}: least at K = {cell.k}, {need.acceptance.value:.2f}"
    if row.not_told(speedup):
        return f"{asked}: nothing but bounds is known"
    return f"{asked}: a draft that is always right comes to {row.highest.ceiling.value or 0.0:.2f}x"


def _draw(axes: Axes, row: Breakeven) -> None:
    ks = [cell.k for cell in row.cells]
    axes.axhspan(1.0, _TOP, color="#EEEEEE", zorder=0)
    axes.text(ks[-1] + 0.42, _TOP - 0.01, "impossible", fontsize=TEXT - 1, color=GREY, ha="right", va="top")
    for i, style in enumerate(_STYLES):
        _draw_needs(axes, [(cell, cell.needs[i]) for cell in row.cells], style)
    has = [(cell.k, cell.has_acceptance) for cell in row.cells if cell.has_acceptance is not None]
    axes.plot([k + _HAS_AT for k, _ in has], [alpha for _, alpha in has], color="black", **_HAS)
    for cell in row.cells:
        if all(need.reach is Reach.UNKNOWN for need in cell.needs):
            axes.text(cell.k, 0.5, "not known", fontsize=TEXT, color=GREY, ha="center", va="center")
    axes.set_xlim(ks[0] - 0.5, ks[-1] + 0.5)
    axes.set_ylim(0, _TOP)
    axes.set_xticks(ks)
    axes.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1.0])
    axes.set_xlabel("K = draft tokens proposed per step", fontsize=TEXT)
    axes.set_ylabel("acceptance needed", fontsize=TEXT)


def _draw_needs(axes: Axes, needs: Sequence[tuple[Cell, Need]], style: Style) -> None:
    known = [(cell, need.acceptance.value) for cell, need in needs if need.acceptance.value is not None]
    line = [(cell.k + style.shift, alpha) for cell, alpha in known if cell.basis not in BOUNDS]
    axes.plot(
        [x for x, _ in line],
        [alpha for _, alpha in line],
        color=style.colour,
        ls=style.line,
        linewidth=LINE["linewidth"],
        zorder=4,
    )
    for cell, alpha in known:
        filled = cell.basis is Basis.MEASURED
        axes.plot(
            cell.k + style.shift,
            alpha,
            color=style.colour,
            marker=_BOUND_MARKS.get(cell.basis, style.marker),
            markersize=LINE["markersize"],
            markerfacecolor=style.colour if filled else "white",
            markeredgecolor=style.colour,
            markeredgewidth=1.6,
            zorder=5,
        )
    for cell, need in needs:
        if cell.basis not in BOUNDS:
            _draw_interval(axes, cell.k + style.shift, need, style)
        if need.reach is Reach.IMPOSSIBLE:
            axes.plot(cell.k + 4 * style.shift, _NEVER_AT, color=style.colour, **_NEVER)


def _draw_interval(axes: Axes, x: float, need: Need, style: Style) -> None:
    low, high = need.acceptance.low, need.acceptance.high
    if low is None:
        return
    axes.plot([x, x], [low, 1.0 if high is None else high], color=style.colour, linewidth=1.6, alpha=0.6, zorder=3)
    for end, marker in ((low, "_"), (1.0, "^") if high is None else (high, "_")):
        axes.plot(x, end, color=style.colour, marker=marker, markersize=7, alpha=0.6, clip_on=False, zorder=3)


def _symbols(found: Sequence[Breakeven]) -> list[tuple[dict[str, Any], str]]:
    cells = [cell for row in found for cell in row.cells]
    basis = {cell.basis for cell in cells}
    symbols: list[tuple[dict[str, Any], str]] = [
        ({**_HAS, "color": "black"}, "what the measured draft has: it pays above the blue line"),
        ({"marker": "|", "markersize": 15, "markeredgewidth": 1.8, "ls": "none"}, "95 % interval (arrow: goes on)"),
    ]
    hollow = {"marker": "o", "markersize": 9, "markerfacecolor": "white", "markeredgewidth": 1.6, "ls": "none"}
    between = [one.value for one in (Basis.INTERPOLATED, Basis.EXTRAPOLATED, Basis.DRAFT_TIME) if one in basis]
    if Basis.MEASURED in basis:
        symbols.append(({**hollow, "markerfacecolor": GREY}, "step time measured at this K"))
    if between:
        symbols.append((hollow, f"step time not measured: {', '.join(between)}"))
    if basis & BOUNDS:
        symbols.append(({**hollow, "marker": "v"}, "only a bound is known, in the direction of the mark"))
    if any(need.reach is Reach.IMPOSSIBLE for cell in cells for need in cell.needs):
        symbols.append(({**_NEVER, "clip_on": True}, "impossible: not even if every token is accepted"))
    return symbols
