"""What guided predicts of the K that it did not measure, held against the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.searchbench.surfaces import BASELINE, Surface, weighted
from tuner.analysis.prediction import ModelError, growth_curve, predict
from tuner.records import Observed, Outcome, Tried

RUNS = 2
"""Of a draft, before its curve is predicted rather than guessed: one run tells acceptance, but no slope of time."""


def growth_errors(surface: Surface, tried: Sequence[Tried]) -> tuple[float, ...]:
    """Return by how much log tokens per step at unmeasured K below the largest measured one are off."""
    found = []
    for draft in surface.drafts:
        runs = _runs(tried, draft)
        if not runs:
            continue
        top = max(runs)
        grown = next(iter(runs[top].loads.values())).growth
        truths = {c.k: surface.arms[c.key].log_growth for c in surface.candidates if c.draft_name == draft}
        known = {k: true for k, true in truths.items() if true is not None and k < top and k not in runs}
        if known and grown.logs:
            logs, _ = growth_curve(grown, top, sorted(known))
            found += [abs(float(log) - known[k]) for log, k in zip(logs, sorted(known), strict=True)]
    return tuple(found)


def speedup_errors(surface: Surface, tried: Sequence[Tried], model: ModelError) -> tuple[float, ...]:
    """Return by how much the log speedup at unmeasured K is off, weighted over load points, of drafts with RUNS."""
    base = next(one for one in tried if one.candidate.key == BASELINE.key)
    found = []
    for draft in surface.drafts:
        runs = _runs(tried, draft)
        curve = {c.k: c.key for c in surface.candidates if c.draft_name == draft and surface.arms[c.key].fits}
        if len(runs) < RUNS or len(runs) == len(curve):
            continue
        by_load = {}
        for load in surface.loads:
            measured = {k: one.loads[load.key] for k, one in runs.items()}
            by_load[load.key] = predict(measured, base.loads[load.key], sorted(curve), model, load.concurrency)
        for k in sorted(set(curve) - set(runs)):
            gain = {key: base.loads[key].log_tpot - at[k].log_tpot for key, at in by_load.items()}
            found.append(abs(weighted(surface.loads, gain) - surface.true_logs[curve[k]]))
    return tuple(found)


@dataclass(frozen=True)
class HeldOut:
    """One K of a real surface, predicted from the largest and the smallest K of its draft, at one load point.

    predicted, measured: log speedup.  growth_error: of log tokens per step, None where it does not follow.
    """

    draft: str
    k: int
    concurrency: int
    predicted: float
    measured: float
    growth_error: float | None


def held_out(surface: Surface, model: ModelError) -> list[HeldOut]:
    """Return the prediction of every K between the smallest and the largest of each draft."""
    base = surface.arms[BASELINE.key]
    found = []
    for draft in surface.drafts:
        curve = {c.k: surface.arms[c.key] for c in surface.candidates if c.draft_name == draft}
        ends = {k: curve[k] for k in (min(curve), max(curve))}
        for load in surface.loads if len(curve) > RUNS else ():
            seen = {k: Observed(a.log_tpot[load.key], a.ses.get(load.key), a.growth) for k, a in ends.items()}
            plain = Observed(base.log_tpot[load.key], base.ses.get(load.key))
            told = predict(seen, plain, sorted(curve), model, load.concurrency)
            for k in sorted(set(curve) - set(ends)):
                logs, true = ends[max(curve)].growth.logs, curve[k].log_growth
                error = abs(logs[k - 1] - true) if logs and true is not None else None
                measured = plain.log_tpot - curve[k].log_tpot[load.key]
                predicted = plain.log_tpot - told[k].log_tpot
                found.append(HeldOut(draft, k, load.concurrency, predicted, measured, error))
    return found


def _runs(tried: Sequence[Tried], draft: str) -> dict[int, Tried]:
    return {o.candidate.k: o for o in tried if o.candidate.draft_name == draft and o.outcome is Outcome.MEASURED}
