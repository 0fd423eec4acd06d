"""Speedup against K of both sweeps in one chart for each load point."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tuner.artifact.figures import MeasuredFigure
from tuner.artifact.measured import Curve
from tuner.artifact.model import Answer
from tuner.compare import Read
from tuner.compare.sides import SideAnswer
from tuner.page.charts import Line, Point, drawn, placed, round_ticks, spaced, whole_ticks
from tuner.page.compared.answer import answer_at
from tuner.page.compared.given import Compared
from tuner.page.view import Block, Chart, Charts, Table, Text, texts
from tuner.page.words import Words
from tuner.records import LoadPoint

MOST_LINES = 6
"""More would not be told apart; the drafts that a sweep judged best come first."""
_Row = tuple[str, ...]


def curve_blocks(of: Compared) -> Iterator[Block]:
    """Yield a chart for each common load point of which a sweep has a curve."""
    words = of.words
    charts = tuple(chart for load in of.loads if (chart := _chart(of, load)) is not None)
    if not charts:
        yield Text(words("both_missing"))
        return
    yield Text(words("both_about"))
    rings = {ring for chart in charts for series in chart.series for mark in series.marks for ring in mark.rings}
    keys = ("interval", "level", *(ring for ring in ("best", "fresh") if ring in rings))
    yield Charts(charts, tuple((name, words(f"key_{name}")) for name in keys))


def _chart(of: Compared, load: LoadPoint) -> Chart | None:
    words = of.words
    found = [(words("both_line", side=name, draft=c.draft), r, c) for name, r in of.named for c in _curves(r, load)]
    found = found[:MOST_LINES]
    if not found:
        return None
    lines = [
        Line(_legend(words, name, curve), (_points(words, name, curve),), _fresh(words, name, read, curve, load))
        for name, read, curve in found
    ]
    shown, series = drawn(lines, 1.0)
    ks = {point.k for _, _, curve in found for point in curve.points}
    metric = of.new.side.config.objective.metric
    return Chart(
        title=load.label,
        label=words("both_label", load=load.label, lines=" ".join(f"{_in_words(c, n)}." for n, _, c in found)),
        x_title=words("axis_k"),
        y_title=words("axis_speedup", metric=words.told(metric.words)),
        x_ticks=spaced(placed(whole_ticks(ks), shown.x)),
        y_ticks=placed(round_ticks(shown.bottom, shown.top, "x"), shown.y),
        series=series,
        legend=tuple((number, one.legend) for number, one in enumerate(lines)),
        load=load.key,
        level=shown.y(1.0),
        figures=_table(words, load, found),
    )


def _curves(read: Read, load: LoadPoint) -> list[Curve]:
    """Return a sweep's curves at a load point with the engine arguments of its best setting, the best draft's first."""
    side, temperature = read.side, load.sampling.temperature
    best = side.answer(temperature).best
    every = [curve for curve in answer_at(side, temperature).measured.curves if curve.load_point == load.label]
    alike = [curve for curve in every if dict(curve.engine_args) == dict(best.engine_args)] or every
    ordered = sorted(alike, key=lambda curve: curve.draft != best.draft_name)
    return ordered[: MOST_LINES // 2]


def _points(words: Words, name: str, curve: Curve) -> list[Point]:
    return [
        Point(
            point.k,
            point.speedup.value,
            _interval(point.speedup) if point.k else None,
            words("both_tip", line=name, k=point.k, speedup=_times(point.speedup)),
            ("best",) if point.k and point.k == curve.best_k else (),
        )
        for point in curve.points
        if point.speedup.value is not None
    ]


def _fresh(words: Words, name: str, read: Read, curve: Curve, load: LoadPoint) -> list[Point]:
    """Return the speedup over fresh lives of the setting that was judged best, where it is on this curve."""
    answer, side_answer = _both_answers(read, load)
    lives, best = answer.measured.engine_lives, side_answer.best
    if lives < 2 or not best.k or best.draft_name != curve.draft:
        return []
    figures = [at.figures.get("speedup_tpot") for at in answer.measured.load_points if at.label == load.label]
    return [
        Point(
            best.k,
            figure.value,
            _interval(figure),
            words("both_fresh", line=name, k=best.k, lives=lives, speedup=_times(figure)),
            ("fresh",),
        )
        for figure in figures
        if figure is not None and figure.value is not None
    ]


def _both_answers(read: Read, load: LoadPoint) -> tuple[Answer, SideAnswer]:
    temperature = load.sampling.temperature
    return answer_at(read.side, temperature), read.side.answer(temperature)


def _interval(figure: MeasuredFigure) -> tuple[float, float] | None:
    if figure.low is None or figure.high is None or not math.isfinite(figure.high):
        return None
    return figure.low, figure.high


def _times(figure: MeasuredFigure) -> str:
    interval = _interval(figure)
    return f"{figure.value:.2f}x" + (f" ({interval[0]:.2f}-{interval[1]:.2f})" if interval else "")


def _legend(words: Words, name: str, curve: Curve) -> str:
    best = next((point for point in curve.points if point.k and point.k == curve.best_k), None)
    if best is None or best.speedup.value is None:
        return words("both_none", line=name)
    return words("both_best", line=name, k=best.k, speedup=f"{best.speedup.value:.2f}x")


def _in_words(curve: Curve, name: str) -> str:
    told = [f"K = {p.k}: {_times(p.speedup)}" for p in curve.points if p.k and p.speedup.value is not None]
    return f"{name}: {', '.join(told)}"


def _table(words: Words, load: LoadPoint, found: list[tuple[str, Read, Curve]]) -> Table:
    by_line = [{p.k: _times(p.speedup) for p in c.points if p.speedup.value is not None} for _, _, c in found]
    rows: list[_Row] = [
        (str(k), *(line.get(k, "") for line in by_line)) for k in sorted({k for line in by_line for k in line}) if k
    ]
    head = texts([words("col_k"), *(name for name, _, _ in found)])
    return Table(words("both_figures", load=load.label), head, tuple(map(texts, rows)), load.key)
