"""Time per step against K: which curves are physically possible, and how far a real one strays from them. Pure.

A step takes the draft's K passes and one pass of the target over concurrency x (K + 1) tokens. Reading the weights
makes that pass cost the same for few tokens, from some number on computing takes over (a bend), and padding to sizes
of captured graphs makes it jump (a step). So the time is level x (1 + slope K) with at most one bend or step, and never
falls; what no such curve explains is a random deviation. K = 0 may run on another runner and is not on the curve.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LEVEL, LEVEL_SD = 0.05, 0.15
"""Log time of a step extrapolated to K = 0 over the baseline's: what speculation costs before any draft."""
_SLOPES = np.geomspace(0.003, 1.0, 25)
_SLOPE_CENTRE, _SLOPE_SPREAD = np.log(0.06), 1.3
_BENDS = (0.25, 0.5, 1.0)
_JUMPS = (0.08, 0.18, 0.35)
_PLAIN, _BENT, _JUMPED = 0.5, 0.38, 0.12
SMOOTH_SD, SMOOTH_LENGTH, ROUGH_SD = 0.015, 3.0, 0.004
"""Log SD of the deviation that neighbouring K share, over how many K, and of what each K has for itself."""
SCALES = (0.5, 1.0, 2.0, 4.0, 10.0)
_SCALE_WEIGHTS = (0.3, 0.4, 0.17, 0.09, 0.04)
"""How much larger the deviations may be than assumed, and how likely that is before anything was measured."""
FLOOR = 0.7
"""A step that takes less than this share of the baseline's would read the weights faster than the baseline does."""


@dataclass(frozen=True)
class Shapes:
    """Possible curves.  logs: (curves, K), log time per step over its level.  log_prior: (curves,)."""

    logs: Floats
    log_prior: Floats


@lru_cache(maxsize=64)
def shapes(ks: tuple[int, ...]) -> Shapes:
    """Return the possible curves at these K, with prior weights that add up to 1.

    Slopes are log-spaced. A bend at K = b adds g (K - b) beyond it, with g up to 1 / (b + 1): the slope of a pass that
    is all computing. A step multiplies the time from some K on.
    """
    k = np.asarray(ks, dtype=float)
    slope_log = np.exp(-0.5 * ((np.log(_SLOPES) - _SLOPE_CENTRE) / _SLOPE_SPREAD) ** 2)
    slope_prior = np.log(slope_log / slope_log.sum())
    straight = 1.0 + _SLOPES[:, None] * k[None, :]
    curves, priors = [np.log(straight)], [slope_prior + np.log(_PLAIN)]
    inner = sorted(set(range(1, int(k.max()))))
    for at in inner:
        for part in _BENDS:
            curves.append(np.log(straight + part / (at + 1.0) * np.maximum(0.0, k - at)[None, :]))
            priors.append(slope_prior + np.log(_BENT / len(inner) / len(_BENDS)))
        for jump in _JUMPS:
            curves.append(np.log(straight) + np.where(k > at, np.log1p(jump), 0.0)[None, :])
            priors.append(slope_prior + np.log(_JUMPED / len(inner) / len(_JUMPS)))
    logs, prior = np.concatenate(curves), np.concatenate(priors)
    return Shapes(logs, prior - np.log(np.exp(prior).sum()))


def deviation(ks: Sequence[int], scale: float = 1.0) -> Floats:
    """Return the covariance (K, K) of a real curve's log deviation from its shape."""
    k = np.asarray(ks, dtype=float)
    smooth = SMOOTH_SD**2 * np.exp(-np.abs(k[:, None] - k[None, :]) / SMOOTH_LENGTH)
    return np.asarray(scale**2 * (smooth + ROUGH_SD**2 * np.eye(len(k))))


def scale_priors() -> list[tuple[float, float]]:
    """Return each possible scale of the deviations with its log weight."""
    return [(scale, float(np.log(weight))) for scale, weight in zip(SCALES, _SCALE_WEIGHTS, strict=True)]


def impossible(log_times: Mapping[int, float], baseline: float | None, noise: float) -> str:
    """Return why these step times cannot be one engine's, "" if they can.

    log_times: log seconds per step by K.  baseline: the same without speculation, None if not known.  noise: log SD of
    one of them.
    """
    allowed = 3.0 * 2**0.5 * noise
    order = sorted(log_times)
    highest = order[0] if order else 0
    for k in order:
        if log_times[k] < log_times[highest] - allowed:
            return f"a step with K = {k} takes less time than one with K = {highest}"
        if log_times[k] > log_times[highest]:
            highest = k
    if baseline is not None:
        for k in order:
            if log_times[k] < baseline + np.log(FLOOR) - allowed:
                return f"a step with K = {k} takes less than {FLOOR * 100:g} % of the baseline's"
    return _below_zero(log_times, order, allowed)


def _below_zero(log_times: Mapping[int, float], order: Sequence[int], allowed: float) -> str:
    """A straight line through the two smallest K leaves nothing for verification at K = 0, even within noise."""
    if len(order) < 2 or order[0] > 2:
        return ""
    low, high = order[0], order[1]
    left = np.exp(log_times[low] + allowed / 2) * high - np.exp(log_times[high] - allowed / 2) * low
    return "" if left > 0 else f"K = {low} and {high} leave no time for verification"
