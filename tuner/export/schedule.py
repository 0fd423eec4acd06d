"""A K schedule in what deployment reads: instead of one K only where it may be; what was measured of it always."""

from __future__ import annotations

from tuner.analysis.k_schedule import schedule_of
from tuner.artifact import measured
from tuner.export.values import measured_figure, optional_figure, rounded
from tuner.records import Answer, Candidate, Findings, ScheduleAnswer, SchedulePoint


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


def schedule(findings: Findings, answer: Answer) -> measured.Schedule | None:
    """Return all that is known of the K schedule, whether it may be deployed or not; None where none was asked for."""
    found = schedule_at(findings, answer)
    if found is None:
        return None
    return measured.Schedule(
        why=found.why,
        exportable=found.exportable,
        ranges=tuple(schedule_of(found.candidate)) if found.candidate else None,
        engine_lives=found.lives,
        speedup=optional_figure(found.speedup),
        over_static_where_k_differs=optional_figure(found.gain),
        bars=tuple(measured.Bar(kind=bar.kind.value, text=bar.text) for bar in found.bars),
        load_points=tuple(_point(point) for point in found.points),
    )


def _point(point: SchedulePoint) -> measured.SchedulePoint:
    return measured.SchedulePoint(
        load_point=point.load_point.label,
        scheduled_k=point.k,
        drafted_per_draft=measured_figure(point.effective),
        drafted_per_step=measured_figure(point.per_step),
        allowed_per_step=point.expected and (rounded(point.expected[0]), rounded(point.expected[1])),
        obeyed=point.obeyed,
        static=measured_figure(point.static),
        schedule=measured_figure(point.schedule),
        schedule_over_static=measured_figure(point.against_static),
    )
