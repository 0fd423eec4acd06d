"""Speedup against K."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tuner.plots.layout import GREY, LINE, TEXT, Head, Style, footer_columns, footer_legend, panels, styles_of
from tuner.records import CurvePoint, Inflection, KCurve, LoadPoint, TrialFigures
from tuner.records import Figure as Estimated

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHOWN_INTERVAL = 0.6  # intervals may widen the y axis by this share of the points' range; arrows show what is cut
_BEST: Any = {"marker": "o", "markersize": 19, "markerfacecolor": "none", "markeredgewidth": 2.2, "zorder": 6}
_BEND: Any = {"marker": "v", "markersize": 12, "markeredgecolor": "black", "markeredgewidth": 1.0, "zorder": 7}
_FRESH: Any = {"marker": "D", "markersize": 10, "markeredgecolor": "black", "markeredgewidth": 1.4, "zorder": 9}
_FRESH_AT = 0.14  # to the right of the same K's single life
_FAILED: Any = {"marker": "x", "markersize": 12, "markeredgewidth": 3.0, "ls": "none", "clip_on": False, "zorder": 8}


def plot_speedup(curves: Sequence[KCurve], *, subtitle: str, finals: Sequence[TrialFigures] = ()) -> Figure:
    """Return speedup over no speculation against K: a panel for each load point, a line for each draft.

    finals: figures over fresh lives, drawn beside the points of their K.
    subtitle: what was measured on what (target, engine, device), shown under the title.
    """
    fresh = {id(curve): _fresh(curve, finals) for curve in curves}
    lives = [trial.lives for of_curve in fresh.values() for trial, _ in of_curve]
    styles, symbols = styles_of(curves), _speedup_symbols(curves, lives)
    heads: dict[LoadPoint, list[Head]] = {}
    for curve in curves:
        heads.setdefault(curve.load_point, []).append(Head(styles[curve.draft_name], _speedup_words(curve)))
    columns = footer_columns(len(heads))
    title = "Speedup of speculative decoding by number of draft tokens K"
    figure, axes_of = panels(title, subtitle, heads, math.ceil(len(symbols) / columns))
    bottom, top = _speedup_limits(curves, [figure for of_curve in fresh.values() for _, figure in of_curve])
    for load, axes in axes_of.items():
        of_load = [curve for curve in curves if curve.load_point == load]
        axes.set_ylim(bottom, top)
        axes.axhline(1.0, color=GREY, linewidth=1.6, linestyle=(0, (6, 3)), zorder=1)
        for curve in of_load:
            _draw_speedup(axes, curve, styles[curve.draft_name])
            for trial, speedup in fresh[id(curve)]:
                _draw_fresh(axes, trial.candidate.k, speedup, styles[curve.draft_name])
        axes.set_xticks(sorted({point.k for curve in curves for point in curve.points}))
        axes.set_xlabel("K = draft tokens proposed per step (0: no speculation)", fontsize=TEXT)
        axes.set_ylabel(f"{of_load[0].metric.words} speedup over no speculation (x)", fontsize=TEXT)
    footer_legend(figure, symbols, columns)
    return figure


def _fresh(curve: KCurve, finals: Sequence[TrialFigures]) -> list[tuple[TrialFigures, Estimated]]:
    """Return the finalists on this curve with their speedup over fresh lives."""
    found = []
    for trial in finals:
        candidate, spec = trial.candidate, trial.candidate.speculation
        if spec is None or (candidate.draft_name, spec.method, candidate.args_key) != (
            curve.draft_name,
            curve.method,
            curve.args_key,
        ):
            continue
        at = [
            load.figures.get(trial.metric.speedup)
            for load in trial.loads
            if load.load_point.key == curve.load_point.key
        ]
        found += [(trial, speedup) for speedup in at if speedup is not None and speedup.value is not None]
    return found


def _measured(curve: KCurve) -> list[tuple[CurvePoint, float]]:
    return [(point, point.speedup.value) for point in curve.points if point.speedup.value is not None]


def _speedup_limits(curves: Sequence[KCurve], fresh: Sequence[Estimated]) -> tuple[float, float]:
    """Return y limits that hold every point, 1.0, and intervals as far as they do not squash the curves."""
    points = [(point.speedup, value) for curve in curves for point, value in _measured(curve)]
    points += [(speedup, speedup.value) for speedup in fresh if speedup.value is not None]
    low, high = min([1.0, *(v for _, v in points)]), max([1.0, *(v for _, v in points)])
    room = SHOWN_INTERVAL * max(high - low, 0.1)
    lowest = min([low, *(f.low for f, _ in points if f.low is not None)])
    highest = max([high, *(f.high for f, _ in points if f.high is not None)])
    low, high = max(lowest, low - room), min(highest, high + room)
    margin = 0.1 * max(high - low, 0.05)
    return max(low - margin, 0.0), high + margin


def _draw_speedup(axes: Axes, curve: KCurve, style: Style) -> None:
    points = _measured(curve) if any(point.k for point, _ in _measured(curve)) else []
    xs = [point.k + style.shift if point.k else 0.0 for point, _ in points]
    ys = [value for _, value in points]
    place = {point.k: (x, y) for (point, _), x, y in zip(points, xs, ys, strict=True)}
    open_range = _open_range(curve.inflection.candidates, place)
    if len(open_range) > 1:
        axes.plot(
            *zip(*open_range, strict=True), color=style.colour, lw=13, alpha=0.2, solid_capstyle="round", zorder=2
        )
    axes.plot(xs, ys, color=style.colour, marker=style.marker, ls=style.line, **LINE)
    for (point, _), x in zip(points, xs, strict=True):
        if point.k:
            _draw_interval(axes, x, point.speedup, style)
    if curve.best_k:
        axes.plot(*place[curve.best_k], **_BEST, color=style.colour)
    if curve.inflection.k is not None:
        _draw_inflection(axes, curve, curve.inflection.k + style.shift, style)
    failed = [point.k + style.shift for point in curve.points if point.speedup.value is None]
    axes.plot(failed, [axes.get_ylim()[0]] * len(failed), color=style.colour, **_FAILED)


def _draw_fresh(axes: Axes, k: int, speedup: Estimated, style: Style) -> None:
    x = k + style.shift + _FRESH_AT
    axes.plot([x], [speedup.value or math.nan], color=style.colour, **_FRESH)
    _draw_interval(axes, x, speedup, style, width=3.2)


def _draw_interval(axes: Axes, x: float, speedup: Estimated, style: Style, width: float = 1.6) -> None:
    low, high = speedup.low, speedup.high
    if low is None or high is None:
        return
    bottom, top = axes.get_ylim()
    shown = (max(low, bottom), min(high, top))
    axes.plot([x, x], shown, color=style.colour, linewidth=width, alpha=0.85, zorder=3)
    for end, cut, arrow in ((shown[0], low < bottom, "v"), (shown[1], high > top, "^")):
        axes.plot(x, end, color=style.colour, marker=arrow if cut else "_", markersize=7, clip_on=False, zorder=3)


def _draw_inflection(axes: Axes, curve: KCurve, x: float, style: Style) -> None:
    """Draw the triangle just above the interval of the inflection point."""
    from matplotlib.transforms import offset_copy

    point = next(p for p in curve.points if p.k == curve.inflection.k)
    bottom, top = axes.get_ylim()
    highest = top - 0.1 * (top - bottom)  # above that it would stand on the legend
    end = min(point.speedup.high or point.speedup.value or 1.0, highest)
    above = offset_copy(axes.transData, axes.get_figure(root=True), y=11, units="points")
    axes.plot(x, end, color=style.colour, transform=above, clip_on=False, **_BEND)


def _open_range(candidates: Sequence[int], place: Mapping[int, tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the part of the line that holds the candidates; one that was not measured lies between its neighbours."""
    if not candidates or not place:
        return []
    ends = {min(max(k, min(place)), max(place)) for k in (min(candidates), max(candidates))}
    inside = {k for k in place if min(candidates) <= k <= max(candidates)}
    return [_between(k, place) for k in sorted(ends | inside)]


