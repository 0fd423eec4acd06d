"""The simulated engine's noise by whole requests, in one vector a repeat: its steps one by one would take too long."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tuner.engine.sim.noise import LifeNoise
from tuner.engine.sim.profile import Noise

Vector = NDArray[np.float64]


def requests_factor(
    noise: Noise, steps: float, began_s: Vector, lasts_s: Vector, random: np.random.Generator
) -> Vector:
    """Return the factor on the time per token of each request: of its steps, and of the machine meanwhile.

    steps: how many steps a request takes.  began_s, lasts_s: when each begins, and how long it takes without noise.
    The mean of many independent step factors is normal; outliers are counted; bursts count by the share of the request
    that they cover, drift by its middle.
    """
    factor = np.ones_like(began_s)
    if noise.step_sd:
        one = math.sqrt(math.expm1(noise.step_sd**2) / steps)  # log-normal with mean 1
        factor += one * random.standard_normal(factor.shape)
    if noise.outlier_rate:
        hit = random.binomial(max(1, round(steps)), noise.outlier_rate, factor.shape)
        factor += (noise.outlier_factor - 1.0) * hit / max(1, round(steps))
    if noise.bursts:
        covered = (_slowed_s(noise, began_s + lasts_s) - _slowed_s(noise, began_s)) / lasts_s
        factor *= 1.0 + (noise.bursts.factor - 1.0) * covered
    if noise.drift:
        turns = (began_s + lasts_s / 2 + noise.drift.phase_s) / noise.drift.period_s
        factor *= 1.0 + noise.drift.amplitude * np.sin(2 * np.pi * turns)
    return factor


def _slowed_s(noise: Noise, unix_time_s: Vector) -> Vector:
    """Return how many of the seconds before that time lay in a burst, but for a constant."""
    if noise.bursts is None:
        return np.zeros_like(unix_time_s)
    whole, rest = np.divmod(unix_time_s, noise.bursts.period_s)
    return np.asarray(whole * noise.bursts.duration_s + np.minimum(rest, noise.bursts.duration_s), dtype=np.float64)


def lane_starts(lasts_s: Vector, concurrency: int) -> Vector:
    """Return when each request of a closed loop begins: request i in lane i mod `concurrency`, one after another."""
    lanes = min(concurrency, len(lasts_s))
    padded = np.zeros(math.ceil(len(lasts_s) / lanes) * lanes)
    padded[: len(lasts_s)] = lasts_s
    rows = padded.reshape(-1, lanes)
    return np.asarray((np.cumsum(rows, axis=0) - rows).reshape(-1)[: len(lasts_s)], dtype=np.float64)


def life_noise(noise: Noise, seed: int, life: str, *, speculative: bool) -> LifeNoise:
    """Return the simulated engine's own draws for a life and its repeats."""
    return LifeNoise(noise, seed, life, speculative)
