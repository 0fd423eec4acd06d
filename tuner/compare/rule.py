"""Better, same, worse or cannot tell: from the interval of a ratio and a tolerance."""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import StrEnum


class Outcome(StrEnum):
    """What became of a figure, or of a sweep as a whole."""

    BETTER = "better"
    SAME = "same"
    WORSE = "worse"
    CANNOT_TELL = "cannot tell"


_CLAIMS_FIRST = (Outcome.WORSE, Outcome.BETTER, Outcome.CANNOT_TELL, Outcome.SAME)


def outcome(interval: tuple[float, float] | None, tolerance: float, *, higher_is_better: bool) -> Outcome:
    """Return what the interval of log(new / old) says.

    tolerance: a fraction; the ratios from 1 / (1 + tolerance) to 1 + tolerance are no difference, so that exchanging
    old and new exchanges better and worse and nothing else.
    Worse and better need the whole interval beyond that range, same needs it inside, everything else cannot be told.
    """
    if interval is None:
        return Outcome.CANNOT_TELL
    edge = math.log1p(tolerance)
    low, high = interval
    if -edge <= low and high <= edge:
        return Outcome.SAME
    if low > edge:
        return Outcome.BETTER if higher_is_better else Outcome.WORSE
    if high < -edge:
        return Outcome.WORSE if higher_is_better else Outcome.BETTER
    return Outcome.CANNOT_TELL


def not_worse(interval: tuple[float, float] | None, tolerance: float, *, higher_is_better: bool) -> bool:
    """Whether the interval rules out that it got worse by more than the tolerance: it is the same or better."""
    if interval is None:
        return False
    edge = math.log1p(tolerance)
    return interval[0] >= -edge if higher_is_better else interval[1] <= edge


def overall(rows: Iterable[tuple[Outcome, bool]]) -> Outcome:
    """Return the outcome of all together.  rows: of each figure its outcome, and whether it is at any rate not worse.

    Worse if one is. Cannot tell if one may be worse, and of no rows at all. Better if one is. Else the same: as far as
    a figure is open, it is between the same and better.
    """
    found = list(rows)
    outcomes = {outcome for outcome, _ in found}
    if Outcome.WORSE in outcomes:
        return Outcome.WORSE
    if not found or any(one is Outcome.CANNOT_TELL and not excluded for one, excluded in found):
        return Outcome.CANNOT_TELL
    return Outcome.BETTER if Outcome.BETTER in outcomes else Outcome.SAME


def claimed(outcomes: Iterable[Outcome]) -> Outcome:
    """Return what is claimed anywhere, for naming what happened: worse before better, and both before what is open.

    Each claim is sure enough by itself (see tuner.compare.comparison.confidence_of). Of nothing: cannot tell.
    """
    found = set(outcomes)
    return next((one for one in _CLAIMS_FIRST if one in found), Outcome.CANNOT_TELL)