def _between(k: int, place: Mapping[int, tuple[float, float]]) -> tuple[float, float]:
    """Return the point of the line at K."""
    before, after = max(m for m in place if m <= k), min(m for m in place if m >= k)
    share = (k - before) / (after - before) if after > before else 0.0
    (x0, y0), (x1, y1) = place[before], place[after]
    return x0 + share * (x1 - x0), y0 + share * (y1 - y0)


def _speedup_words(curve: KCurve) -> str:
    """Return the draft's line above the panel: its best K there and its inflection."""
    measured = {point.k: value for point, value in _measured(curve)}
    if not any(measured):
        return f"{curve.draft_name}: every K failed"
    best = f"best K = {curve.best_k} ({measured[curve.best_k]:.2f}x)" if curve.best_k else "no K clearly faster"
    return f"{curve.draft_name}: {best}, {_inflection_words(curve.inflection, max(measured))}"


def _inflection_words(inflection: Inflection, last: int) -> str:
    ks = inflection.candidates
    left_open = f"{min(ks)}-{max(ks)}" if len(ks) > 1 else ""
    if inflection.k is not None:
        return f"inflection {inflection.k}" + (f" ({left_open}\u00a0open)" if left_open else "")
    return f"inflection open: {left_open}" if left_open else f"no inflection up to {last}"


def _speedup_symbols(curves: Sequence[KCurve], lives: Sequence[int]) -> list[tuple[dict[str, Any], str]]:
    threshold = next((curve.inflection.threshold for curve in curves), 0.01)
    symbols: list[tuple[dict[str, Any], str]] = [
        (
            {"marker": "|", "markersize": 15, "markeredgewidth": 1.8, "ls": "none"},
            f"95 % interval within one engine life, {_prompts(curves)} (arrow: goes on)",
        ),
        ({"ls": (0, (6, 3)), "linewidth": 1.6}, "no speculation (1.0)"),
        ({**_BEST, "ls": "none"}, "best K: fastest, or the smallest that noise cannot tell from it"),
        ({**_BEND, "ls": "none"}, f"inflection: the next token gains less than {threshold * 100:g} %"),
        ({"lw": 11, "alpha": 0.3}, "inflection may lie anywhere here"),
    ]
    if lives:
        symbols.insert(0, ({**_FRESH, "ls": "none"}, _fresh_words(min(lives), max(lives))))
    if any(point.speedup.value is None for curve in curves for point in curve.points):
        symbols.append(({**_FAILED, "clip_on": True}, "this K failed"))
    return symbols


def _fresh_words(fewest: int, most: int) -> str:
    if most == 1:
        return "one fresh engine life: too few for an interval"
    count = f"{fewest}" if fewest == most else f"{fewest}-{most}"
    return f"over {count} fresh engine lives, 95 % interval: the answer's figure"


def _prompts(curves: Sequence[KCurve]) -> str:
    """Return what the intervals are over: "24 prompts", or "12-24 prompts" where panels differ."""
    counts = [point.speedup.n for curve in curves for point, _ in _measured(curve) if point.k]
    if not counts:
        return "no prompts"
    low, high = min(counts), max(counts)
    what = next((point.speedup.n_of for curve in curves for point, _ in _measured(curve) if point.k), "prompts")
    return f"{low} {what}" if low == high else f"{low}-{high} {what}"
