"""A K schedule in what deployment reads: instead of one K only where it may be; what was measured of it always."""

from __future__ import annotations

from tuner.analysis.k_schedule import schedule_of
from tuner.export.values import figure_json, optional_figure, plain_value
from tuner.records import Answer, Candidate, Findings, Json, ScheduleAnswer, SchedulePoint


def schedule_at(findings: Findings, answer: Answer) -> ScheduleAnswer | None:
    """Return what came of the K schedule at the answer's temperature; None where none was asked for."""
    return next((found for found in findings.schedules if found.temperature == answer.temperature), None)


def deployed(findings: Findings, answer: Answer) -> Candidate:
    """Return what the answer's file starts: its best candidate, with a K schedule where that may be deployed."""
    found = schedule_at(findings, answer)
    exportable = found is not None and found.exportable and found.static == answer.best
    return found.candidate if found and exportable and found.candidate else answer.best


def schedule_words(findings: Findings, answer: Answer) -> str:
    """Return lines for the file that has a K schedule, "" where it has none."""
    found, best = schedule_at(findings, answer), deployed(findings, answer)
    if found is None or best == answer.best:
        return ""
    _, last, k = schedule_of(best)[-1]
    return (
        f"With a K schedule by batch size (prefills count). {found.why}\n"
        f"The figures above are those of {answer.best.label} without it. Batches above {last} were not measured: the "
        f"engine goes on with K = {k} there.\n"
    )


def schedule_json(findings: Findings, answer: Answer) -> Json:
    """Return all that is known of the K schedule, whether it may be deployed or not; None where none was asked for."""
    found = schedule_at(findings, answer)
    if found is None:
        return None
    return {
        "why": found.why,
        "exportable": found.exportable,
        "ranges": [list(one) for one in schedule_of(found.candidate)] if found.candidate else None,
        "engine_lives": found.lives,
        "speedup": optional_figure(found.speedup),
        "over_static_where_k_differs": optional_figure(found.gain),
        "bars": [{"kind": bar.kind.value, "text": bar.text} for bar in found.bars],
        "load_points": [_point(point) for point in found.points],
    }


def _point(point: SchedulePoint) -> Json:
    return {
        "load_point": point.load_point.label,
        "scheduled_k": point.k,
        "drafted_per_draft": figure_json(point.effective),
        "drafted_per_step": figure_json(point.per_step),
        "allowed_per_step": plain_value(point.expected),
        "obeyed": point.obeyed,
        "static": figure_json(point.static),
        "schedule": figure_json(point.schedule),
        "schedule_over_static": figure_json(point.against_static),
    }
