"""The two best published rules for choosing K, written anew."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import zip_longest

import numpy as np

from tests.searchbench.plain import Grid
from tests.searchbench.strategy import measured_gains, ranked
from tests.searchbench.surfaces import BASELINE, Surface, weighted
from tuner.records import Candidate, Tried
from tuner.search.guided import Decision

PROFILED_K = (1, 3, 5)
MAD_TIE = 0.01


class Goodput:
    """Goodput interpolation: acceptance from one K_max run, step time from K = 1, 3, 5 at each batch size (load point).

    Step time is linear between the K that ran. The choice is the K with the most tokens per step over step time,
    measured or not.
    """

    name = "goodput"

    def __init__(self, surface: Surface) -> None:
        self._surface = surface

    def next(self, tried: Sequence[Tried]) -> Decision:
        """Return the next of K_max, 1, 3 and 5 that is missing; the drafts take turns."""
        done = {one.candidate.key for one in tried}
        plans = [self._plan(draft, tried) for draft in self._surface.drafts]
        turns = (c for turn in zip_longest(*plans) for c in turn if c is not None)
        missing = next((c for c in turns if c.key not in done), None)
        return Decision(missing, missing is None, "a point of the profile")

    def _plan(self, draft: str, tried: Sequence[Tried]) -> list[Candidate]:
        failed = [one.candidate.k for one in tried if one.candidate.draft_name == draft and not one.loads]
        fitting = [c for c in _curve(self._surface, draft) if not failed or c.k < min(failed)]
        near = (min(fitting, key=lambda c: (abs(c.k - k), c.k)) for k in PROFILED_K if fitting)
        return [*fitting[-1:], *near]

    def rank(self, tried: Sequence[Tried]) -> list[str]:
        """Return candidates' keys by predicted goodput; drafts of which less than two K ran take no part."""
        base = next(one for one in tried if not one.candidate.k)
        gains: dict[str, float] = {BASELINE.key: 0.0}
        for draft in self._surface.drafts:
            runs = sorted((one for one in tried if one.candidate.draft_name == draft and one.loads), key=_k)
            if len(runs) < 2:
                continue
            by_load = {load.key: predicted(runs, load.key) for load in self._surface.loads}
            for one in _curve(self._surface, draft):
                if all(one.k in at for at in by_load.values()):
                    gain = {key: base.loads[key].log_tpot - at[one.k] for key, at in by_load.items()}
                    gains[one.key] = weighted(self._surface.loads, gain)
        if len(gains) == 1:
            return ranked(self._surface, tried)
        return sorted(gains, key=lambda key: (-gains[key], self._surface.k[key]))


class MedianMinusMad(Grid):
    """Every K measured; score is the median speed less the median absolute deviation; within 1 % the smaller K."""

    name = "median_mad"

    def __init__(self, surface: Surface) -> None:
        super().__init__(surface)
        self._surface = surface

    def rank(self, tried: Sequence[Tried]) -> list[str]:
        """Return candidates' keys by score, the baseline's among them; ties of the best to the smaller K."""
        scores, k = self._scores(tried), self._surface.k
        order = sorted(scores, key=lambda key: (-scores[key], k[key]))
        near = (key for key in order if scores[key] >= scores[order[0]] + math.log1p(-MAD_TIE))
        best = min(near, key=lambda key: k[key])
        return [best, *(key for key in order if key != best)]

    def _scores(self, tried: Sequence[Tried]) -> dict[str, float]:
        """Return log(median x (1 - MAD / median)). Of three numbers the MAD is nearly the median's standard error."""
        loads = self._surface.loads
        mads = {
            o.candidate.key: weighted(loads, {k: v.se or 0.0 for k, v in o.loads.items()}) for o in tried if o.loads
        }
        return {key: gain + math.log1p(-mads[key]) for key, gain in measured_gains(self._surface, tried).items()}


def _k(one: Tried) -> int:
    return one.candidate.k


def _curve(surface: Surface, draft: str) -> list[Candidate]:
    return sorted((c for c in surface.candidates if c.draft_name == draft), key=lambda c: c.k)


def predicted(runs: Sequence[Tried], load: str) -> Mapping[int, float]:
    """Return log TPOT by K up to the largest that ran, at one load point; runs by ascending K."""
    growth = runs[-1].loads[load].growth.logs
    if not all(one.loads[load].growth.logs for one in runs):
        return {}
    times = [math.exp(one.loads[load].log_tpot + one.loads[load].growth.logs[-1]) for one in runs]
    ks = [one.candidate.k for one in runs]
    return {k: math.log(float(np.interp(k, ks, times))) - growth[k - 1] for k in range(1, len(growth) + 1)}
