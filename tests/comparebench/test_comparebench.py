"""The bench in small: that its engines are what they say, that its rates are counted right, that it names rightly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.comparebench.__main__ import DOCUMENT, NOISES, PLANTED, Seen, _rates, bench, good_enough
from tests.comparebench.page import PAGE, filled, table
from tests.comparebench.world import Engine, prompts_of, side, sweep
from tests.truth.regimes import PROTOCOL
from tests.truth.world import BASE_TPOT_S
from tuner.compare import Outcome, compare
from tuner.compare.sides import setting_key
from tuner.engine.sim.profile import Noise
from tuner.records import Role


def test_without_noise_what_was_planted_is_measured() -> None:
    prompts = prompts_of(3)
    quiet = Noise()
    old = side(sweep(prompts, Engine(), quiet, 1, PROTOCOL), "old", PROTOCOL)
    new = side(sweep(prompts, Engine(acceptance=0.9, speed=1.1), quiet, 2, PROTOCOL), "new", PROTOCOL)
    ratios = {row.figure: row.ratio.value for row in compare(old, new).rows if row.load_point.concurrency == 1}
    assert ratios["acceptance_length"] == pytest.approx(0.9, rel=2e-3)
    assert ratios["baseline_tpot"] == pytest.approx(1 / 1.1, rel=1e-6)
    assert ratios["baseline_ttft"] == pytest.approx(1 / 1.1, rel=1e-6)
    assert ratios["tpot"] == pytest.approx(1 / 1.1 / 0.9, rel=2e-3)
    assert ratios["step_cost"] == pytest.approx(1.0, rel=3e-3)


def test_engines_accept_and_time_as_the_prompts_say() -> None:
    prompts = prompts_of(3)
    trials = sweep(prompts, Engine(), Noise(), 1, PROTOCOL)
    measured = side(trials, "x", PROTOCOL)
    key = setting_key(measured.answers[0].best)
    k = measured.answers[0].best.k
    length = measured.loads[0].arms[key]["acceptance_length"].estimate
    assert length is not None
    # Over the counters, so that a prompt counts by its steps: the harmonic mean.
    assert np.exp(length.mean) == pytest.approx(1 / np.mean(1 / prompts.lengths[k]), rel=2e-3)
    baseline = measured.loads[0].baseline["tpot"].estimate
    assert baseline is not None
    assert np.exp(baseline.mean) == pytest.approx(np.exp(np.log(prompts.base_s).mean()), rel=1e-3)
    assert 0.5 * BASE_TPOT_S < np.exp(baseline.mean) < 2 * BASE_TPOT_S
    for trial in (one for one in trials if one.record.candidate.k and one.record.role is Role.CANDIDATE):
        for repeat in (repeat for load in trial.record.loads for repeat in load.repeats):
            counted = repeat.counters
            positions = counted.accepted_per_pos or ()
            assert sum(positions) == counted.accepted_tokens
            assert list(positions) == sorted(positions, reverse=True)
            assert positions[0] <= (counted.drafts or 0)


def test_the_noises_are_at_most_one_percent_from_life_to_life() -> None:
    for noise in NOISES.values():
        assert max(noise.life_sd, np.hypot(noise.life_sd, noise.speculative_life_sd)) <= 0.01 + 1e-4


def test_rates_by_hand() -> None:
    good = Seen(Outcome.SAME, named=True, alarms=0, rows=10, rows_same=8, same_setting=True)
    bad = Seen(Outcome.WORSE, named=False, alarms=2, rows=10, rows_same=4, same_setting=False)
    rates = _rates([good, good, good, bad], "nothing")
    assert (rates["named"], rates["false_alarms"], rates["same"], rates["worse"]) == (0.75, 0.25, 0.75, 0.25)
    assert (rates["figures_same"], rates["same_setting"]) == (0.7, 0.75)
    assert good_enough({"x": {"nothing": rates}}) == {"x, nothing": False}
    assert good_enough({"x": {"nothing": _rates([good] * 20, "nothing")}}) == {"x, nothing": True}
    named: dict[str, Any] = {**_rates([good] * 20, "nothing"), "false_alarms": 0.06}
    assert good_enough({"x": {"nothing": named}}) == {"x, nothing": False}


def test_the_page_has_the_table_of_the_kept_result() -> None:
    result = json.loads(DOCUMENT.read_text(encoding="utf-8"))
    assert "\n".join(table(result)) in PAGE.read_text(encoding="utf-8")
    assert result["ok"]
    assert result["seeds"] >= 100
    with pytest.raises(ValueError, match="no place"):
        filled("a page without markers", result)


def test_what_is_planted_is_named(tmp_path: Path) -> None:
    found = bench(["both_0.5"], seeds=2, seed=77, workers=2)
    for name in PLANTED:
        rates: Any = found["both_0.5"]
        assert rates[name]["named"] == 1.0, name
    assert rates["nothing"]["false_alarms"] == 0.0
