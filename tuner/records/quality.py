"""Whether the answers are the target's own, and why a trial may not win."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class BarKind(StrEnum):
    """Why a trial may not win, whatever its speed."""

    NO_BASELINE = "no_baseline"
    INCOMPLETE = "incomplete"
    INVALID_REPEAT = "invalid_repeat"
    MORE_FAILURES = "more_failures"
    PREEMPTED = "preempted"
    CONTEXT_DIFFERS = "context_differs"
    UNDEPLOYABLE = "undeployable"
    OUTPUT_DIFFERS = "output_differs"
    DEGENERATE_TEXT = "degenerate_text"
    LENGTH_DIFFERS = "length_differs"
    ANSWERS_WRONG = "answers_wrong"
    ACCEPTANCE_IMPLAUSIBLE = "acceptance_implausible"
    SPECULATION_INACTIVE = "speculation_inactive"
    OVER_LIMIT = "over_limit"
    SCHEDULE_IGNORED = "schedule_ignored"


@dataclass(frozen=True)
class Bar:
    """One reason why a trial may not win.  text: for a person, with the evidence."""

    kind: BarKind
    text: str


class SameOutput(StrEnum):
    """Whether speculation changed the output.

    IDENTICAL, NEAR_TIES: at temperature 0.  UNEXPLAINED: answers part, for reasons that are not known, and not clearly
    more often than the baseline's own do.  NO_DIFFERENCE_FOUND: sampled, and the test on first tokens found nothing.
    NOT_COMPARED: sampled without that test, or there was nothing to compare with.
    """

    IDENTICAL = "identical"
    NEAR_TIES = "near_ties"
    UNEXPLAINED = "unexplained"
    NO_DIFFERENCE_FOUND = "no_difference_found"
    DIFFERS = "differs"
    NOT_COMPARED = "not_compared"


@dataclass(frozen=True)
class Divergence:
    """Where one answer first differs from the baseline's.

    position: index of the first differing output token.  gap: the baseline's own log probability of its first choice
    minus that of its second there, nats; None where it is not known.
    """

    prompt_id: str
    position: int
    gap: float | None


@dataclass(frozen=True)
class Losslessness:
    """A trial's outputs against its baseline's at one load point.

    equal, compared: answers with the same token ids, of how many.  self_equal, self_compared: the same among the
    baseline's own repeats and lives (A/A).  p_value: of the test on sampled first tokens, where it was made, corrected
    for all that it looks at in this trial.
    note: the evidence in words.
    """

    verdict: SameOutput
    equal: int
    compared: int
    self_equal: int
    self_compared: int
    divergences: tuple[Divergence, ...] = ()
    p_value: float | None = None
    note: str = ""
