"""Acceptance by draft position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tuner.plots.layout import LINE, TEXT, footer_note, panel_legend, panels, styles_of
from tuner.records import CurvePoint, KCurve

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_acceptance(curves: Sequence[KCurve], *, subtitle: str) -> Figure:
    """Return the share of drafts accepted up to each position, at the largest K measured of each draft."""
    from matplotlib.ticker import MaxNLocator

    styles = styles_of(curves)
    figure, axes_of = panels(curves, "How far drafts are accepted: acceptance by draft position", subtitle)
    for load, axes in axes_of.items():
        lines = []
        for curve in (curve for curve in curves if curve.load_point == load):
            point = longest(curve)
            style = styles[curve.draft_name]
            if point is None:
                continue
            shares = [(i, f.value) for i, f in enumerate(point.acceptance_by_position, 1) if f.value is not None]
            axes.plot(
                *zip(*shares, strict=True),
                color=style.colour,
                marker=style.marker,
                ls=style.line,
                clip_on=False,
                **LINE,
            )
            drafts = point.acceptance_by_position[0].n
            lines.append((style, f"{curve.draft_name} at K = {point.k}: {_mean_length(point)}, {drafts:,} drafts"))
        axes.set_ylim(0, 1)
        axes.yaxis.set_major_formatter("{x:.0%}")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel("position i in the draft", fontsize=TEXT)
        axes.set_ylabel("drafts accepted up to position i", fontsize=TEXT)
        panel_legend(axes, load, lines)
    footer_note(figure, "A token is accepted only if every token before it in the draft was.")
    return figure


def longest(curve: KCurve) -> CurvePoint | None:
    """Return the point with the largest K that proposed any draft."""
    return next((p for p in reversed(curve.points) if any(f.value is not None for f in p.acceptance_by_position)), None)


def _mean_length(point: CurvePoint) -> str:
    value = point.acceptance_length.value
    return "no drafts" if value is None else f"{value:.2f} tokens per draft"
