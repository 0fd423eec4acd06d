"""Speedup, acceptance and TPOT over time: a line is broken wherever two points are not the same thing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from tuner.artifact.figures import MeasuredFigure
from tuner.page.charts import WIDTH, Line, Point, drawn, placed, round_ticks
from tuner.page.past.given import Over, Sweep
from tuner.page.view import Block, Chart, Charts, Rule, Table, Text, Tick, texts

MOST_LOADS = 4
"""Load points in a chart; the newest sweep's first ones."""
_DATES_APART = 92.0
"""Units along x that a date needs for its words."""
_Take = Callable[[Sweep], MeasuredFigure | None]


def speedup_blocks(of: Over) -> Iterator[Block]:
    """Yield the speedup that each sweep expects, for each temperature."""
    words = of.words
    yield Text(words("over_about"))
    charts = [_chart(of, t, "over_speedups", "axis_times", {words("over_speedup"): _expected}) for t in of.temperatures]
    keys = ["interval", "level"]
    keys += [kind for kind in ("release", "change") if kind in {rule.kind for c in charts for rule in c.rules}]
    yield Charts(tuple(charts), tuple((name, words(f"key_{name}")) for name in keys))
    if any(answer.measured.engine_lives < 2 for past in of.found.past for answer in past.config.answers):
        yield Text(words("over_one_life"))


def length_blocks(of: Over) -> Iterator[Block]:
    """Yield the acceptance length at each load point, for each temperature at which something was accepted."""
    yield from _by_load(of, "over_lengths", "axis_length", _length)


def tpot_blocks(of: Over) -> Iterator[Block]:
    """Yield TPOT at each load point with what is recommended and without speculation."""
    yield from _by_load(of, "over_tpots", "axis_ms", _tpots)


def _by_load(of: Over, title: str, axis: str, lines: Callable[[Over, str], dict[str, _Take]]) -> Iterator[Block]:
    charts = []
    for temperature in of.temperatures:
        sweeps = of.sweeps(temperature)
        labels = list(dict.fromkeys(load.label for s in reversed(sweeps) for load in s.answer.measured.load_points))
        takes = {name: take for label in labels[:MOST_LOADS] for name, take in lines(of, label).items()}
        if any(take(sweep) for take in takes.values() for sweep in sweeps):
            charts.append(_chart(of, temperature, title, axis, takes))
    if charts:
        yield Charts(tuple(charts))


def _expected(sweep: Sweep) -> MeasuredFigure | None:
    found = sweep.answer.measured.expected_speedup
    return found if found.value is not None and sweep.setting.k else None


def _length(of: Over, label: str) -> dict[str, _Take]:
    return {label: lambda sweep: sweep.figure(label, "mean_acceptance_length") if sweep.setting.k else None}


def _tpots(of: Over, label: str) -> dict[str, _Take]:
    return {
        label: lambda sweep: sweep.figure(label, "tpot_s"),
        of.words("over_plain", load=label): lambda sweep: sweep.figure(label, "tpot_s", plain=True),
    }


def _chart(of: Over, temperature: float, name: str, axis: str, takes: dict[str, _Take]) -> Chart:
    words, sweeps = of.words, of.sweeps(temperature)
    title = words(name, at=of.at(temperature))
    taken = [(line, [(sweep, figure) for sweep in sweeps if (figure := take(sweep))]) for line, take in takes.items()]
    taken = [(line, points) for line, points in taken if points]
    level = 1.0 if name == "over_speedups" else None
    shown, series = drawn(
        [Line(line, _segments(of, sweeps, line, points)) for line, points in taken],
        level,
        (0.0, len(of.found.past) - 1.0),
    )
    return Chart(
        title=title,
        label=words("over_label", title=title, lines=" ".join(_in_words(of, *one) for one in taken)),
        x_title=words("axis_when"),
        y_title=words(axis),
        x_ticks=_dates(placed([Tick(sweep.x, sweep.when_in_short) for sweep in sweeps], shown.x)),
        y_ticks=placed(round_ticks(shown.bottom, shown.top, "x" if level else ""), shown.y),
        series=series,
        legend=tuple((number, line) for number, (line, _) in enumerate(taken)),
        level=None if level is None else shown.y(level),
        rules=tuple(Rule(shown.x(x), text, kind) for x, text, kind in _rules(sweeps)),
        figures=_table(of, title, sweeps, takes),
    )


