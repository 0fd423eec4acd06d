"""What guided predicts of the K that it did not measure, held against the truth."""

from __future__ import annotations

from collections.abc import Sequence

from tests.searchbench.surfaces import BASELINE, Surface, weighted
from tuner.analysis.prediction import ModelError, growth_curve, predict
from tuner.records import Outcome, Tried

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
        ks = [k for k in range(1, top) if k not in runs]
        logs, _ = growth_curve(grown, top, ks) if ks else ((), None)
        truths = [_arm_growth(surface, draft, k) for k in ks]
        found += [abs(float(log) - true) for log, true in zip(logs, truths, strict=True) if true is not None]
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


def _runs(tried: Sequence[Tried], draft: str) -> dict[int, Tried]:
    return {o.candidate.k: o for o in tried if o.candidate.draft_name == draft and o.outcome is Outcome.MEASURED}


def _arm_growth(surface: Surface, draft: str, k: int) -> float | None:
    key = next(c.key for c in surface.candidates if c.draft_name == draft and c.k == k)
    return surface.arms[key].log_growth
