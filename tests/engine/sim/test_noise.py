from __future__ import annotations

import math
import statistics

import pytest

from tuner.engine.sim.noise import LifeNoise
from tuner.engine.sim.profile import Bursts, Drift, Noise


def log_sd(values: list[float]) -> float:
    return statistics.pstdev(math.log(value) for value in values)


def test_no_noise_is_exactly_one() -> None:
    quiet = LifeNoise(Noise(), 0, "a", speculative=True)
    assert (quiet.life_factor, quiet.repeat_factor("x"), quiet.step_factor(5.0)) == (1.0, 1.0, 1.0)


def test_equal_lives_are_equal_and_others_are_not() -> None:
    noise = Noise(life_sd=0.1, repeat_sd=0.02, step_sd=0.05)

    def draws(life: str, seed: int = 0) -> list[float]:
        one = LifeNoise(noise, seed, life, speculative=False)
        return [one.life_factor, one.repeat_factor("salt"), *(one.step_factor(0.0) for _ in range(3))]

    assert draws("a") == draws("a")
    assert draws("a")[0] != draws("b")[0]
    assert draws("a")[1] != draws("a", seed=1)[1]


def test_spread_between_lives_grows_with_speculation() -> None:
    noise = Noise(life_sd=0.03, speculative_life_sd=0.04)
    plain = [LifeNoise(noise, 0, str(i), speculative=False).life_factor for i in range(3000)]
    speculative = [LifeNoise(noise, 0, str(i), speculative=True).life_factor for i in range(3000)]
    assert log_sd(plain) == pytest.approx(0.03, rel=0.05)
    assert log_sd(speculative) == pytest.approx(0.05, rel=0.05)
    assert statistics.median(plain) == pytest.approx(1.0, abs=0.003)


def test_repeats_and_steps_have_the_spread_that_was_set() -> None:
    life = LifeNoise(Noise(repeat_sd=0.02, step_sd=0.2), 0, "a", speculative=False)
    assert log_sd([life.repeat_factor(f"salt {i}") for i in range(3000)]) == pytest.approx(0.02, rel=0.05)
    steps = [life.step_factor(0.0) for _ in range(5000)]
    assert log_sd(steps) == pytest.approx(0.2, rel=0.05)
    assert statistics.fmean(steps) == pytest.approx(1.0, abs=0.01)


def test_outliers_come_at_their_rate() -> None:
    life = LifeNoise(Noise(outlier_rate=0.1, outlier_factor=5.0), 0, "a", speculative=False)
    steps = [life.step_factor(0.0) for _ in range(5000)]
    assert set(steps) == {1.0, 5.0}
    assert steps.count(5.0) / 5000 == pytest.approx(0.1, abs=0.015)


def test_bursts_and_drift_follow_the_clock() -> None:
    bursts = Bursts(period_s=10.0, duration_s=2.0, factor=3.0)
    life = LifeNoise(Noise(bursts=bursts), 0, "a", speculative=False)
    assert [life.step_factor(t) for t in (0.0, 1.9, 2.1, 9.9, 11.0)] == [3.0, 3.0, 1.0, 1.0, 3.0]
    drift = Drift(amplitude=0.1, period_s=100.0, phase_s=25.0)
    slow = LifeNoise(Noise(drift=drift), 0, "a", speculative=False)
    assert [slow.step_factor(t) for t in (0.0, 25.0, 50.0)] == pytest.approx([1.1, 1.0, 0.9])
