"""A comparison as JSON, for scripts."""

from __future__ import annotations

from dataclasses import asdict

from tuner.compare.causes import Cause
from tuner.compare.changes import Change
from tuner.compare.comparison import Comparison
from tuner.compare.judged import Row
from tuner.compare.words import open_words, sentence, taken_apart
from tuner.records import Json


def document(found: Comparison, exit_code: int) -> dict[str, Json]:
    """Return everything that the comparison says; keys are listed in docs/comparing.md."""
    said = found.conclusion
    return {
        "outcome": found.outcome.value,
        "exit_code": exit_code,
        "sentence": sentence(found),
        "speculation": said.speculation.value if said.speculation else None,
        "engine": said.engine.value,
        "old": found.old,
        "new": found.new,
        "recommended": [asdict(best) for best in found.best],
        "causes": [_cause(cause) for cause in found.causes],
        "taken_apart": [*taken_apart(found)],
        "figures": [_row(row) for row in found.rows],
        "confidence": asdict(found.confidences),
        "changed": [_change(change) for change in found.attribution.changes],
        "variables": [variable.value for variable in found.attribution.variables],
        "cause_can_be_told": len(found.attribution.variables) <= 1,
        "sweeps_that_would_tell": list(found.attribution.sweeps),
        "not_compared": list(found.not_compared),
        "open": [*open_words(found)],
        "notes": list(found.notes),
    }


def _change(change: Change) -> dict[str, Json]:
    one = change.difference
    variable = change.variable.value if change.variable else None
    return {"field": one.field, "old": one.measured, "new": one.now, "variable": variable}


def _cause(cause: Cause) -> dict[str, Json]:
    return {
        "code": cause.code,
        "what": cause.words,
        "about": cause.about,
        "outcome": cause.outcome.value,
        "load_points": [point.label for point in cause.load_points],
    }


def _row(row: Row) -> dict[str, Json]:
    plain = asdict(row)
    return {**plain, "load_point": row.load_point.label, "concurrency": row.load_point.concurrency}
