"""What each kind of prompt gains."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tuner.page.given import Given
from tuner.page.sections.surface import tone
from tuner.page.view import Block, Cell, Table, Text, texts
from tuner.records import LoadPoint, TrialFigures
from tuner.words import full_label

MOST_COLUMNS = 12
"""Candidates shown beside one another; of more, those that the answer is about."""


def category_blocks(given: Given) -> Iterator[Block]:
    """Yield a table for each load point whose prompts are of two categories or more."""
    tables = [table for load in given.manifest.load_points if (table := _table(given, load)) is not None]
    if tables:
        yield Text(given.words("categories_about"))
        yield from tables


def _table(given: Given, load: LoadPoint) -> Table | None:
    words = given.words
    found = {
        full_label(trial.candidate, given.names): own.categories
        for trial in _shown(given)
        for own in trial.loads
        if own.load_point.key == load.key and own.categories
    }
    names = list(dict.fromkeys(name for categories in found.values() for name in categories))
    if len(names) < 2:
        return None
    values = [f.value for of in found.values() for f in of.values() if f.value]
    most = max((abs(math.log(value)) for value in values), default=0.0)
    rows = []
    for name in names:
        counts = {of[name].n for of in found.values() if name in of}
        row = [Cell(name, words("prompts", n=max(counts)))]
        for of in found.values():
            figure = of.get(name)
            if figure is None or figure.value is None:
                row.append(Cell("", number=True, marks=("none",)))
                continue
            known = figure.low is not None and figure.high is not None
            small = f"{figure.low:.2f}-{figure.high:.2f}" if known else ""
            row.append(Cell(f"{figure.value:.2f}", small, True, tone(figure.value, most)))
        rows.append(tuple(row))
    head = texts([words("col_category"), *found])
    return Table(words("categories_of", load=load.label), head, tuple(rows), load.key, heat=True)


def _shown(given: Given) -> list[TrialFigures]:
    speculating = [trial for trial in given.findings.trials if trial.candidate.speculation]
    if len(speculating) <= MOST_COLUMNS:
        return speculating
    told = [c for answer in given.findings.answers for c in (answer.best, answer.runner_up) if c is not None]
    keys = {candidate.key for candidate in told}
    return [trial for trial in speculating if trial.candidate.key in keys] or speculating[:MOST_COLUMNS]
