"""Limits on p95 latencies: who keeps to them at which load point, and what that leaves to decide.

The p95 is that over the requests of all repeats that count, of all lives that a figure rests on. A limit is broken
where the measured value is above it: the percentile has no interval. Near the limit, that is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tuner.analysis.comparison import load_figures
from tuner.records import Bar, BarKind, Goal, LoadPoint, TrialFigures

NEAR = 0.05
"""Distance from a limit, as a fraction of it, within which another measurement may fall on the other side."""
_METRICS = {"ttft_s_p95": "TTFT", "tpot_s_p95": "TPOT", "e2e_s_p95": "E2E"}


@dataclass(frozen=True)
class Check:
    """A measured p95 against its limit at one load point, seconds.  name: of the figure.  n: requests."""

    load: LoadPoint
    name: str
    value: float
    limit: float
    n: int

    @property
    def broken(self) -> bool:
        """Whether it is above the limit."""
        return self.value > self.limit

    @property
    def near(self) -> bool:
        """Whether noise may well have decided on which side it is."""
        return abs(self.value / self.limit - 1) <= NEAR

    @property
    def metric(self) -> str:
        """Return what is limited: TTFT, TPOT or E2E."""
        return _METRICS[self.name]

    @property
    def words(self) -> str:
        """Return e.g. "p95 TTFT 0.62 s over 36 requests, the limit is 0.5 s"."""
        close = ", near it" if self.near else ""
        return f"p95 {self.metric} {self.value:.3g} s over {self.n} requests, the limit is {self.limit:g} s{close}"


def checks(figures: TrialFigures, goal: Goal, loads: Sequence[LoadPoint]) -> tuple[Check, ...]:
    """Return every limit's check at the load points of positive weight; none where nothing could be measured."""
    found = []
    for load in loads:
        at = load_figures(figures, load)
        for name, limit in goal.limits.items() if at and load.weight > 0 else ():
            p95 = at.figures[name] if at else None
            if p95 is not None and p95.value is not None:
                found.append(Check(load, name, p95.value, limit, p95.n))
    return tuple(found)


def over_limit(found: Iterable[Check]) -> tuple[Bar, ...]:
    """Return a bar for each limit that is broken: at that load point its setting cannot win."""
    return tuple(Bar(BarKind.OVER_LIMIT, f"{c.load.label}: {c.words}") for c in found if c.broken)


def broken_anew(own: Iterable[Check], other: Iterable[Check]) -> tuple[Bar, ...]:
    """Return a bar for each limit that `own` breaks and `other` keeps to."""
    kept = {(check.load.key, check.name) for check in other if not check.broken}
    return over_limit(check for check in own if (check.load.key, check.name) in kept)


def constraints(figures: TrialFigures, goal: Goal, loads: Sequence[LoadPoint]) -> list[float]:
    """Return p95 / limit - 1 for each load point and limit, in that order: feasible where none is above 0.

    0 where the p95 is undefined: what was not measured breaks no limit.
    """
    measured = {(c.load.key, c.name): c.value / c.limit - 1 for c in checks(figures, goal, loads)}
    return [measured.get((load.key, name), 0.0) for load in loads for name in goal.limits]
