"""What is asked of a failed engine, what is answered, and how a row of the table of causes looks. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from tuner.engine.failures.reading import Frames, errors_of, frames_of
from tuner.records import FailureKind, Json


class Phase(StrEnum):
    """How far an engine came."""

    STARTING = "starting"
    UNDER_LOAD = "under load"


@dataclass(frozen=True)
class Ending:
    """How an engine life ended, beside what its log says.

    code: exit code, negative for a signal, None if it was still running or that is not known.
    said: what we saw from outside (a refused request's text, say).
    arguments: the engine arguments it was started with, named as in a candidate.  k: its num_speculative_tokens, 0
    without speculation.  default_memory_share: of this release, None where it is not known.
    """

    kind: FailureKind = FailureKind.CRASHED
    phase: Phase = Phase.STARTING
    code: int | None = None
    said: str = ""
    arguments: Mapping[str, Json] = field(default_factory=dict)
    k: int = 0
    default_memory_share: float | None = None

    @property
    def memory_share(self) -> float | None:
        """gpu_memory_utilization as the engine had it."""
        given = self.arguments.get("gpu_memory_utilization")
        return float(given) if isinstance(given, int | float) else self.default_memory_share


@dataclass(frozen=True)
class FailureCause:
    """Why an engine failed.

    code: a stable name in snake_case, for scripts.  what: one sentence, with the numbers from the log.
    cause: the first causal line, "" if there is none.  advice: what to change.
    change: engine arguments (and num_speculative_tokens) with which a retry may work, {} where no argument would help.
    """

    code: str
    what: str
    cause: str
    advice: str
    change: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """A failed engine as the rows see it.  log: its whole text.  cause: its first causal line."""

    log: str
    ending: Ending
    cause: str

    @cached_property
    def errors(self) -> str:
        """The lines that may tell a cause, without prefixes, and what was seen from outside."""
        return "\n".join((self.ending.said, *errors_of(self.log)))

    @cached_property
    def frames(self) -> Frames:
        """The functions in which the causal exception was raised."""
        return frames_of(self.log, self.cause)


@dataclass(frozen=True)
class Told:
    """What a row makes of a case.  advice: "" for the row's own."""

    what: str
    advice: str = ""
    change: Mapping[str, Json] = field(default_factory=dict)


def _always(case: Case) -> bool:
    return True


@dataclass(frozen=True)
class Row:
    """One cause.

    meaning, advice: for the documentation, and where a case has no numbers.  pattern: what the causal line, or else any
    error line, contains; None for a row that holds where no text tells.  when: what else has to hold.
    tell: the sentence with the case's own numbers; None for `meaning`.
    """

    code: str
    meaning: str
    advice: str
    pattern: re.Pattern[str] | None = None
    when: Callable[[Case], bool] = _always
    tell: Callable[[re.Match[str], Case], Told] | None = None

    def found(self, case: Case, text: str) -> FailureCause | None:
        """Return the cause if it is this one by `text`."""
        match = re.search("", text) if self.pattern is None else self.pattern.search(text)
        if match is None or not self.when(case):
            return None
        told = self.tell(match, case) if self.tell else Told(self.meaning)
        line = case.cause or (_line_of(match) if self.pattern else "")
        return FailureCause(self.code, told.what, line, told.advice or self.advice, told.change)


def _line_of(match: re.Match[str]) -> str:
    text = match.string
    begin = text.rfind("\n", 0, match.start()) + 1
    return text[begin:].partition("\n")[0].strip()[:500]
