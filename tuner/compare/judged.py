"""Each row of a comparison judged: its interval, its outcome, and whether the verdict rests on it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tuner.analysis.levels import MAIN_SHARE
from tuner.analysis.power import lives_needed
from tuner.analysis.statistics import CONFIDENCE, Estimate, exp
from tuner.compare.figures import FIGURES, FigureName
from tuner.compare.rows import RawRow
from tuner.compare.rule import Outcome, not_worse, outcome
from tuner.compare.tolerances import Tolerances
from tuner.records import LoadPoint

MOST_LIVES_TOLD = 100
"""More engine lives than anybody measures: beyond it the truth is taken to lie at the edge of the tolerance."""


@dataclass(frozen=True)
class Value:
    """A number with its interval, None where there is none; `value` None where it is not known."""

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Row:
    """One figure at one load point.  old, new: with 95 % intervals.  ratio: new / old, with the interval that decides.

    of: the setting, both where they are not the same.  tolerance: as a fraction.  not_worse: at any rate it is the same
    or better.  decides: whether the overall verdict rests on it.  needs_lives: engine lives in each sweep that would
    settle it, None where that is not known.  note: why it cannot be told, or what to know.
    """

    load_point: LoadPoint
    figure: FigureName
    of: str
    unit: str
    old: Value
    new: Value
    ratio: Value
    tolerance: float
    outcome: Outcome
    not_worse: bool
    decides: bool
    needs_lives: int | None = None
    note: str = ""


@dataclass(frozen=True)
class Confidences:
    """Of the interval of each ratio on which the verdict rests, and of each that explains it."""

    deciding: float
    explaining: float


def judged(raw: Sequence[RawRow], tolerances: Tolerances, of_sweeps: float) -> tuple[tuple[Row, ...], Confidences]:
    """Return the rows with what their intervals say.  of_sweeps: see confidences."""
    levels = confidences(raw, tolerances, of_sweeps)
    rows = tuple(_row(one, tolerances, levels) for one in raw)
    return rows if "decides" in tolerances.model_fields_set else excused(rows), levels


def confidences(raw: Sequence[RawRow], tolerances: Tolerances, of_sweeps: float) -> Confidences:
    """Return the confidences that keep the error of all claims of a comparison together at 5 %.

    of_sweeps: that of the intervals in the sweeps. Where a sweep could end as soon as its answer was clear, its spread
    is more often small by luck, and that confidence is above 95 %. MAIN_SHARE of the error is for what decides, shared
    equally, the rest for what explains (Bonferroni). A row without a standard error can claim nothing and counts not.
    """
    able = [row.name in tolerances.decides for row in raw if row.ratio is not None and row.ratio.se is not None]
    deciding, explaining = sum(able), len(able) - sum(able)
    error = 1 - of_sweeps
    main = error * (MAIN_SHARE if explaining else 1.0)
    rest = error - main if deciding else error
    return Confidences(1 - main / max(deciding, 1), 1 - rest / max(explaining, 1))


def excused(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Return the rows with speedups that changed because the baseline did taken out of what decides.

    Where the engine without speculation got faster, a lower speedup alone makes nobody's answer slower; where it got
    slower, a higher one makes none faster. Acceptance, TPOT and TTFT decide there.
    """
    plain = {row.load_point.key: row.outcome for row in rows if row.figure == "baseline_tpot"}

    def kept(row: Row) -> Row:
        baseline = plain.get(row.load_point.key)
        by_baseline = baseline is Outcome.BETTER or (baseline is Outcome.WORSE and row.outcome is Outcome.BETTER)
        if row.figure != "speedup" or not row.decides or not by_baseline:
            return row
        words = "the baseline itself changed, so TPOT decides here"
        return replace(row, decides=False, note="; ".join(filter(None, (row.note, words))))

    return tuple(map(kept, rows))


def _row(raw: RawRow, tolerances: Tolerances, levels: Confidences) -> Row:
    figure, tolerance = FIGURES[raw.name], tolerances.of(raw.name)
    decides = raw.name in tolerances.decides
    confidence = levels.deciding if decides else levels.explaining
    interval = raw.ratio.interval(confidence) if raw.ratio else None
    found = outcome(interval, tolerance, higher_is_better=figure.higher_is_better)
    return Row(
        load_point=raw.load,
        figure=raw.name,
        of=raw.of,
        unit=figure.unit,
        old=_value(raw.old.estimate, CONFIDENCE),
        new=_value(raw.new.estimate, CONFIDENCE),
        ratio=_value(raw.ratio, confidence),
        tolerance=tolerance,
        outcome=found,
        not_worse=not_worse(interval, tolerance, higher_is_better=figure.higher_is_better),
        decides=decides,
        needs_lives=_needs_lives(raw.ratio, tolerance, confidence) if found is Outcome.CANNOT_TELL else None,
        note=_note(raw),
    )


def _value(estimate: Estimate | None, confidence: float) -> Value:
    if estimate is None:
        return Value(None)
    interval = estimate.interval(confidence)
    if interval is None:
        return Value(exp(estimate.mean))
    return Value(exp(estimate.mean), exp(interval[0]), exp(interval[1]))


def _needs_lives(ratio: Estimate | None, tolerance: float, confidence: float) -> int | None:
    """Return how many lives in each sweep would settle it, None where too many.

    They would show that nothing changed, where that is possible, else on which side of its tolerance the ratio lies.
    """
    if ratio is None or ratio.se is None or ratio.lives < 2:
        return None
    interval, edge = ratio.interval(confidence), math.log1p(tolerance)
    unchanged = interval is not None and interval[0] <= 0.0 <= interval[1]
    distance = edge if unchanged else abs(abs(ratio.mean) - edge)
    needed = lives_needed(ratio.se * math.sqrt(ratio.lives), distance, confidence)
    return needed if ratio.lives < needed <= MOST_LIVES_TOLD else None


def _note(raw: RawRow) -> str:
    notes = [f"{name}: {side.note}" for name, side in (("OLD", raw.old), ("NEW", raw.new)) if side.note]
    if raw.old.note and raw.old.note == raw.new.note:
        notes = [f"both: {raw.old.note}"]
    if raw.left_out:
        notes.append(f"{raw.left_out} prompts were not answered in all lives of both and are left out")
    return "; ".join(notes)
