"""What all pictures share: looks, panels, and the text around them.

Colours are Okabe and Ito's (distinguishable with colour-blindness); each draft has its own marker and line style too.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tuner.records import KCurve, LoadPoint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "P", "X", "v")
LINES = ("-", "--", "-.", (0, (1, 1.2)), "-", "--", "-.")
GREY = "#555555"
DODGE = 0.10  # distance in K between drafts, so that their intervals do not hide one another
# Inches. The layout is computed, so that the text above the panels can never squash them.
CELL_WIDTH, PANEL_HEIGHT, LINE_HEIGHT = 6.6, 3.7, 0.25
HEADER, FOOTER, X_LABEL, Y_LABEL, EDGE = 0.95, 0.95, 0.75, 0.95, 0.2
TEXT = 12  # points
LINE: Any = {"linewidth": 2.2, "markersize": 8, "markeredgecolor": "white", "markeredgewidth": 0.8, "zorder": 4}


@dataclass(frozen=True)
class Style:
    """One draft's looks, the same in every panel."""

    colour: str
    marker: str
    line: Any
    shift: float


def styles_of(curves: Sequence[KCurve]) -> dict[str, Style]:
    """Return the looks of each draft by name."""
    names = list(dict.fromkeys(curve.draft_name for curve in curves))
    middle = (len(names) - 1) / 2
    return {
        name: Style(COLOURS[i % 7], MARKERS[i % 7], LINES[i % 7], (i - middle) * DODGE) for i, name in enumerate(names)
    }


def panels(curves: Sequence[KCurve], title: str, subtitle: str) -> tuple[Figure, dict[LoadPoint, Axes]]:
    """Return a figure with an empty panel for each load point, each with room above it for a line for each draft."""
    from matplotlib.figure import Figure

    loads = list(dict.fromkeys(curve.load_point for curve in curves))
    columns = min(len(loads), 3 if len(loads) > 4 else 2)
    rows = math.ceil(len(loads) / columns)
    cell_height = PANEL_HEIGHT + 0.45 + LINE_HEIGHT * len({curve.draft_name for curve in curves}) + X_LABEL
    width, height = max(CELL_WIDTH * columns, 9.5), HEADER + rows * cell_height + FOOTER
    figure = Figure(figsize=(width, height))
    figure.text(EDGE / width, 1 - EDGE / height, title, fontsize=17, fontweight="bold", va="top")
    lines = "\n".join(textwrap.wrap(subtitle, int(width * 11.5))[:2])
    figure.text(EDGE / width, 1 - 0.52 / height, lines, fontsize=TEXT, color=GREY, va="top")
    axes_of = {}
    for i, load in enumerate(loads):
        left = (i % columns) * width / columns + Y_LABEL
        bottom = height - HEADER - (i // columns + 1) * cell_height + X_LABEL
        box = (left / width, bottom / height, (width / columns - Y_LABEL - EDGE) / width, PANEL_HEIGHT / height)
        axes_of[load] = _bare_axes(figure, box)
    return figure, axes_of


def _bare_axes(figure: Figure, box: tuple[float, float, float, float]) -> Axes:
    axes = figure.add_axes(box)
    axes.grid(axis="y", color="#DDDDDD", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=TEXT)
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def panel_legend(axes: Axes, load: LoadPoint, lines: Sequence[tuple[Style, str]]) -> None:
    """Put the load point's name and a line for each draft above the panel, where they hide no curve."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=s.colour, marker=s.marker, ls=s.line, label=text, **LINE) for s, text in lines]
    axes.legend(
        handles=handles,
        title=load.label,
        title_fontproperties={"weight": "bold", "size": TEXT + 1},
        alignment="left",
        loc="lower left",
        bbox_to_anchor=(-0.02, 1.0),
        frameon=False,
        fontsize=TEXT,
        handlelength=3.0,
        borderaxespad=0.2,
    )


def footer_note(figure: Figure, text: str) -> None:
    """Write a line at the bottom."""
    figure.text(EDGE / figure.get_figwidth(), EDGE / figure.get_figheight(), text, fontsize=TEXT, color=GREY)


def footer_legend(figure: Figure, symbols: Sequence[tuple[dict[str, Any], str]]) -> None:
    """Explain at the bottom the marks that all drafts share.  symbols: Line2D looks and what they mean."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], **{"color": GREY, **looks}, label=text) for looks, text in symbols]
    figure.legend(
        handles=handles, loc="lower left", ncols=2, fontsize=TEXT, frameon=False, handlelength=2.6, columnspacing=3.0
    )
