"""Acceptance by draft position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tuner.plots.layout import LINE, TEXT, Head, footer_note, panels, styles_of
from tuner.records import CurvePoint, KCurve, LoadPoint

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NOTE = (
    "A token is accepted only if every token before it in the draft was.\n"
    "Tokens per draft: mean acceptance length, the bonus token included."
)


def plot_acceptance(curves: Sequence[KCurve], *, subtitle: str) -> Figure:
    """Return the share of drafts accepted up to each position, at the largest K measured of each draft."""
    from matplotlib.ticker import MaxNLocator

    styles = styles_of(curves)
    longest_of = [(curve, point) for curve in curves if (point := longest(curve)) is not None]
    heads: dict[LoadPoint, list[Head]] = {}
    for curve, point in longest_of:
        heads.setdefault(curve.load_point, []).append(Head(styles[curve.draft_name], _words(curve, point)))
    figure, axes_of = panels("How far drafts are accepted: acceptance by draft position", subtitle, heads, 2)
    for curve, point in longest_of:
        style = styles[curve.draft_name]
        shares = [(i, f.value) for i, f in enumerate(point.acceptance_by_position, 1) if f.value is not None]
        looks = {"color": style.colour, "marker": style.marker, "ls": style.line, "clip_on": False, **LINE}
        axes_of[curve.load_point].plot(*zip(*shares, strict=True), **looks)
    for axes in axes_of.values():
        axes.set_ylim(0, 1)
        axes.yaxis.set_major_formatter("{x:.0%}")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel("position i in the draft", fontsize=TEXT)
        axes.set_ylabel("drafts accepted up to position i", fontsize=TEXT)
    footer_note(figure, _NOTE)
    return figure


def _words(curve: KCurve, point: CurvePoint) -> str:
    drafts = point.acceptance_by_position[0].n
    return f"{curve.draft_name} at K = {point.k}: {_mean_length(point)}, {drafts:,} drafts"


def longest(curve: KCurve) -> CurvePoint | None:
    """Return the point with the largest K that proposed any draft."""
    return next((p for p in reversed(curve.points) if any(f.value is not None for f in p.acceptance_by_position)), None)


def _mean_length(point: CurvePoint) -> str:
    value = point.acceptance_length.value
    return "no drafts" if value is None else f"{value:.2f} tokens per draft"
