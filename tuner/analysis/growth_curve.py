"""Tokens per step at every K, told from one run, and how far to trust that. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from tuner.analysis.steptime import Floats
from tuner.records import Growth, GrowthSource, Observed

GROWTH_SD: Mapping[GrowthSource, float] = {
    GrowthSource.REPLAY: 0.005,
    GrowthSource.PROMPTS: 0.015,
    GrowthSource.POOLED: 0.05,
}
"""Log SD of tokens per step at K = 1, told from a run at a large K."""
_USUAL = 0.7
"""Acceptance that is assumed where it is not told."""
_UNKNOWN_SD = 0.35


def reference_growth(measured: Mapping[int, Observed]) -> Growth:
    """Return the growth that reaches farthest."""
    found = [(len(o.growth.logs), k) for k, o in measured.items() if o.growth.source is not GrowthSource.NONE]
    return measured[max(found)[1]].growth if found else Growth()


def growth_curve(growth: Growth, ks: Sequence[int]) -> tuple[Floats, Floats]:
    """Return log tokens per step at `ks` and the covariance of its error, relative to that at the run's own K.

    Below the run's K the error grows towards K = 1 like a random walk; above it each further token is taken to bring as
    much less as the last one did, and half of what that adds is in doubt. Where nothing is told, an ordinary draft is
    assumed, with a large error.
    """
    k = np.asarray(ks, dtype=float)
    if growth.source is GrowthSource.NONE or not growth.logs:
        usual = np.log((1 - _USUAL ** (k + 1)) / (1 - _USUAL))
        return usual, np.asarray(_UNKNOWN_SD**2 * np.outer(usual, usual))
    top = len(growth.logs)
    logs = np.asarray(_extended(growth.logs, max(ks)))[np.asarray(ks) - 1]
    below = np.maximum(0.0, top - k) / max(top - 1, 1)
    walk = GROWTH_SD[growth.source] ** 2 * np.minimum(below[:, None], below[None, :])
    doubt = np.where(k > top, 0.5 * (logs - growth.logs[-1]) + 0.005 * (k - top), 0.0)
    return logs, np.asarray(walk + doubt[:, None] * doubt[None, :])


def _extended(logs: Sequence[float], up_to: int) -> list[float]:
    tokens = [1.0, *(math.exp(value) for value in logs)]
    while len(tokens) <= up_to:
        last = tokens[-1] - tokens[-2]
        before = tokens[-2] - tokens[-3] if len(tokens) > 2 else 1.0
        ratio = min(1.0, max(0.0, last / before)) if before > 0 else 0.0
        tokens.append(tokens[-1] + max(0.0, last) * ratio)
    return [math.log(value) for value in tokens[1:]]
