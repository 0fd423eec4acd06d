from __future__ import annotations

import math

import numpy as np
import pytest

from tuner.analysis.arcs import IMPOSSIBLE, UNTOLD, Arc, ModelError, block, curve_name
from tuner.records import Candidate, Growth, GrowthSource, Observed, Speculation

GROWTH = Growth((math.log(1.8), math.log(2.4)), GrowthSource.REPLAY, 4)


def test_times_are_tpot_times_tokens() -> None:
    one = block(Arc("d", "l", 1, {2: Observed(math.log(0.01), 0.02, GROWTH)}, (1, 2)), None, ModelError(0.01), 1)
    assert np.exp(one.times) == pytest.approx([0.024])
    assert one.noise == pytest.approx([0.02**2 + 0.01**2], rel=1e-4)


def test_what_is_a_lifes_own_is_not_averaged_away_over_load_points() -> None:
    arc = Arc("d", "l", 1, {2: Observed(math.log(0.01), 0.0, GROWTH)}, (1, 2))
    one, four = (block(arc, None, ModelError(0.01), loads).noise for loads in (1, 4))
    assert four / 4 == pytest.approx(one, rel=1e-3)


def test_a_life_without_a_standard_error_has_the_usual_one() -> None:
    assert ModelError(0.0, 0.03).variance(Observed(0.0)) == pytest.approx(0.03**2, rel=1e-4)


def test_how_far_a_curve_may_stray() -> None:
    def deviation(measured: dict[int, Observed], plain: Observed | None = None) -> float:
        return float(block(Arc("d", "l", 1, measured, (1, 2)), plain, ModelError(), 1).deviation[0, 0])

    usual = deviation({2: Observed(-4.0, 0.01, GROWTH)})
    assert deviation({2: Observed(-4.0, 0.01)}) == pytest.approx(UNTOLD**2 * usual)
    assert deviation({2: Observed(-4.0, 0.01, GROWTH)}, Observed(-2.0)) == pytest.approx(IMPOSSIBLE**2 * usual)


def test_a_curve_is_named_by_all_but_k() -> None:
    def named(k: int = 1, name: str = "a", args: int = 1, option: int = 1) -> str:
        return curve_name(Candidate({"x": args}, Speculation("ngram", k, name, None, {"o": option})))

    assert named() == named(k=5)
    assert len({named(), named(name="b"), named(args=2), named(option=2)}) == 4
