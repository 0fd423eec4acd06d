"""Every compared figure with its interval, drawn and in numbers, load point by load point."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from tuner.compare import Outcome
from tuner.compare.judged import Row
from tuner.compare.words import cells, confidence_words, taken_apart
from tuner.page.compared.given import Compared
from tuner.page.view import Block, Cell, Points, Span, Table, Text
from tuner.records import LoadPoint

LEAST_REACH = 1.15
"""The drawn field reaches at least this far, as a ratio: noise shall not look like an effect."""
MOST_REACH = 2.0
_TONES = {Outcome.BETTER: "yes", Outcome.WORSE: "no", Outcome.SAME: "open", Outcome.CANNOT_TELL: "open"}


def figure_blocks(of: Compared) -> Iterator[Block]:
    """Yield one table for each common load point."""
    reach = _reach(of.found.rows)
    yield Text(of.words("rows_about"))
    for load in of.loads:
        yield _table(of, load, reach)
    yield Text(of.words.told(confidence_words(of.found)))


def apart_blocks(of: Compared) -> Iterator[Block]:
    """Yield what the change of each speedup is made of; nothing where neither sweep speculates."""
    lines = taken_apart(of.found)
    if lines:
        yield Points(tuple(map(of.words.told, lines)))


def _reach(rows: Sequence[Row]) -> float:
    """Return the ratio up to which is drawn, to both sides."""
    ends = [end for row in rows for end in (row.ratio.low, row.ratio.value, row.ratio.high) if end]
    furthest = max((max(end, 1 / end) for end in ends), default=LEAST_REACH)
    return min(max(furthest, LEAST_REACH), MOST_REACH)


def _table(of: Compared, load: LoadPoint, reach: float) -> Table:
    words = of.words
    drawn = words("col_drawn", low=f"{1 / reach:.2f}", high=f"{reach:.2f}")
    columns = ("col_figure", "col_verdict", "col_old", "col_new", "col_ratio")
    head = [*(Cell(words(name), number=i > 1) for i, name in enumerate(columns)), Cell(drawn)]
    rows = []
    for row in (row for row in of.found.rows if row.load_point.key == load.key):
        _, figure, setting, old, new, ratio, tolerance, verdict = map(words.told, cells(row))
        numbers = [_number(text) for text in (old, new, ratio)]
        judged = Cell(verdict, words("rows_tolerance", tolerance=tolerance))
        rows.append((Cell(figure, setting), judged, *numbers, Cell("", span=_span(row, reach))))
    return Table(words("rows_at", load=load.label), tuple(head), tuple(rows), load.key)


def _number(text: str) -> Cell:
    """Return "1.50x (1.40-1.60)" as a cell with the interval below the value."""
    value, _, interval = text.partition(" (")
    return Cell(value, interval.removesuffix(")"), number=True)


def _span(row: Row, reach: float) -> Span | None:
    if row.ratio.value is None:
        return None

    def place(ratio: float) -> float:
        share = 0.5 + math.log(ratio) / (2 * math.log(reach))
        return round(100 * min(max(share, 0.0), 1.0), 2)

    value = row.ratio.value
    return Span(
        low=place(row.ratio.low or value),
        value=place(value),
        high=place(row.ratio.high or value),
        band_low=place(1 / (1 + row.tolerance)),
        band_high=place(1 + row.tolerance),
        tone=_TONES[row.outcome],
    )
