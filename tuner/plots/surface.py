"""K x concurrency as a map of speedups."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tuner.plots.layout import EDGE, GREY, LINE_HEIGHT, TEXT, footer, footer_columns, panels
from tuner.records import Border, Cell, DraftSurface, Metric, Surface, border

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Colour = tuple[float, float, float, float]
Segment = tuple[tuple[float, float], tuple[float, float], Border]

MOST_ROWS = 16
"""With more K than this, those that were not tried get no row."""
COLOURS = "cividis"  # from dark to bright in grey too, and the same to the colour-blind
LEAST_RANGE = 1.25  # times faster and slower than none: a map of noise shall not look like one of effects
SMALLEST = 5.5  # points: where an interval would have to be smaller, it is left out
WIDE = 1.45  # a text of n characters of one point is narrower than n / WIDE points
MARGIN = 2.2  # points between a cell's edge and the middle of its frame
MIDDLE = 0.179  # relative luminance at which black and white text have the same contrast
SCALE = (0.35, 3.6, 0.18)  # inches: left, width and height of the colour scale
SCALE_ROWS, SCALE_STEPS = 2, 90
FAILED_COLOUR = "#E4E4E4"
FRAME: Any = {"facecolor": "none", "edgecolor": "black", "linewidth": 2.6, "joinstyle": "round", "zorder": 7}
EDGE_LINE: Any = {"color": "#D55E00", "linewidth": 4.5, "solid_capstyle": "butt", "zorder": 6}
OPEN_LINE: Any = EDGE_LINE | {"linewidth": 3.0, "linestyle": (0, (1.6, 1.4))}
EDGE_HALO: Any = {"color": "white", "linewidth": 9.0, "solid_capstyle": "butt", "zorder": 5}


@dataclass(frozen=True, eq=False)
class Map:
    """One panel: a draft, with the K (0 first) and concurrencies that are shown."""

    draft: DraftSurface
    rows: tuple[int, ...]
    columns: tuple[int, ...]

    @property
    def label(self) -> str:
        """The draft's name."""
        return self.draft.draft_name

    def at(self, k: int, concurrency: int) -> Cell | None:
        """Return the cell there, None where nothing was tried."""
        return next((c for c in self.draft.cells if (c.k, c.concurrency) == (k, concurrency)), None)

    def placed(self, row: int, column: int) -> Cell | None:
        """Return the cell at that place, None beyond the map and where nothing was tried."""
        inside = row < len(self.rows) and column < len(self.columns)
        return self.at(self.rows[row], self.columns[column]) if inside else None


def plot_surface(
    surface: Surface,
    drafts: Sequence[DraftSurface],
    *,
    subtitle: str,
    shares: Mapping[int, float] | None = None,
    metric: Metric = Metric.TPOT,
) -> Figure:
    """Return a map of the speedup by K and concurrency for each of `drafts`.

    shares: of the traffic by concurrency, written below the columns.  metric: that of the speedup.
    """
    maps = [_map(draft, surface.concurrencies) for draft in drafts]
    symbols, columns = _symbols(maps), footer_columns(len(maps))
    title = f"Speedup of speculative decoding ({metric.words}) by K and concurrency"
    rows = math.ceil(len(symbols) / columns)
    figure, axes_of = panels(title, subtitle, dict.fromkeys(maps, ()), rows + SCALE_ROWS)
    most = _most([c.speedup.value for d in drafts for c in d.cells if c.speedup.value is not None])
    colour_of = _colours(most)
    for shown, axes in axes_of.items():
        _frame(axes, shown, shares)
        for row, k in enumerate(shown.rows):
            for column, concurrency in enumerate(shown.columns):
                _draw_cell(axes, (column, row), shown.at(k, concurrency), colour_of)
        for (x0, y0), (x1, y1), told in boundary(shown):
            axes.plot([x0, x1], [y0, y1], **EDGE_HALO)
            axes.plot([x0, x1], [y0, y1], **(EDGE_LINE if told is Border.PROVEN else OPEN_LINE))
        for column, concurrency in enumerate(shown.columns):
            best = shown.draft.best.get(concurrency)
            if best is not None:
                _draw_frame(axes, column, shown.rows.index(best.best.k))
    footer(figure, symbols, columns)
    _draw_scale(figure, colour_of, most, EDGE + 1.15 * LINE_HEIGHT * rows)
    return figure


