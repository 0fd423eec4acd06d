"""The K schedule as it was measured, beside the static K and no speculation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tuner.analysis.k_schedule import schedule_of
from tuner.records import Findings, ScheduleAnswer, SchedulePoint
from tuner.words import plain, times

_ABOUT = (
    "Both speedups are over no speculation, from the same rounds of fresh engine lives. Drafted: draft tokens a draft, "
    "by the engine's counters. Per step: draft tokens a decode step, then what the schedule allows for with the "
    "batches that the requests were seen in, which are smaller than the concurrency while one request takes the place "
    "of another and at the end of a pass."
)


def worth_telling(findings: Findings) -> tuple[ScheduleAnswer, ...]:
    """Return the schedules that say something: where no draft is recommended, there is no K that one could vary."""
    recommended = {answer.temperature for answer in findings.answers if answer.best.k}
    return tuple(found for found in findings.schedules if found.points or found.temperature in recommended)


def schedule_section(findings: Findings) -> Iterator[str]:
    """Yield the section; nothing where no schedule was asked for, or none could be."""
    told = worth_telling(findings)
    if not told:
        return
    yield "## K schedule"
    yield ""
    for found in told:
        at = f"At temperature {found.temperature:g}: " if len(told) > 1 else ""
        yield f"{at}{found.why}"
        yield ""
        if found.points:
            yield from _table(found)
    if any(found.points for found in told):
        yield _ABOUT
        yield ""


def schedule_headline(findings: Findings, temperature: float) -> Iterator[str]:
    """Yield a sentence for the answer where a schedule may be deployed instead of one K."""
    for found in findings.schedules:
        if found.temperature == temperature and found.exportable and found.speedup and found.candidate:
            yield ""
            yield (
                f"Its serve file varies K with the batch size, `{_ranges(found)}`: measured so, it runs at "
                f"{times(found.speedup)} of no speculation over all load points (see K schedule)."
            )


def _table(found: ScheduleAnswer) -> Iterator[str]:
    static = f"K = {found.static.k}" if found.static else "one K"
    columns = ["load point", "scheduled K", "drafted", "per step (allowed)", static, "schedule", f"schedule / {static}"]
    yield f"`{_ranges(found)}`, {found.lives} engine {'lives' if found.lives != 1 else 'life'} of each:"
    yield ""
    yield f"| {' | '.join(columns)} |"
    yield f"|---|{'---:|' * (len(columns) - 1)}"
    for point in found.points:
        cells = [
            point.load_point.label,
            str(point.k),
            plain(point.effective),
            _per_step(point),
            times(point.static),
            times(point.schedule),
            times(point.against_static),
        ]
        yield f"| {' | '.join(cells)} |"
    yield ""
    if (last := _last(found)) is not None:
        yield (
            f"Batches above {last[1]} were not measured: the engine goes on with K = {last[2]} there. Prefills count "
            f"for the batch size."
        )
        yield ""


def _per_step(point: SchedulePoint) -> str:
    if point.expected is None:
        return "-"
    ignored = ", not obeyed" if point.obeyed is False else ""
    return f"{plain(point.per_step)} ({point.expected[0]:.2f}-{point.expected[1]:.2f}{ignored})"


def _ranges(found: ScheduleAnswer) -> str:
    rows: Sequence[Sequence[int]] = schedule_of(found.candidate) if found.candidate else ()
    return f"[{', '.join(str(list(row)) for row in rows)}]"


def _last(found: ScheduleAnswer) -> tuple[int, int, int] | None:
    return schedule_of(found.candidate)[-1] if found.candidate else None
