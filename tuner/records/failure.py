"""Why a trial gave no figures, and what a retry of it changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tuner.records.candidate import Json


class FailureKind(StrEnum):
    """Class of a failed trial.  NO_BASELINE is found in runs of older versions alone."""

    CRASHED = "crashed"
    TIMEOUT = "timeout"
    STUCK = "stuck"
    WRONG_SERVER = "wrong_server"
    REFUSED = "refused"
    SPECULATION_INACTIVE = "speculation_inactive"
    INVALID = "invalid"
    WORKER_LOST = "worker_lost"
    NO_BASELINE = "no_baseline"


@dataclass(frozen=True)
class Failure:
    """Why a trial gave no figures.

    cause: the first causal line of the engine's log, "" if none was found.  code: the cause by name, for scripts;
    what: the cause in one sentence, with the log's numbers; advice: what to change; change: engine arguments (and
    num_speculative_tokens) with which a retry may work.  All empty in records of older versions, and all but the advice
    where the engine served.
    """

    kind: FailureKind
    message: str
    next_step: str = ""
    cause: str = ""
    log_tail: tuple[str, ...] = ()
    code: str = ""
    what: str = ""
    advice: str = ""
    change: Mapping[str, Json] = field(default_factory=dict)

    @property
    def remedy(self) -> str:
        """What to do about it: what the cause asks for, else what whoever saw it said; "" if nothing is known."""
        return self.advice or self.next_step


@dataclass(frozen=True)
class Fix:
    """What a trial's candidate has otherwise than the space gave it, because another trial failed.

    origin: key of the space's candidate (of its baseline, for a baseline).  trial: number of the trial that failed.
    note: in words, all changes since the space.  changes: how many times it was changed.
    whole: the last change was made for the whole sweep, as no baseline started.
    """

    origin: str
    trial: int
    note: str
    changes: int = 1
    whole: bool = False
