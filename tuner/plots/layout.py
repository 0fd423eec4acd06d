"""What all pictures share: looks, panels, and the text around them.

Colours are Okabe and Ito's (distinguishable with colour-blindness); each draft has its own marker and line style too.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from tuner.records import KCurve

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "P", "X", "v")
LINES = ("-", "--", "-.", (0, (1, 1.2)), "-", "--", "-.")
GREY = "#555555"
DODGE = 0.10  # distance in K between drafts, so that their intervals do not hide one another
# Inches. The layout is computed, so that the text above the panels can never squash them.
CELL_WIDTH, PANEL_HEIGHT, LINE_HEIGHT = 6.6, 3.7, 0.25
HEADER, X_LABEL, Y_LABEL, EDGE = 0.95, 0.75, 0.95, 0.2
LINE_CHARS, TITLE_CHARS = 56, 50  # what fits above a panel
TEXT = 12  # points
LINE: Any = {"linewidth": 2.2, "markersize": 8, "markeredgecolor": "white", "markeredgewidth": 0.8, "zorder": 4}


@dataclass(frozen=True)
class Style:
    """One draft's looks, the same in every panel."""

    colour: str
    marker: str
    line: Any
    shift: float


@dataclass(frozen=True)
class Head:
    """What is said about one draft above a panel."""

    style: Style
    text: str


def styles_of(curves: Sequence[KCurve]) -> dict[str, Style]:
    """Return the looks of each draft by name."""
    names = list(dict.fromkeys(curve.draft_name for curve in curves))
    middle = (len(names) - 1) / 2
    return {
        name: Style(COLOURS[i % 7], MARKERS[i % 7], LINES[i % 7], (i - middle) * DODGE) for i, name in enumerate(names)
    }


class Labelled(Protocol):
    """What a panel is of: a load point, or anything else that has a label and can be looked up by it."""

    @property
    def label(self) -> str:
        """Words for a person."""

    def __hash__(self) -> int: ...


Panel = TypeVar("Panel", bound=Labelled)


def panels(
    title: str, subtitle: str, heads: Mapping[Panel, Sequence[Head]], footer_rows: int
) -> tuple[Figure, dict[Panel, Axes]]:
    """Return a figure with a panel for each load point (or other key), its name and one line for each head above it.

    footer_rows: lines of text to leave room for at the bottom.
    """
    from matplotlib.figure import Figure

    wrapped = {
        load: [Head(h.style, textwrap.fill(h.text, LINE_CHARS, break_on_hyphens=False)) for h in head]
        for load, head in heads.items()
    }
    titles = {load: textwrap.fill(load.label, TITLE_CHARS, break_on_hyphens=False) for load in heads}
    text_rows = max(_rows([titles[load], *(h.text for h in head)]) for load, head in wrapped.items())
    columns = min(len(heads), 3 if len(heads) > 4 else 2)
    cell = CELL_WIDTH, 0.2 + LINE_HEIGHT * text_rows + PANEL_HEIGHT + X_LABEL
    footer = 2 * EDGE + 1.15 * LINE_HEIGHT * footer_rows
    width, height = max(cell[0] * columns, 9.5), HEADER + math.ceil(len(heads) / columns) * cell[1] + footer
    figure = Figure(figsize=(width, height))
    figure.text(EDGE / width, 1 - EDGE / height, title, fontsize=17, fontweight="bold", va="top")
    lines = "\n".join(textwrap.wrap(subtitle, int(width * 11.5))[:2])
    figure.text(EDGE / width, 1 - 0.52 / height, lines, fontsize=TEXT, color=GREY, va="top")
    axes_of = {}
    for i, load in enumerate(heads):
        left = (i % columns) * width / columns + Y_LABEL
        bottom = height - HEADER - (i // columns + 1) * cell[1] + X_LABEL
        box = (left / width, bottom / height, (width / columns - Y_LABEL - EDGE) / width, PANEL_HEIGHT / height)
        axes_of[load] = _bare_axes(figure, box)
        _head(axes_of[load], titles[load], wrapped[load])
    return figure, axes_of


def _rows(texts: Sequence[str]) -> int:
    return sum(text.count("\n") + 1 for text in texts)


def _bare_axes(figure: Figure, box: tuple[float, float, float, float]) -> Axes:
    axes = figure.add_axes(box)
    axes.grid(axis="y", color="#DDDDDD", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=TEXT)
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def _head(axes: Axes, title: str, lines: Sequence[Head]) -> None:
    """Put the load point's name and the drafts' lines above the panel, where they hide no curve."""
    from matplotlib.lines import Line2D

    looks = [(head.style, head.text) for head in lines]
    handles = [Line2D([], [], color=s.colour, marker=s.marker, ls=s.line, label=text, **LINE) for s, text in looks]
    axes.legend(
        handles=handles,
        title=title,
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
    """Write lines at the bottom."""
    left, bottom = EDGE / figure.get_figwidth(), EDGE / figure.get_figheight()
    figure.text(left, bottom, text, fontsize=TEXT, color=GREY, va="bottom", linespacing=1.4)


def footer_columns(panel_count: int) -> int:
    """Return in how many columns the explanations at the bottom go."""
    return 1 if panel_count == 1 else 2


def footer_legend(figure: Figure, symbols: Sequence[tuple[dict[str, Any], str]], columns: int) -> None:
    """Explain at the bottom the marks that all drafts share.  symbols: Line2D looks and what they mean."""
    from matplotlib.lines import Line2D

    footer(figure, [Line2D([], [], **{"color": GREY, **looks}, label=text) for looks, text in symbols], columns)


def footer(figure: Figure, handles: Sequence[Artist], columns: int) -> None:
    """Explain marks at the bottom.  handles: what is explained, each with its label."""
    figure.legend(
        handles=list(handles),
        loc="lower left",
        ncols=columns,
        fontsize=TEXT,
        frameon=False,
        handlelength=2.6,
        columnspacing=3.0,
        labelspacing=0.7,
    )