def _map(draft: DraftSurface, concurrencies: tuple[int, ...]) -> Map:
    tried = {cell.k for cell in draft.cells}
    shown = draft.ks if len(draft.ks) <= MOST_ROWS else sorted(tried)
    return Map(draft, (0, *shown), concurrencies)


def _most(values: Sequence[float]) -> float:
    """Return the logarithm of the largest speedup, or of the largest slowdown, that has a colour."""
    return max([math.log(LEAST_RANGE), *(abs(math.log(value)) for value in values)])


def _colours(most: float) -> Callable[[float], Colour]:
    """Return the colour of a speedup; equal ratios are equally far apart, no speculation is in the middle."""
    from matplotlib import colormaps

    def colour(value: float) -> Colour:
        red, green, blue, alpha = colormaps[COLOURS](0.5 + 0.5 * math.log(value) / most)
        return float(red), float(green), float(blue), float(alpha)

    return colour


def _draw_scale(figure: Figure, colour_of: Callable[[float], Colour], most: float, bottom: float) -> None:
    """Draw which colour is which speedup.  bottom: inches from the figure's edge to the words below the scale."""
    from matplotlib.patches import Rectangle

    (left, width, height), words = SCALE, 1.1 * LINE_HEIGHT
    for i in range(SCALE_STEPS):
        value = math.exp(most * (2 * (i + 0.5) / SCALE_STEPS - 1))
        place, rest = (left + width * i / SCALE_STEPS, bottom + words), width * (1 - i / SCALE_STEPS)
        looks: dict[str, Any] = {"facecolor": colour_of(value), "transform": figure.dpi_scale_trans}
        figure.add_artist(Rectangle(place, rest, height, edgecolor="none", **looks))
    inches: Any = {"transform": figure.dpi_scale_trans, "fontsize": TEXT, "color": GREY, "va": "bottom"}
    ends = f"{math.exp(-most):.2f}x", "1.00x, as without", f"{math.exp(most):.2f}x"
    for share, text, side in zip((0.0, 0.5, 1.0), ends, ("left", "center", "right"), strict=True):
        figure.text(left + share * width, bottom, text, ha=side, **inches)


def boundary(shown: Map) -> Iterator[Segment]:
    """Yield the edges between neighbouring cells of which one is faster than no speculation and the other is not."""
    for row in range(1, len(shown.rows)):
        for column in range(len(shown.columns)):
            here = shown.placed(row, column)
            if (right := border(here, shown.placed(row, column + 1))) is not None:
                yield (column + 0.5, row - 0.5), (column + 0.5, row + 0.5), right
            if (above := border(here, shown.placed(row + 1, column))) is not None:
                yield (column - 0.5, row + 0.5), (column + 0.5, row + 0.5), above


def _frame(axes: Axes, shown: Map, shares: Mapping[int, float] | None) -> None:
    axes.grid(visible=False)
    axes.set_xlim(-0.5, len(shown.columns) - 0.5)
    axes.set_ylim(-0.5, len(shown.rows) - 0.5)
    axes.tick_params(length=0)
    axes.spines[["left", "bottom"]].set_visible(False)
    ticks = [f"{c}" + (f"\n({shares.get(c, 0.0):.0%})" if shares else "") for c in shown.columns]
    axes.set_xticks(range(len(shown.columns)), ticks)
    axes.set_yticks(range(len(shown.rows)), [str(k) for k in shown.rows])
    axes.set_xlabel("concurrency" + (" (share of the traffic's busy time)" if shares else ""), fontsize=TEXT)
    axes.set_ylabel("K = draft tokens per step", fontsize=TEXT)


