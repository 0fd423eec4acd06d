"""What stands on the page, before any HTML: sections of blocks, words already chosen, coordinates already computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias


@dataclass(frozen=True)
class Strip:
    """A spread drawn on one line, in percent of its width: whisker, box, middle."""

    low: float
    quarter: float
    middle: float
    three_quarters: float
    high: float


@dataclass(frozen=True)
class Part:
    """A part of a bar, in percent of its width.  name: names its colour, and its entry in the legend."""

    name: str
    start: float
    width: float


@dataclass(frozen=True)
class Span:
    """An interval drawn on one line, in percent of its width.

    value: what it is of.  band_low, band_high: between them nothing is called a difference.  tone: "yes", "no" or
    "open", what the interval says.
    """

    low: float
    value: float
    high: float
    band_low: float
    band_high: float
    tone: str


@dataclass(frozen=True)
class Cell:
    """One cell of a table.

    small: said below the text.  tone: -5 (much slower) to 5 (much faster), None without colour.  marks: "best",
    "edge-right", "edge-bottom", "none" (nothing measured here).  strip, bar, span: drawn instead of text; the figures
    stand in cells beside them.
    """

    text: str
    small: str = ""
    number: bool = False
    tone: int | None = None
    marks: tuple[str, ...] = ()
    strip: Strip | None = None
    bar: tuple[Part, ...] = ()
    span: Span | None = None

    @property
    def drawing(self) -> bool:
        """Whether it holds a drawing, which takes the width that is left."""
        return self.strip is not None or bool(self.bar) or self.span is not None


@dataclass(frozen=True)
class Table:
    """A table; the first cell of each row is its head.

    caption: said above it.  load: key of the load point that it is of, "" for all.  legend: names of the parts of its
    bars with their words.  heat: whether its cells are the squares of a map.
    """

    kind: ClassVar[str] = "table"
    caption: str
    head: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]
    load: str = ""
    legend: tuple[tuple[str, str], ...] = ()
    heat: bool = False


@dataclass(frozen=True)
class Tick:
    """A tick of an axis.  at: coordinate in the drawing."""

    at: float
    text: str


@dataclass(frozen=True)
class Mark:
    """One point of a chart, in coordinates of the drawing.

    shape: an SVG path around (x, y).  low, high: ends of its interval.  low_cut, high_cut: whether it goes on beyond.
    tip: what is said on hovering.  rings: "best", "bend", "fresh".
    """

    x: float
    y: float
    shape: str
    tip: str
    low: float | None = None
    high: float | None = None
    low_cut: bool = False
    high_cut: bool = False
    rings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Series:
    """One line of a chart.  style: number of its colour and dashes.  line: "x,y x,y ..."."""

    style: int
    line: str
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class Rule:
    """Something changed at an x.  kind: "release", from top to bottom, or "change" (of the verdict), on the axis."""

    at: float
    text: str
    kind: str


@dataclass(frozen=True)
class Chart:
    """A line chart.

    label: the whole chart in words, for who does not see it.  level: y of the line that divides better from worse.
    rules: lines from top to bottom.  legend: style and words of each line.  figures: the same as a table.
    """

    kind: ClassVar[str] = "chart"
    title: str
    label: str
    x_title: str
    y_title: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    series: tuple[Series, ...]
    legend: tuple[tuple[int, str], ...]
    load: str = ""
    level: float | None = None
    rules: tuple[Rule, ...] = ()
    figures: Table | None = None


@dataclass(frozen=True)
class Charts:
    """Charts side by side, as far as there is room.  keys: what their marks mean, by name."""

    kind: ClassVar[str] = "charts"
    charts: tuple[Chart, ...]
    keys: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Text:
    """A paragraph.  banner: it must not be overlooked."""

    kind: ClassVar[str] = "text"
    text: str
    load: str = ""
    banner: bool = False


@dataclass(frozen=True)
class Points:
    """A list."""

    kind: ClassVar[str] = "points"
    items: tuple[str, ...]


@dataclass(frozen=True)
class Code:
    """Something to copy.  label: what it is."""

    kind: ClassVar[str] = "code"
    label: str
    text: str


@dataclass(frozen=True)
class Cause:
    """A diagnosis."""

    kind: ClassVar[str] = "cause"
    what: str
    sure: str
    name: str
    evidence: tuple[str, ...]
    next_step: str


@dataclass(frozen=True)
class Facts:
    """Names and values."""

    kind: ClassVar[str] = "facts"
    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Markdown:
    """Lines of the Markdown report.  Nothing in them is taken for HTML, a link or an image."""

    kind: ClassVar[str] = "markdown"
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Tile:
    """A figure of the answer."""

    label: str
    value: str
    detail: str = ""


@dataclass(frozen=True)
class Verdict:
    """The answer at one temperature.  tone: "yes", "partly", "no", "open"."""

    kind: ClassVar[str] = "verdict"
    tone: str
    headline: str
    where: str
    why: str
    tiles: tuple[Tile, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Details:
    """Blocks that are folded away until asked for."""

    kind: ClassVar[str] = "details"
    summary: str
    blocks: tuple[Leaf, ...]


Leaf: TypeAlias = Table | Chart | Charts | Text | Points | Code | Cause | Facts | Markdown | Verdict
Block: TypeAlias = Leaf | Details


@dataclass(frozen=True)
class Section:
    """A part of the page with a heading.  name: its anchor."""

    name: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Page:
    """The whole page.  source: what it was written from.  loads: keys and names of the load points to choose from."""

    title: str
    subtitle: str
    source: str
    loads: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...]


def texts(cells: Sequence[str], *, numbers_from: int = 1) -> tuple[Cell, ...]:
    """Return cells of plain text, from that column on set as numbers."""
    return tuple(Cell(text, number=column >= numbers_from) for column, text in enumerate(cells))
