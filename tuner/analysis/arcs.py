"""Curves of log TPOT over K as they were measured, and how far they may stray from any formula. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.analysis import steptime
from tuner.analysis.growth_curve import growth_curve, reference_growth
from tuner.analysis.steptime import Floats
from tuner.records import Candidate, GrowthSource, Observed, canonical_json

LEVEL_SD, SLOPE_SD, SMOOTH_SD, ROUGH_SD, SMOOTH_LENGTH = 0.02, 0.003, 0.015, 0.012, 3.0
"""Log SDs of a curve's deviation: as a whole, by K, what neighbouring K share (over how many K), each K's own."""
IMPOSSIBLE, UNTOLD = 6.0, 4.0
"""Factors on the deviation of a curve whose times cannot be, and of one whose acceptance is not told."""
_NOISE_FLOOR = 1e-4


@dataclass(frozen=True)
class ModelError:
    """How far figures stray.

    life_sd: log SD between two lives of one engine.  repeat_sd: standard error of an engine life's mean where it has
    none of its own.  scale: factor on the deviation of step times from the formula.
    """

    life_sd: float = 0.01
    repeat_sd: float = 0.015
    scale: float = 1.0

    def variance(self, observed: Observed) -> float:
        """Return the variance of one engine life's log TPOT about that of the candidate."""
        se = self.repeat_sd if observed.se is None else observed.se
        return self.life_sd**2 + se**2 + _NOISE_FLOOR**2


@dataclass(frozen=True)
class Arc:
    """One draft at one load point.

    draft, load: names of the two.  measured: by K, at least one.  ks: sorted, those measured included.
    """

    draft: str
    load: str
    concurrency: int
    measured: Mapping[int, Observed]
    ks: tuple[int, ...]


@dataclass(frozen=True)
class Block:
    """What is known of an arc before the formula is fitted.

    at: places of the measured K.  logs: log tokens per step at every K.  times: measured log times per step.
    noise: their variances.  deviation: covariance at scale 1; growth: that of `logs`.
    impossible: why the times cannot be one engine's, "" if they can.
    """

    arc: Arc
    at: NDArray[np.intp]
    logs: Floats
    times: Floats
    noise: Floats
    deviation: Floats
    growth: Floats
    impossible: str

    def prior(self, scale: float) -> Floats:
        """Return the covariance over K of what the formula does not explain."""
        return np.asarray(scale**2 * self.deviation + self.growth)

    def noisy(self, prior: Floats) -> Floats:
        """Return the covariance of the measured times."""
        return np.asarray(prior[np.ix_(self.at, self.at)] + np.diag(self.noise))


def curve_name(candidate: Candidate) -> str:
    """Return what candidates have in common that differ in K alone."""
    spec = candidate.speculation
    named = None if spec is None else [spec.draft_name, spec.method, spec.draft, dict(spec.options)]
    return canonical_json([named, dict(candidate.engine_args)])


def block(arc: Arc, baseline: Observed | None, model: ModelError, loads: int) -> Block:
    """Return what is known of an arc.

    baseline: at this load point, None if not measured.  loads: at how many load points a life of this draft was
    measured: what is its own moves all of them alike.
    """
    growth = reference_growth(arc.measured)
    logs, growth_cov = growth_curve(growth, arc.ks)
    known = sorted(arc.measured)
    at = np.asarray([arc.ks.index(k) for k in known])
    times = np.asarray([arc.measured[k].log_tpot for k in known]) + logs[at]
    noise = np.asarray([model.variance(arc.measured[k]) + (loads - 1) * model.life_sd**2 for k in known])
    why, factor = "", 1.0
    if growth.source is GrowthSource.NONE:
        factor = UNTOLD
    else:
        by_k = dict(zip(known, times.tolist(), strict=True))
        why = steptime.impossible(by_k, baseline.log_tpot if baseline else None, float(np.sqrt(noise.max())))
        factor = IMPOSSIBLE if why else 1.0
    return Block(arc, at, logs, times, noise, factor**2 * _deviation(arc.ks), growth_cov, why)


def _deviation(ks: Sequence[int]) -> Floats:
    k = np.asarray(ks, dtype=float)
    smooth = SMOOTH_SD**2 * np.exp(-np.abs(k[:, None] - k[None, :]) / SMOOTH_LENGTH)
    return np.asarray(LEVEL_SD**2 + SLOPE_SD**2 * np.outer(k, k) + smooth + ROUGH_SD**2 * np.eye(len(k)))
