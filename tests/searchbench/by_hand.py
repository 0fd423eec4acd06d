"""Surfaces without noise, written down by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tests.searchbench.lives import Noise
from tests.searchbench.surfaces import BASELINE, Arm, Surface, candidate, load_point
from tuner.records import Growth, GrowthSource

SILENT = Noise(0.0)


def surface(
    speedups: Mapping[str, Mapping[int, float]], growths: Mapping[int, float] | None = None, fits: int = 99
) -> Surface:
    """Return a surface without noise.  speedups: by draft and K.  growths: tokens per step by K, of every draft."""
    load = load_point(1)
    arms = {BASELINE.key: Arm({load.key: math.log(0.01)})}
    candidates = []
    for draft, by_k in speedups.items():
        for k, speedup in by_k.items():
            one = candidate(draft, k)
            candidates.append(one)
            logs = tuple(math.log(growths[i]) for i in range(1, k + 1)) if growths else ()
            grown = Growth(logs, GrowthSource.REPLAY, 12) if logs else Growth()
            log = math.log(0.01 / speedup)
            arms[one.key] = Arm({load.key: log}, logs[-1] if logs else None, grown, k <= fits)
    return Surface("hand", "hand", (), (load,), tuple(candidates), arms, 12, 0.0, 7)


PEAK = surface({"a": {1: 1.2, 2: 1.4, 3: 1.6, 4: 1.5, 5: 1.3, 6: 1.1, 7: 1.0, 8: 0.9}})
