"""The first engine starts of each draft. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from tuner.records import Candidate, Outcome
from tuner.search.curves import Curve, History
from tuner.search.decision import Decision

_SMALL = 1 / 3


def reference_curves(every: Sequence[Curve], history: History) -> tuple[Curve, ...]:
    """Return of each family the first curve that was measured, else the first that may still be."""
    found: dict[tuple[str, str | None], Curve] = {}
    for family in dict.fromkeys(curve.family for curve in every):
        curves = [curve for curve in every if curve.family == family]
        alive = [c for c in curves if history.of(c, Outcome.MEASURED)]
        alive += [c for c in curves if history.of(c, Outcome.RUNNING) or history.open(c)]
        if alive:
            found[family] = alive[0]
    return tuple(found.values())


def opening(references: Sequence[Curve], history: History) -> Decision | None:
    """Return the first start of a draft that was not measured yet, None where each was or nothing is to be named.

    A run at the largest K tells acceptance at every smaller one; the largest of each draft comes before a second start
    of any. A small K runs beside it where a worker is free.
    """
    new = [c for c in references if not history.of(c, Outcome.MEASURED) and history.open(c)]
    for curve in new:
        candidate = _largest(curve, history)
        if all(running.k < candidate.k for running in history.of(curve, Outcome.RUNNING)):
            return Decision(candidate, False, _why(curve, candidate))
    for curve in new:
        if len(history.of(curve, Outcome.RUNNING)) == 1:
            small = min(history.open(curve), key=lambda c: (abs(c.k - max(curve.ks) * _SMALL), c.k))
            return Decision(small, False, f"{small.label} can run beside the largest K: it tells the time per step")
    return None


def _largest(curve: Curve, history: History) -> Candidate:
    """Return the largest K that may run; after one that ran out of memory, one of about half of it."""
    open_ = history.open(curve)
    out_of = min((c.k for c in history.of(curve, Outcome.MEMORY)), default=None)
    if out_of is None:
        return open_[-1]
    return min(open_, key=lambda c: (abs(c.k - out_of / 2), -c.k))


def _why(curve: Curve, candidate: Candidate) -> str:
    if len(curve.ks) == 1:
        return f"{candidate.label} is the only K of its draft"
    if candidate.k == max(curve.ks):
        return f"{candidate.label} is the largest K: its run tells acceptance at every smaller one"
    return f"{candidate.label} takes the place of a larger K that did not run"
