"""How the latencies of single requests are spread, by candidate: what a mean over prompts does not show. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tuner.analysis.life import LATENCIES, load_view
from tuner.analysis.statistics import percentile
from tuner.records import Candidate, LoadPoint, Role, Trial

SHOWN = (5, 25, 50, 75, 95, 99)
"""Percentiles that are told."""
_SINGLE = (Role.BASELINE, Role.BASELINE_AGAIN, Role.CANDIDATE, Role.CANDIDATE_AGAIN)


@dataclass(frozen=True)
class LatencySpread:
    """One latency of one candidate at one load point.

    metric: "ttft_s", "tpot_s" or "e2e_s".  percentiles: seconds, for each of SHOWN.  n: requests.  lives: engine lives
    that they are of, whose requests count alike.
    """

    candidate: Candidate
    load_point: LoadPoint
    metric: str
    percentiles: tuple[float, ...]
    n: int
    lives: int


def latency_spreads(
    trials: Sequence[Trial], load_points: Sequence[LoadPoint], metrics: Sequence[str] = ("ttft_s", "tpot_s")
) -> tuple[LatencySpread, ...]:
    """Return the spread over all requests of the repeats that count, of every candidate that was measured.

    Fresh lives of a finalist count instead of its single life, where there are any: the answer rests on them.
    """
    lives: dict[str, list[Trial]] = {}
    for trial in trials:
        if trial.record.ok and trial.record.role in (*_SINGLE, Role.FINAL):
            lives.setdefault(trial.record.candidate.key, []).append(trial)
    found = []
    for point in load_points:
        for of_candidate in lives.values():
            fresh = [trial for trial in of_candidate if trial.record.role is Role.FINAL]
            found += [
                spread for metric in metrics if (spread := _spread(fresh or of_candidate, point, metric)) is not None
            ]
    return tuple(found)


def _spread(trials: Sequence[Trial], point: LoadPoint, metric: str) -> LatencySpread | None:
    views = [view for trial in trials if (view := load_view(trial, point.key)) is not None]
    values = [value for view in views for s in view.samples if (value := LATENCIES[metric](s)) is not None]
    if not values:
        return None
    values.sort()
    shown = tuple(percentile(values, percent) for percent in SHOWN)
    return LatencySpread(trials[0].record.candidate, point, metric, shown, len(values), len(views))
