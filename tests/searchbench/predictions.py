"""What guided predicts of the K that it did not measure, held against the truth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tests.searchbench.surfaces import BASELINE, Surface
from tuner.analysis.foretold import Foretold
from tuner.records import Candidate, Observed, Outcome, Tried
from tuner.search.guided import Guided
from tuner.search.left import predicted_speedups


def growth_errors(surface: Surface, tried: Sequence[Tried]) -> tuple[float, ...]:
    """Return by how much log tokens per step at unmeasured K below the largest measured one are off."""
    found = []
    for draft in surface.drafts:
        runs = _runs(tried, draft)
        if not runs:
            continue
        top = max(runs)
        logs = next(iter(runs[top].loads.values())).growth.logs
        truths = {c.k: surface.arms[c.key].log_growth for c in surface.candidates if c.draft_name == draft}
        found += [
            abs(logs[k - 1] - true)
            for k, true in truths.items()
            if true is not None and k < top and k not in runs and logs
        ]
    return tuple(found)


@dataclass(frozen=True)
class SpeedupErrors:
    """By how much predicted log speedups at unmeasured K are off, weighted over load points.

    told: of those that the tuner tells as a figure.  rough: of those that it tells as a range.  missed: how many of
    those ranges the truth lies outside of.
    """

    told: tuple[float, ...] = ()
    rough: tuple[float, ...] = ()
    missed: int = 0


def speedup_errors(surface: Surface, tried: Sequence[Tried], report: Sequence[Foretold]) -> SpeedupErrors:
    """Return the errors of what the tuner says at the end of a search about the K that fit and were not measured.

    report: guided's own.
    """
    told: list[float] = []
    rough: list[float] = []
    missed = 0
    for key, one in predicted_speedups(report, tried).items():
        if surface.arms[key].fits:
            true = surface.true_logs[key]
            (rough if one.rough else told).append(abs(one.log - true))
            missed += one.rough and not one.bounds[0] <= math.exp(true) <= one.bounds[1]
    return SpeedupErrors(tuple(told), tuple(rough), missed)


@dataclass(frozen=True)
class HeldOut:
    """One K of a real surface, predicted from the largest and the smallest K of each draft, at one load point.

    predicted, measured: log speedup.  sd: of the prediction.  growth_error: of log tokens per step, None where it does
    not follow.
    """

    draft: str
    k: int
    concurrency: int
    predicted: float
    sd: float
    measured: float
    growth_error: float | None


def held_out(surface: Surface) -> list[HeldOut]:
    """Return guided's prediction of every K between the smallest and the largest of each draft."""
    curves = {draft: [c for c in surface.candidates if c.draft_name == draft] for draft in surface.drafts}
    ends = [end for curve in curves.values() for end in {c.k: c for c in (_least(curve), _most(curve))}.values()]
    tried = [_as_measured(surface, one.key) for one in (BASELINE, *ends)]
    report = Guided([BASELINE, *surface.candidates], surface.loads).report(tried)
    plain = surface.arms[BASELINE.key].log_tpot
    found = []
    for one in report:
        arm, draft = surface.arms[one.candidate.key], one.candidate.draft_name
        logs = surface.arms[_most(curves[draft]).key].growth.logs
        if one.measured is None and one.predicted is not None and one.sd is not None:
            error = abs(logs[one.candidate.k - 1] - arm.log_growth) if logs and arm.log_growth is not None else None
            base = plain[one.load.key]
            measured = base - arm.log_tpot[one.load.key]
            found.append(
                HeldOut(draft, one.candidate.k, one.load.concurrency, base - one.predicted, one.sd, measured, error)
            )
    return found


def _least(curve: Sequence[Candidate]) -> Candidate:
    return min(curve, key=lambda c: c.k)


def _most(curve: Sequence[Candidate]) -> Candidate:
    return max(curve, key=lambda c: c.k)


def _as_measured(surface: Surface, key: str) -> Tried:
    arm = surface.arms[key]
    candidate = next(c for c in (BASELINE, *surface.candidates) if c.key == key)
    loads = {load: Observed(log, arm.ses.get(load), arm.growth) for load, log in arm.log_tpot.items()}
    return Tried(candidate, Outcome.MEASURED, loads)


def _runs(tried: Sequence[Tried], draft: str) -> dict[int, Tried]:
    return {o.candidate.k: o for o in tried if o.candidate.draft_name == draft and o.outcome is Outcome.MEASURED}
