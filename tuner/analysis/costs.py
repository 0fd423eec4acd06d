"""What a metric costs in one engine life, in seconds: in every metric the speedup is baseline / candidate.

TPOT and E2E latency have a value for each prompt. Throughput is of the load as a whole: its cost is the wall time per
output token, one value, whose uncertainty within a life comes from the repeats alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from tuner.analysis.life import LATENCIES, LoadView
from tuner.analysis.statistics import Spread, median, spread_of_mean
from tuner.records import Metric

WALL = "wall_s_per_token"
COSTS: Mapping[Metric, str] = {Metric.TPOT: "tpot_s", Metric.E2E: "e2e_s", Metric.THROUGHPUT: WALL}
"""Name of the cost that decides in a metric: a latency, or WALL."""
WHOLE = "the whole load"
"""Stands where a prompt's id stands, for a cost that is of no prompt."""


def costs(view: LoadView, name: str) -> Mapping[str, float]:
    """Return a cost in seconds: a latency by prompt (median over repeats), or 1 / throughput under WHOLE.

    Throughput is the median over repeats. Empty where nothing was measured.
    """
    if name != WALL:
        return view.by_prompt(LATENCIES[name])
    rate = median(view.throughputs) if view.throughputs else 0.0
    return {WHOLE: 1 / rate} if rate else {}


def cost_spread(view: LoadView, name: str) -> Spread:
    """Return the part of the variance of the mean log cost that comes from whole repeats being slower or faster."""
    if name != WALL:
        return view.repeat_spread(LATENCIES[name])
    return spread_of_mean([math.log(rate) for rate in view.throughputs if rate > 0])
