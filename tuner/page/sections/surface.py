"""K x concurrency as a map: a table whose cells are coloured by speedup, so that it reads without colours too."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from tuner.page.given import Given
from tuner.page.view import Block, Cell, Markdown, Table, Text, texts
from tuner.records import Answer, Border, DraftSurface, Surface, border
from tuner.records import Cell as Measured
from tuner.words import full_label

MOST_ROWS = 16
"""With more K than this, those that were not tried get no row."""
LEAST_RANGE = 1.25
"""Times faster and slower than none: a map of noise shall not look like one of effects."""
TONES = 5
"""Shades in each direction."""
LINES = {Border.PROVEN: "edge", Border.OPEN: "open"}
"""Marks of a cell beside which speculation stops paying: a whole line where intervals show it, else a dashed one."""


def tone(speedup: float | None, most: float) -> int | None:
    """Return the shade of a speedup: equal ratios are equally far apart.  most: largest log of the map."""
    if speedup is None or speedup <= 0:
        return None
    scaled = math.log(speedup) / max(most, math.log(LEAST_RANGE))
    return max(-TONES, min(TONES, round(TONES * scaled)))


def surface_blocks(given: Given) -> Iterator[Block]:
    """Yield a map for each draft, then what follows from them; nothing where a single concurrency was measured."""
    maps = [
        _map(given, answer, answer.surface, draft)
        for answer in given.findings.answers
        if answer.surface is not None and len(answer.surface.concurrencies) > 1
        for draft in answer.surface.drafts
        if draft.cells
    ]
    if not maps:
        return
    yield Text(given.words("map_about"))
    yield from maps
    lines = given.parts["surface"]
    yield Markdown(tuple(lines if len(given.findings.answers) > 1 else lines[1:]))


def _map(given: Given, answer: Answer, surface: Surface, draft: DraftSurface) -> Table:
    words = given.words
    cells = {(cell.k, cell.concurrency): cell for cell in draft.cells}
    tried = sorted({cell.k for cell in draft.cells})
    rows = (0, *(draft.ks if len(draft.ks) <= MOST_ROWS else tried))
    values = [cell.speedup.value for cell in draft.cells if cell.speedup.value]
    most = max((abs(math.log(value)) for value in values), default=0.0)
    baseline = next(t.candidate.baseline for t in given.findings.trials if t.candidate.args_key == draft.args_key)
    several = f", {words('at_temperature', temperature=f'{answer.temperature:g}')}"
    caption = words(
        "map_of",
        draft=draft.draft_name + full_label(baseline, given.names).removeprefix(baseline.label),
        metric=given.findings.goal.metric.words,
        at=several if len(given.findings.answers) > 1 else "",
    )
    head = texts([words("map_corner"), *(words("map_column", n=n) for n in surface.concurrencies)])
    body = []
    for i, k in enumerate(rows):
        below = rows[i + 1 : i + 2]
        row = [Cell(words("map_row", k=k))]
        for j, concurrency in enumerate(surface.concurrencies):
            here, right = cells.get((k, concurrency)), surface.concurrencies[j + 1 : j + 2]
            best = draft.best.get(concurrency)
            marks = [*(["best"] if best is not None and best.best.k == k else [])]
            marks += [f"{LINES[told]}-right" for c in right if (told := border(here, cells.get((k, c))))]
            marks += [f"{LINES[told]}-bottom" for r in below if (told := border(here, cells.get((r, concurrency))))]
            row.append(_cell(given, k, here, marks, most))
        body.append(tuple(row))
    return Table(caption, head, tuple(body), heat=True)


def _cell(given: Given, k: int, cell: Measured | None, marks: Sequence[str], most: float) -> Cell:
    words = given.words
    if not k:
        return Cell("1.00", words("map_plain"), True, 0, tuple(marks))
    if cell is None:
        return Cell("", words("map_nothing"), True, None, ("none", *marks))
    if cell.speedup.value is None:
        return Cell("", words("map_failed"), True, None, ("none", *marks))
    low, high = cell.speedup.low, cell.speedup.high
    small = "" if low is None or high is None else f"{low:.2f}-{high:.2f}"
    if cell.barred:
        small = words("map_barred")
    text = f"{cell.speedup.value:.2f}" + (words("map_fresh") if cell.lives > 1 else "")
    return Cell(text, small, True, tone(cell.speedup.value, most), tuple(marks))