def _draw_cell(axes: Axes, place: tuple[int, int], cell: Cell | None, colour_of: Callable[[float], Colour]) -> None:
    """Draw a cell; the lowest row is no speculation, which is 1 by definition."""
    from matplotlib.patches import Rectangle

    looks: dict[str, Any] = {"facecolor": "white", "edgecolor": "white", "linewidth": 2.0, "zorder": 1}
    value = 1.0 if place[1] == 0 else cell.speedup.value if cell else None
    if value is not None:
        looks["facecolor"] = colour_of(value)
    elif cell is not None:
        looks["facecolor"] = FAILED_COLOUR
    else:
        looks |= {"edgecolor": "#BBBBBB", "hatch": "///", "linewidth": 0.0}
    axes.add_patch(Rectangle((place[0] - 0.5, place[1] - 0.5), 1, 1, **looks))
    if value is None and cell is None:
        return
    ink = "white" if value is not None and _luminance(colour_of(value)) < MIDDLE else "black"
    for text, above, size in _lines(_words(cell, value), *_cell_size(axes)):
        at: Any = {"xytext": (0, above), "textcoords": "offset points", "ha": "center", "va": "center"}
        axes.annotate(text, place, fontsize=size, color=ink, **at)


def _lines(words: tuple[str, str], width: float, height: float) -> Iterator[tuple[str, float, float]]:
    """Yield what fits into a cell of that size: text, how far above the middle, and its size; all in points."""
    first, second = words
    large, small = (WIDE * width / max(len(text), 4) for text in words)
    size, below = min(TEXT, 0.4 * height, large), min(0.7 * TEXT, 0.28 * height, small)
    if below < SMALLEST or not second:
        yield first, 0.0, min(TEXT, 0.5 * height, large)
        return
    yield first, 0.45 * size, size
    yield second, -0.65 * size, below


def _draw_frame(axes: Axes, column: int, row: int) -> None:
    from matplotlib.patches import Rectangle

    width, height = (MARGIN / points for points in _cell_size(axes))
    axes.add_patch(Rectangle((column - 0.5 + width, row - 0.5 + height), 1 - 2 * width, 1 - 2 * height, **FRAME))


def _cell_size(axes: Axes) -> tuple[float, float]:
    """Return width and height of a cell in points."""
    box, figure = axes.get_position(), axes.get_figure(root=True)
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    inches = figure.get_size_inches() if figure else (1.0, 1.0)
    return 72 * box.width * inches[0] / (right - left), 72 * box.height * inches[1] / (top - bottom)


def _words(cell: Cell | None, value: float | None) -> tuple[str, str]:
    """Return what stands in a cell: the speedup, and below it the interval or why it cannot be best."""
    if value is None:
        return "failed", ""
    if cell is None:
        return f"{value:.2f}", ""
    low, high = cell.speedup.low, cell.speedup.high
    interval = "" if low is None or high is None else f"{low:.2f}-{high:.2f}"
    fresh = "\u25c6 " if cell.lives > 1 else ""
    return f"{fresh}{value:.2f}", "may not win" if cell.barred else interval


def _luminance(colour: Colour) -> float:
    """Return the relative luminance as WCAG 2 defines it."""
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3])
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _symbols(maps: Sequence[Map]) -> list[Artist]:
    """Return what the picture has to explain."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    cells = [cell for shown in maps for cell in shown.draft.cells]
    symbols: list[Artist] = [
        Patch(**{**FRAME, "label": "best K: the fastest, or the smallest that noise cannot tell from it"}),
        Patch(facecolor="none", label="small figures: 95 % interval; K = 0 is no speculation"),
    ]
    told = {segment[2] for shown in maps for segment in boundary(shown)}
    if Border.PROVEN in told:
        symbols.append(Line2D([], [], **EDGE_LINE, label="crossover: faster on one side, slower on the other"))
    if Border.OPEN in told:
        symbols.append(Line2D([], [], **OPEN_LINE, label="not proven: a crossover by the values, not by the intervals"))
    if any(cell.lives > 1 for cell in cells):
        words = "over fresh engine lives; the others: one life of each"
        symbols.append(Line2D([], [], marker="D", ls="none", color="black", markersize=7, label=words))
    if any(shown.at(k, c) is None for shown in maps for k in shown.rows[1:] for c in shown.columns):
        symbols.append(Patch(facecolor="white", edgecolor="#999999", hatch="////", linewidth=0.5, label="not measured"))
    if any(cell.speedup.value is None for cell in cells):
        symbols.append(Patch(facecolor=FAILED_COLOUR, label="this K failed"))
    return symbols
