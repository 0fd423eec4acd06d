"""The strategies on surfaces written by hand: what they start, that they end, and what their rules choose."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.searchbench.by_hand import PEAK, SILENT, surface
from tests.searchbench.lineup import NAMES, entry
from tests.searchbench.optuna_samplers import OptunaSearch
from tests.searchbench.plain import Binary
from tests.searchbench.published_rules import Goodput, MedianMinusMad, predicted
from tests.searchbench.replay import search
from tests.searchbench.simulated import simulated
from tests.searchbench.strategy import ranked
from tests.searchbench.surfaces import BASELINE, candidate
from tuner.records import Outcome, Tried
from tuner.search.guided import Decision


@pytest.mark.parametrize("name", NAMES)
def test_every_strategy_ends_without_repeating_itself(name: str) -> None:
    two = simulated(5, 3)
    tried = search(two, entry(name, two, SILENT).strategy, SILENT)
    keys = [one.candidate.key for one in tried]
    assert keys[0] == BASELINE.key
    assert len(keys) == len(set(keys)) > 1


@pytest.mark.parametrize("name", NAMES)
def test_every_strategy_lives_with_failures(name: str) -> None:
    small = surface({"a": {k: 1.0 + 0.1 * k for k in range(1, 9)}}, {k: 1.0 + 0.3 * k for k in range(1, 9)}, fits=3)
    one = entry(name, small, SILENT)
    tried = search(small, one.strategy, SILENT)
    assert any(t.outcome is Outcome.MEMORY for t in tried)
    assert small.k[one.rank(small, tried)[0]] == 3


def test_binary_search_finds_a_peak_and_misses_a_second_one() -> None:
    assert [t.candidate.k for t in search(PEAK, Binary(PEAK), SILENT)] == [0, 4, 5, 2, 3]
    two = surface({"a": {1: 1.1, 2: 1.5, 3: 1.3, 4: 1.0, 5: 1.1, 6: 1.2, 7: 1.15, 8: 1.1}})
    tried = search(two, Binary(two), SILENT)
    assert two.regret(ranked(two, tried)[0]) == pytest.approx(math.log(1.5 / 1.2))


def test_goodput_predicts_what_is_linear() -> None:
    growths = {k: 1 + sum(0.8**i for i in range(1, k + 1)) for k in range(1, 9)}
    linear = surface({"a": {k: growths[k] / (1.0 + 0.2 * k) for k in range(1, 9)}}, growths)
    goodput = Goodput(linear)
    tried = search(linear, goodput, SILENT)
    assert [t.candidate.k for t in tried] == [0, 8, 1, 3, 5]
    best = max(linear.candidates, key=lambda c: linear.true_logs[c.key])
    assert best.k == 4
    assert goodput.rank(tried)[0] == best.key
    by_k = predicted(sorted(tried[1:], key=lambda t: t.candidate.k), linear.loads[0].key)
    for one in linear.candidates:
        assert by_k[one.k] == pytest.approx(linear.arms[one.key].log_tpot[linear.loads[0].key])


def test_median_minus_mad_prefers_the_calm_and_the_small() -> None:
    close = surface({"a": {1: 1.495, 2: 1.5, 3: 1.4}})
    mad = MedianMinusMad(close)
    assert close.k[mad.rank(search(close, mad, SILENT))[0]] == 1
    key = candidate("a", 2).key
    calm = replace(close, arms={**close.arms, key: replace(close.arms[key], log_tpot={close.loads[0].key: -5.2})})
    assert calm.k[mad.rank(search(calm, MedianMinusMad(calm), SILENT))[0]] == 2
    shaken = replace(calm.arms[key], ses={calm.loads[0].key: 0.3})
    wild = replace(calm, arms={**calm.arms, key: shaken})
    assert wild.k[mad.rank(search(wild, MedianMinusMad(wild), SILENT))[0]] == 1


def test_optuna_is_told_what_was_measured() -> None:
    sampler = OptunaSearch("tpe", PEAK, 0)
    search(PEAK, sampler, SILENT)
    values = {t.params["k"]: t.value for t in sampler._study.trials if t.value is not None}
    assert values == pytest.approx({c.k: PEAK.true_logs[c.key] for c in PEAK.candidates if c.k in values})
    assert len(values) >= 7


def test_a_strategy_that_repeats_itself_is_an_error() -> None:
    class Stuck:
        name = "stuck"

        def next(self, tried: Sequence[Tried]) -> Decision:
            return Decision(PEAK.candidates[0], False, "again")

    with pytest.raises(RuntimeError, match="stuck"):
        search(PEAK, Stuck(), SILENT)
