"""What a strategy is, and the rule by which all but two of them choose from what they measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Protocol

from tests.searchbench.surfaces import Surface, weighted
from tuner.records import Outcome, Tried
from tuner.search.guided import Decision

TIE = 0.005
"""Differences of this size are not worth a larger K, however little noise there is."""


class Strategy(Protocol):
    """Says which candidate to start next, from what was tried so far."""

    name: str

    def next(self, tried: Sequence[Tried]) -> Decision:
        """Return the next candidate, or that it is done."""


def ranked(surface: Surface, tried: Sequence[Tried]) -> list[str]:
    """Return the keys of the measured candidates, best first: by mean log speedup, a tie within noise to the smaller K.

    K = 0 stands where its speedup of 1 puts it. Only the first place is subject to the rule about ties.
    """
    ses = {one.candidate.key: _se(surface, one) for one in tried if one.loads}
    return ranked_by(measured_gains(surface, tried), ses, surface.k)


def ranked_by(gains: Mapping[str, float], ses: Mapping[str, float], k: Mapping[str, int]) -> list[str]:
    """Return candidates' keys, best first.  gains: log speedups, the baseline's 0 among them; all by key.

    A tie: closer to the best than the standard error of their difference from repeats, and than TIE.
    """
    order = sorted(gains, key=lambda key: (-gains[key], k[key]))
    best = order[0]
    if k[best]:
        near = (
            key for key in order if k[key] and gains[best] - gains[key] <= min(TIE, math.hypot(ses[key], ses[best]))
        )
        best = min(near, key=lambda key: (k[key], -gains[key]))
    return [best, *(key for key in order if key != best)]


def measured_gains(surface: Surface, tried: Sequence[Tried]) -> dict[str, float]:
    """Return the measured log speedup of each candidate, weighted over load points, by key; the baseline's is 0."""
    measured = [one for one in tried if one.outcome is Outcome.MEASURED]
    base = next(one for one in measured if not one.candidate.k)
    gains = {}
    for one in measured:
        by_load = {key: base.loads[key].log_tpot - of.log_tpot for key, of in one.loads.items()}
        gains[one.candidate.key] = weighted(surface.loads, by_load)
    return gains


def _se(surface: Surface, one: Tried) -> float:
    """Return the standard error of the weighted mean from repeats alone."""
    total = sum(load.weight for load in surface.loads)
    return math.hypot(*(load.weight / total * (one.loads[load.key].se or 0.0) for load in surface.loads))
