"""How far drafts are accepted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tuner.page.charts import Axes, Point, dodges, line, placed, spaced, whole_ticks
from tuner.page.given import Given
from tuner.page.view import Block, Chart, Charts, Details, Markdown, Series, Text, Tick
from tuner.records import CurvePoint, KCurve, LoadPoint
from tuner.words import plain


def acceptance_blocks(given: Given) -> Iterator[Block]:
    """Yield a chart for each load point at which something was proposed, and the table."""
    curves = [curve for answer in given.findings.answers for curve in answer.curves if longest(curve) is not None]
    loads = [load for load in given.manifest.load_points if any(c.load_point.key == load.key for c in curves)]
    if loads:
        yield Text(given.words("acceptance_about"))
        yield Charts(tuple(_chart(given, load, [c for c in curves if c.load_point.key == load.key]) for load in loads))
    if given.parts["acceptance"]:
        yield Details(given.words("acceptance_table"), (Markdown(tuple(given.parts["acceptance"][1:])),))


def longest(curve: KCurve) -> CurvePoint | None:
    """Return the point with the largest K that proposed any draft."""
    return next((p for p in reversed(curve.points) if any(f.value is not None for f in p.acceptance_by_position)), None)


def _chart(given: Given, load: LoadPoint, curves: Sequence[KCurve]) -> Chart:
    words = given.words
    found = [(curve, point) for curve in curves if (point := longest(curve)) is not None]
    last = max(len(point.acceptance_by_position) for _, point in found)
    shown = Axes(0.9, max(last, 2) + 0.1, 0.0, 1.02)
    series, told = [], []
    for number, ((curve, point), aside) in enumerate(zip(found, dodges(len(found)), strict=True)):
        shares = [(i, f.value) for i, f in enumerate(point.acceptance_by_position, 1) if f.value is not None]
        tips = [
            words("tip_acceptance", draft=curve.draft_name, k=point.k, position=i, share=f"{share:.0%}")
            for i, share in shares
        ]
        places = [Point(i, share, None, tip) for (i, share), tip in zip(shares, tips, strict=True)]
        marks = tuple(shown.mark(place, number, aside / 2) for place in places)
        series.append(Series(number, line(marks), marks))
        told.append(f"{_legend(given, curve, point)}: {', '.join(f'{share:.0%}' for _, share in shares)}.")
    fractions = [Tick(share / 100, f"{share}%") for share in (0, 25, 50, 75, 100)]
    return Chart(
        title=load.label,
        label=words("acceptance_label", load=load.label, drafts=" ".join(told)),
        x_title=words("axis_position"),
        y_title=words("axis_accepted"),
        x_ticks=spaced(placed(whole_ticks(range(1, last + 1)), shown.x)),
        y_ticks=placed(fractions, shown.y),
        series=tuple(series),
        legend=tuple((i, _legend(given, curve, point)) for i, (curve, point) in enumerate(found)),
        load=load.key,
    )


def _legend(given: Given, curve: KCurve, point: CurvePoint) -> str:
    drafts = point.acceptance_by_position[0].n
    length = plain(point.acceptance_length)
    return given.words("acceptance_legend", draft=curve.draft_name, k=point.k, length=length, drafts=f"{drafts:,}")
