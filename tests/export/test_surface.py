"""The surface as deployment reads it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tuner.analysis.findings import findings
from tuner.export.surface import by_concurrency, crossovers, traffic
from tuner.records import Findings, LoadPoint, Traffic, Trial
from tuner.space.traffic import by_temperature, weighted

Make = Callable[..., Trial]


def result(make: Make, concurrencies: tuple[int, ...], shares: Traffic | None = None) -> Findings:
    """K = 2 at 1.5 of no speculation up to concurrency 8, at 0.8 above."""
    loads = weighted([LoadPoint("chat", c, 33) for c in concurrencies], shares)
    fast = make(1, k=2, loads=loads, tpot=lambda load, i, r: 0.02 / (1.5 if load.concurrency <= 8 else 0.8))
    return replace(findings([make(0, loads=loads), fast], loads), traffic=by_temperature(shares, loads))


def test_best_k_and_crossover(make_trial: Make) -> None:
    (answer,) = result(make_trial, (1, 8, 32)).answers
    rows = [row.model_dump(mode="json") for row in by_concurrency(answer) or ()]
    assert [(row["concurrency"], row["effect"], row["best_k"], row["draft"]) for row in rows] == [
        (1, "pays", 2, "good"),
        (8, "pays", 2, "good"),
        (32, "slower", 0, None),
    ]
    assert rows[0]["not_excluded"] == ["good K=2"]
    assert rows[0]["speedup"]["value"] == pytest.approx(1.5)
    assert "speedup_of" not in rows[0]
    assert (rows[2]["speedup_of"], rows[2]["speedup"]["value"]) == ("good K=2", pytest.approx(0.8))
    effects = {"pays_at": [1, 8], "slower_at": [32], "unclear_at": []}
    said = crossovers(answer)
    assert said is not None
    assert said.model_dump(mode="json") == {"best_k_at_each": effects, "one_k": {**effects, "of": "good K=2"}}


def test_the_one_k_is_the_smaller_in_a_tie(make_trial: Make) -> None:
    loads = [LoadPoint("chat", c, 33) for c in (1, 8)]
    steady = make_trial(1, k=2, loads=loads, tpot=0.02 / 1.5)
    faster = make_trial(2, k=4, loads=loads, tpot=lambda load, i, r: 0.02 / 1.55 * (1 + 0.1 * (-1) ** i))
    (answer,) = findings([make_trial(0, loads=loads), steady, faster], loads).answers
    said = crossovers(answer)
    assert said is not None and said.one_k is not None
    assert said.one_k.of == "good K=2"


def test_gain_over_the_traffic(make_trial: Make) -> None:
    found = result(make_trial, (1, 32), Traffic({1: 0.5, 32: 0.25, 64: 0.25}, "running.json", 8))
    said = traffic(found, found.answers[0])
    assert said is not None and said.one_k is not None
    assert (said.source, said.shares, said.not_covered) == ("running.json", {"1": 0.5, "32": 0.25}, 0.25)
    assert said.one_k.best_k == 2
    assert said.one_k.speedup.value == pytest.approx(1.5 ** (2 / 3) * 0.8 ** (1 / 3), rel=1e-5)


def test_nothing_is_null(make_trial: Make) -> None:
    found = result(make_trial, (1,))
    assert crossovers(found.answers[0]) is None
    assert traffic(found, found.answers[0]) is None
    plain = findings([make_trial(0)], (LoadPoint("chat", 1, 33),))
    assert by_concurrency(plain.answers[0]) is None
