"""Speedup against K: a chart for each load point, its figures as a table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from tuner.page.charts import Line, Point, drawn, placed, round_ticks, spaced, whole_ticks
from tuner.page.given import Given, by_k
from tuner.page.view import Block, Chart, Charts, Details, Markdown, Table, texts
from tuner.records import CurvePoint, Figure, KCurve, LoadPoint, TrialFigures
from tuner.words import full_label, milliseconds, plain, times

OPEN_LOADS = 4
"""Load points up to which their table is open: the charts say the same."""


def curve_blocks(given: Given) -> Iterator[Block]:
    """Yield the charts, what their marks mean, and the tables of best K and of all figures."""
    curves = [curve for answer in given.findings.answers for curve in answer.curves]
    points = [point for point in given.manifest.load_points if any(c.load_point.key == point.key for c in curves)]
    charts = tuple(_chart(given, point, [c for c in curves if c.load_point.key == point.key]) for point in points)
    if charts:
        yield Charts(charts, tuple(_keys(given, curves)))
    if given.parts["curves"]:
        table = Markdown(tuple(given.parts["curves"][1:]))
        yield table if len(points) <= OPEN_LOADS else Details(given.words("curves_table"), (table,))
    yield Details(given.words("all_figures"), (Markdown(tuple(given.parts["figures"])),))


def _keys(given: Given, curves: Sequence[KCurve]) -> Iterator[tuple[str, str]]:
    words, threshold = given.words, curves[0].inflection.threshold
    yield "interval", words("key_interval")
    yield "level", words("key_level")
    if any(curve.best_k for curve in curves):
        yield "best", words("key_best")
    if any(curve.inflection.k is not None for curve in curves):
        yield "bend", words("key_bend", threshold=f"{100 * threshold:g}")
    if any(trial.candidate.k for trial in given.findings.finals):
        yield "fresh", words("key_fresh")


def _chart(given: Given, load: LoadPoint, curves: Sequence[KCurve]) -> Chart:
    words, metric = given.words, curves[0].metric
    lines = [Line(_legend(given, c), (_points(given, c),), _fresh(given, c)) for c in curves]
    shown, series = drawn(lines, 1.0)
    ks = {point.k for curve in curves for point in curve.points}
    return Chart(
        title=load.label,
        label=words("curves_label", load=load.label, curves=" ".join(_in_words(given, c) for c in curves)),
        x_title=words("axis_k"),
        y_title=words("axis_speedup", metric=metric.words),
        x_ticks=spaced(placed(whole_ticks(ks), shown.x)),
        y_ticks=placed(round_ticks(shown.bottom, shown.top, "x"), shown.y),
        series=series,
        legend=tuple((number, one.legend) for number, one in enumerate(lines)),
        load=load.key,
        level=shown.y(1.0),
        figures=_table(given, load, curves),
    )


def _points(given: Given, curve: KCurve) -> list[Point]:
    found = []
    for point in curve.points:
        if point.speedup.value is None:
            continue
        rings = ["best"] if point.k == curve.best_k and point.k else []
        rings += ["bend"] if point.k == curve.inflection.k else []
        interval = _interval(point.speedup) if point.k else None
        found.append(Point(point.k, point.speedup.value, interval, _tip(given, curve, point), tuple(rings)))
    return found


def _interval(figure: Figure) -> tuple[float, float] | None:
    known = figure.low is not None and figure.high is not None and math.isfinite(figure.high)
    return (figure.low or 0.0, figure.high or 0.0) if known else None


def _tip(given: Given, curve: KCurve, point: CurvePoint) -> str:
    if not point.k:
        return given.words("tip_baseline", tpot=milliseconds(point.tpot))
    return given.words(
        "tip_point",
        draft=curve.draft_name,
        k=point.k,
        speedup=times(point.speedup),
        tpot=milliseconds(point.tpot),
        length=plain(point.acceptance_length),
    )


def finals_of(given: Given, curve: KCurve) -> Iterator[tuple[TrialFigures, Figure]]:
    """Yield the finalists on this curve with their speedup over fresh lives."""
    for trial in given.findings.finals:
        spec = trial.candidate.speculation
        own = (curve.draft_name, curve.method, curve.args_key)
        if spec is None or (trial.candidate.draft_name, spec.method, trial.candidate.args_key) != own:
            continue
        for load in trial.loads:
            figure = load.figures.get(trial.metric.speedup)
            if load.load_point.key == curve.load_point.key and figure is not None and figure.value is not None:
                yield trial, figure


def _fresh(given: Given, curve: KCurve) -> list[Point]:
    return [
        Point(
            trial.candidate.k,
            figure.value or math.nan,
            _interval(figure),
            given.words("tip_fresh", what=trial.candidate.label, speedup=times(figure), lives=trial.lives),
            ("fresh",),
        )
        for trial, figure in finals_of(given, curve)
    ]


def _legend(given: Given, curve: KCurve) -> str:
    words, values = given.words, {p.k: p.speedup.value for p in curve.points if p.speedup.value is not None}
    if not any(values):
        return words("curve_failed", draft=curve.draft_name)
    best = words("curve_no_best")
    if curve.best_k:
        best = words("curve_best", k=curve.best_k, speedup=f"{values[curve.best_k]:.2f}")
    bend = words("curve_open") if curve.inflection.k is None else words("curve_bend", k=curve.inflection.k)
    return words("curve_legend", draft=curve.draft_name, best=best, bend=bend)


def _in_words(given: Given, curve: KCurve) -> str:
    told = ", ".join(f"K = {p.k}: {times(p.speedup)}" for p in curve.points if p.k and p.speedup.value is not None)
    return f"{_legend(given, curve)}. {told}."


def _table(given: Given, load: LoadPoint, curves: Sequence[KCurve]) -> Table:
    words = given.words
    head = ("col_candidate", "col_speedup", "col_tpot", "col_length", "col_rate", "col_n")
    rows = [
        texts(_row(given, trial, load))
        for trial in sorted(given.findings.trials, key=lambda t: by_k(t.candidate))
        if any(own.load_point.key == load.key for own in trial.loads)
    ]
    for curve in curves:
        for trial, figure in finals_of(given, curve):
            name = words("in_lives", what=full_label(trial.candidate, given.names), lives=trial.lives)
            rows.append(texts((name, times(figure), "", "", "", "")))
    return Table(words("figures_of", load=load.label), texts([words(name) for name in head]), tuple(rows), load.key)


def _row(given: Given, trial: TrialFigures, load: LoadPoint) -> tuple[str, ...]:
    own = next(found for found in trial.loads if found.load_point.key == load.key)
    figures, speedup = own.figures, own.figures.get(trial.metric.speedup)
    drafts = trial.candidate.speculation is not None
    return (
        full_label(trial.candidate, given.names),
        times(speedup) if speedup else "",
        milliseconds(figures["tpot_s"]),
        plain(figures["mean_acceptance_length"]) if drafts else "",
        plain(figures["acceptance_rate"]) if drafts else "",
        str(figures["tpot_s"].n),
    )
