"""Time per step against K: which curves are physically possible, and how far a real one strays from them. Pure.

A step takes the draft's K passes and one pass of the target over concurrency x (K + 1) tokens. Reading the weights
makes that pass cost the same for few tokens, from some number on computing takes over (a bend), and padding to sizes
of captured graphs makes it jump (a step). So the time is level x (1 + slope K) with at most one bend or step, and never
falls; what no such curve explains is a random deviation. K = 0 may run on another runner and is not on the curve.
"""

from __future__ import annotations

import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LEVEL, LEVEL_SD = 0.05, 0.15
"""Log time of a step extrapolated to K = 0 over the baseline's: what speculation costs before any draft."""
_SLOPES = np.geomspace(0.003, 1.4, 26)
_FEW_SLOPES = np.geomspace(0.004, 1.2, 9)
_SLOPE_CENTRE, _SLOPE_SPREAD = np.log(0.06), 1.4
_BENDS = (0.3, 0.6, 0.9, 1.2)
_JUMPS = (0.08, 0.18, 0.35)
_PLAIN, _BENT, _JUMPED = 0.52, 0.4, 0.08
GRAPHS = (1, 2, 4, *range(8, 513, 8))
"""Batch sizes with a captured graph by default, as far as they are dense; passes are padded to the next one."""
_UNPADDED, _PADDED = 0.6, 0.2
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


@lru_cache(maxsize=256)
def shapes(ks: tuple[int, ...], concurrency: int) -> Shapes:
    """Return the possible curves at these K, with prior weights that add up to 1.

    Slopes are log-spaced. A bend where the pass has b times the tokens of a plain step adds g / b for each further
    one, g about 1 where a pass beyond it is all computing. A step multiplies the time from some K on. Passes are padded
    not at all, to the graph sizes, or to powers of two: then draft and verification have slopes of their own.
    """
    k = np.asarray(ks, dtype=float)
    tokens = [concurrency * (each + 1) for each in (0, *ks)]
    families = [_unpadded(k)]
    shares = [_UNPADDED]
    for pad in (_to_graph, _to_power):
        sizes = np.asarray([pad(n) for n in tokens]) / concurrency
        if np.ptp(sizes[1:] - k) > 1e-9:
            families.append(_padded(k, sizes[1:], sizes[0]))
            shares.append(_PADDED)
    logs = np.concatenate([np.log(curves) for curves, _ in families])
    prior = np.concatenate([np.log(share) + prior for share, (_, prior) in zip(shares, families, strict=True)])
    return Shapes(logs, prior - np.log(np.exp(prior).sum()))


def _to_graph(tokens: int) -> int:
    slot = bisect.bisect_left(GRAPHS, tokens)
    return GRAPHS[slot] if slot < len(GRAPHS) else tokens


def _to_power(tokens: int) -> int:
    return 1 << (tokens - 1).bit_length()


def _slope_prior(slopes: Floats) -> Floats:
    weight = np.exp(-0.5 * ((np.log(slopes) - _SLOPE_CENTRE) / _SLOPE_SPREAD) ** 2)
    return np.asarray(np.log(weight / weight.sum()))


def _unpadded(k: Floats) -> tuple[Floats, Floats]:
    prior = _slope_prior(_SLOPES)
    straight = 1.0 + _SLOPES[:, None] * k[None, :]
    curves, priors = [straight], [prior + np.log(_PLAIN)]
    inner = range(1, int(k.max()))
    for at in inner:
        for part in _BENDS:
            curves.append(straight + part / (at + 1.0) * np.maximum(0.0, k - at)[None, :])
            priors.append(prior + np.log(_BENT / len(inner) / len(_BENDS)))
        for jump in _JUMPS:
            curves.append(straight * np.where(k > at, 1.0 + jump, 1.0)[None, :])
            priors.append(prior + np.log(_JUMPED / len(inner) / len(_JUMPS)))
    return np.concatenate(curves), np.concatenate(priors)


def _padded(k: Floats, sizes: Floats, plain: float) -> tuple[Floats, Floats]:
    """sizes: padded tokens of a pass over the concurrency; plain: of one without speculation."""
    draft, token = np.meshgrid(_FEW_SLOPES, _FEW_SLOPES)
    prior = (_slope_prior(_FEW_SLOPES)[None, :] + _slope_prior(_FEW_SLOPES)[:, None]).ravel()
    straight = 1.0 + draft.ravel()[:, None] * k[None, :] + token.ravel()[:, None] * (sizes - plain)[None, :]
    curves, priors = [straight], [prior + np.log(_PLAIN)]
    bends = [b for b in (1.4, 2.0, 2.8, 4.0, 5.6, 8.0, 11.3, 16.0) if b < sizes.max()]
    for at in bends:
        for part in _BENDS[1::2]:
            curves.append(straight + part / at * np.maximum(0.0, sizes - at)[None, :])
            priors.append(prior + np.log((1 - _PLAIN) / len(bends) / 2))
    return np.concatenate(curves), np.concatenate(priors)


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
