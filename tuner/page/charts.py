"""From values to coordinates: axes with round ticks, points with intervals. Pure; 360 x 250 units, so that text stays
readable on a phone, where such a drawing is as wide as the screen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tuner.page.view import Mark, Series, Tick

WIDTH, HEIGHT = 360, 250
LEFT, RIGHT, TOP, BOTTOM = 48, 12, 26, 44
STYLES = 7
"""Colours, dashes and shapes; more lines than that repeat them."""
DODGE = 5.0
"""Units between lines at one x, so that their intervals do not hide one another."""
SHOWN_INTERVAL = 0.6
"""Intervals may widen the y axis by this share of the points' range; arrows show what is cut."""
BESIDE = 7.0
"""Units to the right of its line's point at the same x, for a point of its own."""
LEAST_RANGE = 0.1
"""The y axis covers at least this share of its largest value: noise shall not look like an effect."""
TICKS = 5
APART = 18.0
"""Units that a tick along x needs for its words."""
_DIAMOND = 3
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True)
class Point:
    """One value.  interval: None where there is none."""

    x: float
    y: float
    interval: tuple[float, float] | None
    tip: str
    rings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Line:
    """One line of a chart.

    segments: points that are joined; between two segments there is a gap.  beside: points of their own, drawn a little
    to the right.
    """

    legend: str
    segments: Sequence[Sequence[Point]]
    beside: Sequence[Point] = ()


@dataclass(frozen=True)
class Axes:
    """The part of the plane that is shown."""

    left: float
    right: float
    bottom: float
    top: float

    def x(self, value: float) -> float:
        """Return the drawing's x."""
        share = (value - self.left) / (self.right - self.left)
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)

    def y(self, value: float) -> float:
        """Return the drawing's y, which grows downwards."""
        share = (value - self.bottom) / (self.top - self.bottom)
        return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)

    def mark(self, point: Point, style: int, dodge: float = 0.0) -> Mark:
        """Return a point with its interval as far as that is shown."""
        x, y = round(self.x(point.x) + dodge, 1), self.y(point.y)
        low, high = point.interval or (None, None)
        return Mark(
            x=x,
            y=y,
            shape=shape(x, y, _DIAMOND, 5.5) if "fresh" in point.rings else shape(x, y, style, 4.5),
            tip=point.tip,
            low=None if low is None else self.y(max(low, self.bottom)),
            high=None if high is None else self.y(min(high, self.top)),
            low_cut=low is not None and low < self.bottom,
            high_cut=high is not None and high > self.top,
            rings=point.rings,
        )


def drawn(
    lines: Sequence[Line], level: float | None = None, reach: tuple[float, float] | None = None
) -> tuple[Axes, tuple[Series, ...]]:
    """Return the axes that hold all lines, and the lines on them: a series for each segment.

    level: a value that shall be in sight.  reach: the ends along x, by default those of the points.  A point without an
    interval stays at its own x.
    """
    shown = axes([point for one in lines for part in (*one.segments, one.beside) for point in part], level, reach)
    series = []
    for number, (one, aside) in enumerate(zip(lines, dodges(len(lines)), strict=True)):
        beside = tuple(shown.mark(point, number, aside + BESIDE) for point in one.beside)
        for points in one.segments:
            marks = tuple(shown.mark(point, number, aside if point.interval else 0.0) for point in points)
            series.append(Series(number, line(marks), (*marks, *(beside if points is one.segments[-1] else ()))))
    return shown, tuple(series)


def axes(points: Sequence[Point], level: float | None, reach: tuple[float, float] | None = None) -> Axes:
    """Return axes that hold every point and `level`, and intervals as far as they do not squash the points."""
    values = [*([] if level is None else [level]), *(point.y for point in points)]
    low, high = min(values, default=0.0), max(values, default=1.0)
    room = SHOWN_INTERVAL * max(high - low, 0.1)
    ends = [point.interval for point in points if point.interval is not None]
    lowest, highest = min([low, *(end[0] for end in ends)]), max([high, *(end[1] for end in ends)])
    low, high = max(lowest, low - room), min(highest, high + room)
    margin = max(0.08 * max(high - low, 0.05), (LEAST_RANGE * high - (high - low)) / 2)
    xs = [point.x for point in points]
    left, right = reach or (min(xs, default=0.0), max(xs, default=1.0))
    beside = 0.06 * max(right - left, 1.0)
    return Axes(left - beside, right + beside, max(low - margin, 0.0), high + margin)


def round_ticks(low: float, high: float, suffix: str = "") -> tuple[Tick, ...]:
    """Return values between `low` and `high` at a round distance, without coordinates (`at` is the value)."""
    rough = (high - low) / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(s * power for s in _STEPS if s * power >= rough * 0.999)
    digits = max(0, -math.floor(math.log10(step) + 1e-9) + (1 if f"{step / power:g}" == "2.5" else 0))
    first = math.ceil(low / step - 1e-9)
    count = math.floor(high / step + 1e-9) - first
    return tuple(Tick((first + i) * step, f"{(first + i) * step:.{digits}f}{suffix}") for i in range(count + 1))


def whole_ticks(values: Iterable[int], most: int = 12) -> tuple[Tick, ...]:
    """Return a tick for each whole number, every second or third where they are many."""
    ordered = sorted(set(values))
    every = math.ceil(len(ordered) / most)
    return tuple(Tick(float(value), str(value)) for value in ordered[::every])


def placed(ticks: Sequence[Tick], coordinate: Callable[[float], float]) -> tuple[Tick, ...]:
    """Return the ticks with coordinates for values.  coordinate: `Axes.x` or `Axes.y`."""
    return tuple(Tick(coordinate(tick.at), tick.text) for tick in ticks)


def spaced(ticks: Sequence[Tick]) -> tuple[Tick, ...]:
    """Return the ticks along x whose words do not run into those of the tick before, the last one always."""
    kept: list[Tick] = []
    for tick in ticks:
        if not kept or tick.at - kept[-1].at >= APART:
            kept.append(tick)
        elif tick is ticks[-1]:
            kept[-1] = tick
    return tuple(kept)


def dodges(count: int) -> list[float]:
    """Return the units by which each of `count` lines is moved aside."""
    return [round((i - (count - 1) / 2) * DODGE, 1) for i in range(count)]


def line(marks: Sequence[Mark]) -> str:
    """Return the points of a polyline."""
    return " ".join(f"{mark.x:g},{mark.y:g}" for mark in marks)


def shape(x: float, y: float, style: int, size: float) -> str:
    """Return an SVG path around (x, y): lines differ in shape too, not in colour alone."""
    corners = _SHAPES[style % STYLES]
    if not corners:
        return f"M{x - size:g} {y:g}a{size:g} {size:g} 0 1 0 {2 * size:g} 0a{size:g} {size:g} 0 1 0 {-2 * size:g} 0Z"
    return "M" + "L".join(f"{x + size * dx:.1f} {y + size * dy:.1f}" for dx, dy in corners) + "Z"


_SHAPES: tuple[tuple[tuple[float, float], ...], ...] = (
    (),
    ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    ((0, -1.1), (1.05, 0.8), (-1.05, 0.8)),
    ((0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)),
    ((0, 1.1), (1.05, -0.8), (-1.05, -0.8)),
    ((-0.4, -1.1), (0.4, -1.1), (0.4, 1.1), (-0.4, 1.1)),
    ((-1.1, -0.4), (1.1, -0.4), (1.1, 0.4), (-1.1, 0.4)),
)
