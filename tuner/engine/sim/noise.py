"""Factors on the step time: between engine lives, between repeats, between steps, and from the machine."""

from __future__ import annotations

import math

from tuner.engine.sim.draws import generator
from tuner.engine.sim.profile import Noise


class LifeNoise:
    """The noise of one engine life.

    life: what tells lives apart, such as the served model name; equal lives of one seed are equal in every draw.
    """

    def __init__(self, noise: Noise, seed: int, life: str, speculative: bool) -> None:
        self._noise = noise
        self._seed = seed
        self._life = life
        spread = math.hypot(noise.life_sd, noise.speculative_life_sd if speculative else 0.0)
        self.life_factor = math.exp(spread * generator(seed, "life", life).gauss(0.0, 1.0))
        self._steps = generator(seed, "steps", life)

    def repeat_factor(self, cache_salt: str) -> float:
        """Return the factor of the repeat that a cache salt stands for."""
        sd = self._noise.repeat_sd
        return math.exp(sd * generator(self._seed, "repeat", self._life, cache_salt).gauss(0.0, 1.0)) if sd else 1.0

    def step_factor(self, unix_time_s: float) -> float:
        """Return the factor of the next step, begun at a Unix time; the life's own factor included."""
        noise, factor = self._noise, self.life_factor
        if noise.step_sd:
            factor *= math.exp(noise.step_sd * self._steps.gauss(0.0, 1.0) - noise.step_sd**2 / 2)
        if noise.outlier_rate and self._steps.random() < noise.outlier_rate:
            factor *= noise.outlier_factor
        return factor * self._machine_factor(unix_time_s)

    def _machine_factor(self, unix_time_s: float) -> float:
        bursts, drift, factor = self._noise.bursts, self._noise.drift, 1.0
        if bursts and unix_time_s % bursts.period_s < bursts.duration_s:
            factor *= bursts.factor
        if drift:
            factor *= 1.0 + drift.amplitude * math.sin(2 * math.pi * (unix_time_s + drift.phase_s) / drift.period_s)
        return factor
