"""What is found before measuring (a notice) and concluded after it (a diagnosis), each with its evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tuner.records.candidate import Json


class Level(StrEnum):
    """How much a notice matters.  error: it cannot work.  warning: it works worse than it seems.  hint: advice."""

    ERROR = "error"
    WARNING = "warning"
    HINT = "hint"


@dataclass(frozen=True)
class Notice:
    """One thing that files alone tell about a set-up.

    code: a stable name in snake_case, for scripts.  subject: what it is about ("target", a draft's name ...).
    what: one sentence.  next_step: what the user can do, "" if nothing.  evidence: the values it rests on.
    """

    code: str
    level: Level
    subject: str
    what: str
    next_step: str = ""
    evidence: Mapping[str, Json] = field(default_factory=dict)


class Confidence(StrEnum):
    """How sure a diagnosis is.  high: the intervals show it.  medium: the values do.  low: it fits, others fit too."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True)
class Diagnosis:
    """One cause that the measurements show.

    code: a stable name in snake_case.  subject: the candidate, draft or load point.  what: one sentence.
    evidence: sentences with the figures, their n and intervals.  next_step: what to try next.
    """

    code: str
    subject: str
    what: str
    evidence: tuple[str, ...]
    confidence: Confidence
    next_step: str


@dataclass(frozen=True)
class ChangedSettings:
    """Log lines in which the engine said that it changed a setting by itself.

    candidates: labels of those that said all of `lines`, and whose baseline did not.  everywhere: said by engines
    without speculation too, whatever they ran; then candidates is ().
    """

    candidates: tuple[str, ...]
    lines: tuple[str, ...]
    everywhere: bool = False
