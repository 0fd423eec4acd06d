from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given as always
from hypothesis import strategies as st

from tests.search.searching import World, load, speculating
from tuner.analysis.prediction import ModelError
from tuner.analysis.statistics import expected_gain
from tuner.records import Candidate, Observed, Outcome, Tried
from tuner.search.belief import Belief, Best, believe, fitted, given, objective, options
from tuner.search.curves import History, curves

CURVE = curves([speculating(k) for k in range(1, 5)])[0]


def belief(means: list[float], sd: float, known: tuple[int, ...] = ()) -> Belief:
    return Belief(CURVE, np.asarray(means), sd**2 * np.eye(4), known)


def test_expected_gain_by_hand() -> None:
    assert expected_gain(0.0, 1.0) == pytest.approx(1 / math.sqrt(2 * math.pi))
    assert expected_gain(0.3, 0.0) == 0.3 and expected_gain(-0.3, 0.0) == 0.0
    # z = 1: 0.02 (1 x 0.841345 + 0.241971)
    assert expected_gain(0.02, 0.02) == pytest.approx(0.02 * (0.841345 + 0.241971), rel=1e-5)


@always(st.floats(-0.5, 0.5), st.floats(0.0, 0.5))
def test_a_gain_is_never_less_than_the_lead(lead: float, sd: float) -> None:
    assert expected_gain(lead, sd) >= max(0.0, lead) - 1e-12


def test_conditioning_by_hand() -> None:
    # Correlation 0.8, unit variances, x = 1 seen with noise 1: mean of y = 0.8 / 2, variance 1 - 0.64 / 2.
    mean, cov = given(np.zeros(2), np.asarray([[1.0, 0.8], [0.8, 1.0]]), [0], np.ones(1), np.ones(1))
    assert mean == pytest.approx([0.5, 0.4]) and cov[1, 1] == pytest.approx(0.68)


def test_an_option_gains_what_a_noisy_life_can_show() -> None:
    best = Best(0.0, 0.0, Candidate())
    calm, rough = (options(belief([0.0] * 4, 0.02), best, [speculating(2)], noise)[0] for noise in (0.0, 0.02))
    assert calm.gain == pytest.approx(0.02 / math.sqrt(2 * math.pi), rel=1e-4)
    assert rough.gain == pytest.approx(calm.gain / math.sqrt(2), rel=1e-4)


def test_what_moves_with_the_best_gains_less() -> None:
    apart, together = belief([0.0] * 4, 0.02, (0,)), belief([0.0] * 4, 0.02, (0,))
    together.cov[:] = 0.02**2 * 0.99
    np.fill_diagonal(together.cov, 0.02**2)
    gains = [
        options(b, Best(0.0, 0.02**2, speculating(1), b, 0), [speculating(2)], 0.0)[0].gain for b in (apart, together)
    ]
    assert gains[1] < 0.2 * gains[0]


def test_an_objective_is_the_weighted_mean_of_all_load_points() -> None:
    one, eight = load(1, weight=3.0), load(8)
    seen = {one.key: Observed(-4.0, 0.0), eight.key: Observed(-3.0, 0.0)}
    history = History((Tried(speculating(1), Outcome.MEASURED, seen),))
    found = objective(speculating(1), history, [one, eight], ModelError(life_sd=0.02))
    assert found is not None and found[0] == pytest.approx(-3.75) and found[1] == pytest.approx(0.0004, rel=1e-3)
    assert objective(speculating(1), history, [one, load(16)], ModelError()) is None


def test_running_candidates_are_believed_where_they_were_predicted() -> None:
    world = World()
    tried = [world.run(Candidate()), world.run(speculating(4))]
    model = ModelError()

    def found(*more: Tried) -> Belief:
        history = History((*tried, *more))
        one = believe(CURVE, fitted([CURVE], history, world.loads, model), history, world.loads)
        assert one is not None
        return one

    before, after = found(), found(Tried(speculating(2), Outcome.RUNNING))
    assert after.mean == pytest.approx(before.mean)
    assert after.running == (1,) and after.sd(1) < 0.5 * before.sd(1)
    assert after.sd(2) < before.sd(2)


def test_nothing_is_believed_of_what_was_not_measured() -> None:
    history = History((World().run(Candidate()),))
    assert believe(CURVE, fitted([CURVE], history, [load()], ModelError()), history, [load()]) is None
