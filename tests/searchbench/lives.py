"""Engine lives of a surface: what each of them measures, with noise of its own, and what it costs.

The noise of a candidate's n-th life depends on surface, candidate and n alone, so that every strategy meets the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tests.searchbench.surfaces import TOKENS, Surface
from tuner.records import Candidate, Observed, Outcome, Tried

REPEATS = 3
PLAIN_LIFE_SD = 0.001
"""Of an engine without speculation; only speculating ones differ more from life to life."""
START_S = 90.0
FAILED_START_S = 60.0
MEDIAN_OF_3_SD = 0.6698
"""SD of the median of three standard normal numbers."""


@dataclass(frozen=True)
class Noise:
    """life_sd: of the log TPOT over lives of one speculating engine.  seed: another one is another set of lives."""

    life_sd: float
    seed: int = 0


def live(surface: Surface, candidate: Candidate, noise: Noise, life: int = 0) -> Tried:
    """Return what one life of a candidate says at every load point: the median of three repeats at each."""
    arm = surface.arms[candidate.key]
    if not arm.fits:
        return Tried(candidate, Outcome.MEMORY)
    number = list(surface.arms).index(candidate.key)
    random = np.random.default_rng([surface.seed, noise.seed, number, life])
    own = (noise.life_sd if candidate.k else min(noise.life_sd, PLAIN_LIFE_SD)) * float(random.standard_normal())
    loads = {}
    for load in surface.loads:
        repeats = surface.repeat_sd * random.standard_normal(REPEATS)
        se = arm.ses.get(load.key, MEDIAN_OF_3_SD * float(np.std(repeats, ddof=1)))
        loads[load.key] = Observed(arm.log_tpot[load.key] + own + float(np.median(repeats)), se, arm.growth)
    return Tried(candidate, Outcome.MEASURED, loads)


def life_s(surface: Surface, key: str) -> float:
    """Return what one life of a candidate takes: its start, then warm-up and repeats at every load point, seconds.

    A repeat sends every prompt, and at least two for each request in flight, as the tuner does.
    """
    arm = surface.arms[key]
    if not arm.fits:
        return FAILED_START_S
    load_s = 0.0
    for load in surface.loads:
        waves = math.ceil(max(surface.prompts, 2 * load.concurrency) / load.concurrency)
        warm_up = math.ceil(max(2, load.concurrency) / load.concurrency)
        load_s += (REPEATS * waves + warm_up) * TOKENS * math.exp(arm.log_tpot[load.key])
    return START_S + load_s
