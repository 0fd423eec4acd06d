"""Why an engine failed: pure functions of its whole log and of how it ended.

One row a cause, in an order that matters: the causal line is held against every row before any other line is, what a
text says comes before how the engine ended, and the last row holds always.
"""

from __future__ import annotations

from tuner.engine import logscan
from tuner.engine.failures import allocations, inputs, memory, system
from tuner.engine.failures.cause import Case, Ending, FailureCause, Phase, Row
from tuner.records import FailureKind

__all__ = ["BY_TEXT", "CAUSES", "Ending", "FailureCause", "Phase", "Row", "causes_table", "failure_cause"]

BY_TEXT: tuple[Row, ...] = (*memory.ROWS, *allocations.ROWS, *system.BY_TEXT, *inputs.ROWS)
CAUSES: tuple[Row, ...] = (*BY_TEXT, *system.BY_ENDING)

_SERVED_WELL = (FailureKind.SPECULATION_INACTIVE, FailureKind.INVALID, FailureKind.NO_BASELINE)
"""What the engine's log does not explain: it served."""


def failure_cause(log: str, ending: Ending) -> FailureCause | None:
    """Return why an engine failed; None where it did not, and something else made the trial useless.

    log: as `logscan.read_log` gives it.
    """
    if ending.kind in _SERVED_WELL:
        return None
    cause = ending.said if ending.kind is FailureKind.REFUSED else logscan.first_cause(log)
    case = Case(log, ending, cause)
    errors = case.errors
    for text in (cause, errors):
        for row in BY_TEXT:
            if text and (found := row.found(case, text)) is not None:
                return found
    return next(found for row in system.BY_ENDING if (found := row.found(case, errors)) is not None)


def causes_table() -> str:
    """Return the table of all causes as Markdown, for the documentation."""
    lines = ["| code | what happened | what to change |", "|---|---|---|"]
    shown = {row.code: f"| `{row.code}` | {row.meaning} | {row.advice} |" for row in reversed(CAUSES)}
    lines += [shown[code] for code in dict.fromkeys(row.code for row in CAUSES)]
    return "\n".join(lines)
