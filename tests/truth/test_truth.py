"""The bench in small: that its engines are the simulated engine's, that its rates are counted right, that it runs."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from tests.truth.__main__ import DOCUMENT, PAGE, bench, tasks_of
from tests.truth.noise import lane_starts, life_noise, requests_factor
from tests.truth.page import page
from tests.truth.regimes import PROTOCOL, REGIMES, Regime, alike_world, effect_world, random_world
from tests.truth.scores import random_bars, random_scores, regime_bars, regime_scores
from tests.truth.sweep import Told, run_sweep
from tests.truth.world import Lab
from tuner.engine.sim.profile import Bursts, Drift, Noise
from tuner.records import Role, Verdict

QUIET = Regime("quiet", Noise(), 0.2, prompts=4, prompt_sd=0.1)


@pytest.mark.parametrize(
    "machine",
    [
        {"bursts": Bursts(period_s=7.0, duration_s=2.0, factor=1.5)},
        {"drift": Drift(amplitude=0.05, period_s=40.0, phase_s=3.0)},
    ],
)
def test_the_machine_slows_a_request_as_it_slows_the_simulated_engines_steps(machine: dict[str, object]) -> None:
    noise = Noise.model_validate(machine)
    began, lasts, steps = np.array([0.0, 3.3, 11.9]), np.array([2.5, 2.5, 4.0]), 4000
    ours = requests_factor(noise, steps, began, lasts, np.random.default_rng(1))
    engine = life_noise(noise, 1, "a", speculative=False)
    for first, last, factor in zip(began, lasts, ours, strict=True):
        times = first + last * (np.arange(steps) + 0.5) / steps
        assert factor == pytest.approx(np.mean([engine.step_factor(float(t)) for t in times]), rel=2e-3)


def test_steps_and_outliers_have_the_simulated_engines_mean_and_spread() -> None:
    noise, steps, n = Noise(step_sd=0.2, outlier_rate=0.02, outlier_factor=3.0), 20, 4000
    ours = requests_factor(noise, steps, np.zeros(n), np.ones(n), np.random.default_rng(1))
    engine = life_noise(noise, 1, "a", speculative=False)
    theirs = np.array([[engine.step_factor(0.0) for _ in range(steps)] for _ in range(n)]).mean(axis=1)
    assert ours.mean() == pytest.approx(theirs.mean(), abs=0.006)
    assert ours.std() == pytest.approx(theirs.std(), rel=0.06)


def test_requests_of_a_lane_follow_one_another() -> None:
    assert lane_starts(np.array([1.0, 2.0, 3.0, 4.0, 5.0]), 2).tolist() == [0.0, 0.0, 1.0, 2.0, 4.0]


def test_without_noise_a_sweep_tells_the_truth_exactly() -> None:
    told = run_sweep(effect_world(QUIET, 5), PROTOCOL)
    assert told.verdict is Verdict.SPECULATE
    assert told.truth == pytest.approx(math.log(1.2))
    assert told.value == pytest.approx(told.truth, abs=1e-9)
    assert told.similar_truth != pytest.approx(told.truth, abs=1e-4)


def test_a_noisy_load_point_gets_more_repeats() -> None:
    world = effect_world(replace(QUIET, noise=Noise(repeat_sd=0.03)), 5)
    quiet, noisy = (Lab(w).life(Role.CANDIDATE, w.candidates[0], PROTOCOL) for w in (effect_world(QUIET, 5), world))
    assert [len(load.repeats) for load in quiet.record.loads] == [3, 3]
    assert max(len(load.repeats) for load in noisy.record.loads) == 9


def test_rates_by_hand() -> None:
    hit = Told(Verdict.SPECULATE, 9, recommended=True, truth=0.1, low=0.05, value=0.1, high=0.15, lives=3)
    beside = replace(hit, truth=0.2)
    unsure = Told(Verdict.INCONCLUSIVE, 9, truth=0.1, low=-0.1, value=0.0, high=0.05, lives=12)
    against = replace(unsure, verdict=Verdict.DO_NOT)
    scores = regime_scores([hit, hit, beside, unsure], [unsure, unsure, unsure, against])
    assert scores["coverage"] == pytest.approx(2 / 3, abs=1e-4)
    assert scores["coverage_all"] == 0.5
    assert (scores["aa_false_rate"], scores["missed_rate"], scores["reversed_rate"]) == (0.25, 0.25, 0.0)
    assert regime_scores([against, hit], [])["reversed_rate"] == 0.5
    assert regime_bars(scores) == {
        "coverage": False,
        "aa_false_rate": False,
        "missed_rate": False,
        "reversed_rate": True,
    }


def test_a_slowdown_that_is_recommended_is_counted() -> None:
    good = Told(Verdict.SPECULATE, 9, recommended=True, truth=-0.005, low=0.01, value=0.1, high=0.2, lives=3)
    slow, bold = replace(good, truth=-0.02), replace(good, low=0.0)
    assert random_bars(random_scores([good] * 100)) == {"slowdown_recommended_rate": True, "lower_bound": True}
    assert random_bars(random_scores([good] * 90 + [slow] * 10)) == {
        "slowdown_recommended_rate": False,
        "lower_bound": True,
    }
    assert not random_bars(random_scores([bold]))["lower_bound"]


def test_worlds_are_what_they_say() -> None:
    alike = alike_world(REGIMES[0], 1)
    assert len(alike.candidates) == 16
    assert all(alike.true_log(c, alike.loads) == 0.0 for c in alike.candidates)
    truths = [w.true_log(c, w.loads) for w in map(random_world, range(20)) for c in w.candidates]
    assert min(truths) < -0.2
    assert max(truths) > 0.2
    seeds = [seed for _, _, of_task in tasks_of(REGIMES, True, 30, 1) for seed in of_task]
    assert len(seeds) == len(set(seeds))


def test_the_bench_runs_and_its_rates_are_not_absurd() -> None:
    chosen = [regime for regime in REGIMES if regime.name in {"lives_1", "lives_5_repeats_3"}]
    found = bench(chosen, True, sweeps=5, seed=7, workers=2)
    for regime in chosen:
        scores = found[regime.name]
        rates = {name: scores[name] for name in ("coverage", "aa_false_rate", "missed_rate", "reversed_rate")}
        assert all(isinstance(rate, float) for rate in rates.values())
        assert scores["coverage"] >= 0.4  # type: ignore[operator]
        assert scores["aa_false_rate"] <= 0.4  # type: ignore[operator]
        assert scores["missed_rate"] <= 0.4  # type: ignore[operator]
        assert scores["reversed_rate"] <= 0.2  # type: ignore[operator]
    assert found["surfaces"]["slowdown_recommended_rate"] <= 0.1  # type: ignore[operator]
    assert found["surfaces"]["recommended_at_a_lower_bound_of_1_or_less"] == 0


def test_the_page_is_that_of_the_kept_result() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page(text, json.loads(DOCUMENT.read_text(encoding="utf-8"))) == text
    with pytest.raises(ValueError, match="no part"):
        page("# nothing", {})