def _segments(
    of: Over, sweeps: Sequence[Sweep], line: str, points: Sequence[tuple[Sweep, MeasuredFigure]]
) -> list[list[Point]]:
    """Return the points, broken where a sweep between has no figure and where two are not of the same thing."""
    segments: list[list[Point]] = []
    last: Sweep | None = None
    for sweep, figure in points:
        together = (
            last is not None and sweeps.index(sweep) == sweeps.index(last) + 1 and sweep.same_thing == last.same_thing
        )
        point = _point(of, line, sweep, figure)
        if together:
            segments[-1].append(point)
        else:
            segments.append([point])
        last = sweep
    return segments


def _point(of: Over, line: str, sweep: Sweep, figure: MeasuredFigure) -> Point:
    words, scale = of.words, _scale(figure)
    known = figure.low is not None and figure.high is not None and math.isfinite(figure.high)
    interval = (scale * (figure.low or 0.0), scale * (figure.high or 0.0)) if known else None
    changed = words("over_tip_changed", verdict=words.told(sweep.answer.verdict.value)) if sweep.changed else ""
    tip = words("over_tip", when=sweep.when, engine=sweep.engine, line=line, value=value_words(figure), changed=changed)
    return Point(sweep.x, scale * (figure.value or 0.0), interval, tip)


def _scale(figure: MeasuredFigure) -> float:
    return 1000.0 if figure.unit == "s" else 1.0


def value_words(figure: MeasuredFigure) -> str:
    """Return a figure with its interval: seconds as milliseconds, ratios as "1.62x"."""
    scale, suffix = _scale(figure), {"s": " ms", "x": "x", "ratio": "x"}.get(figure.unit, "")
    if figure.value is None:
        return "-"
    text = f"{scale * figure.value:.3g}{suffix}"
    if figure.low is None or figure.high is None:
        return text
    return f"{text} ({scale * figure.low:.3g}-{scale * figure.high:.3g})"


def _rules(sweeps: Sequence[Sweep]) -> Iterator[tuple[float, str, str]]:
    """Yield x, text and kind: between two sweeps where a release begins, at the sweep whose verdict is another."""
    for before, sweep in pairwise(sweeps):
        if sweep.version != before.version:
            yield (before.x + sweep.x) / 2, sweep.version, "release"
        if sweep.changed:
            yield sweep.x, "", "change"


def _dates(ticks: Sequence[Tick]) -> tuple[Tick, ...]:
    """Return the dates that have room, the last one always."""
    kept: list[Tick] = []
    for tick in reversed(ticks):
        at = min(max(tick.at, _DATES_APART / 2), WIDTH - _DATES_APART / 2)
        if not kept or kept[-1].at - at >= _DATES_APART:
            kept.append(Tick(at, tick.text))
    return tuple(reversed(kept))


def _in_words(of: Over, line: str, points: Sequence[tuple[Sweep, MeasuredFigure]]) -> str:
    told = (of.words("over_point", when=sweep.when, value=value_words(figure)) for sweep, figure in points)
    return of.words("over_line", line=line, points=", ".join(told))


def _table(of: Over, title: str, sweeps: Sequence[Sweep], takes: dict[str, _Take]) -> Table:
    words = of.words
    missing = words("nothing_measured")
    rows = [
        (
            sweep.when,
            sweep.engine,
            *(value_words(figure) if (figure := take(sweep)) else missing for take in takes.values()),
        )
        for sweep in sweeps
    ]
    head = texts([words("col_when"), words("col_engine"), *takes], numbers_from=2)
    return Table(words("over_figures", title=title), head, tuple(texts(row, numbers_from=2) for row in rows))
