from __future__ import annotations

import numpy as np
import pytest

from tests.search.searching import World, load, speculating
from tuner.analysis.prediction import ModelError
from tuner.records import Candidate, Json, LoadPoint, Tried
from tuner.search.belief import Belief
from tuner.search.curves import History, curves
from tuner.search.variants import SET_SD, around

KS = (2, 4)
ARGS: list[dict[str, Json]] = [{"a": a, "b": b} for a in (1, 2) for b in (1, 2)]
EVERY = curves([speculating(k, args=args) for args in ARGS for k in KS])
LOADS = [load()]


def slower(candidate: Candidate, at: LoadPoint) -> float:
    return 0.1 if candidate.engine_args["a"] == 2 else 0.0


WORLD = World(extra=slower)
REFERENCE = Belief(EVERY[0], np.asarray([WORLD.mean(c) for c in EVERY[0].candidates]), 1e-6 * np.eye(2), (0, 1))


def beliefs(*tried: Tried) -> list[Belief]:
    return around(REFERENCE, EVERY[1:], History(tried), LOADS, ModelError(life_sd=0.002))


def test_other_sets_are_believed_to_be_like_the_first() -> None:
    for one in beliefs():
        assert one.mean == pytest.approx(REFERENCE.mean)
        assert SET_SD * 0.7 < one.sd(0) < 2 * SET_SD


def test_sets_that_share_more_are_more_alike() -> None:
    one_differs, _, both_differ = beliefs()
    assert one_differs.sd(0) < both_differ.sd(0)


def test_a_measured_set_moves_its_own_curve_and_those_with_the_same_value() -> None:
    same_b, same_a, both = beliefs(WORLD.run(EVERY[2].candidates[0]))
    shift = [float((one.mean - REFERENCE.mean)[1]) for one in (same_b, same_a, both)]
    assert shift[1] == pytest.approx(0.1, abs=0.03)
    assert 0.02 < shift[2] < shift[1] and abs(shift[0]) < shift[2]
    assert same_a.known == (0,) and same_b.known == ()


def test_sets_that_differ_much_are_expected_to_differ_much() -> None:
    assert beliefs(WORLD.run(EVERY[2].candidates[0]))[0].sd(0) > 1.1 * beliefs()[0].sd(0)


def test_options_are_compared_too() -> None:
    every = curves([speculating(k, x=x) for x in (1, 2) for k in KS])
    reference = Belief(every[0], REFERENCE.mean, REFERENCE.cov, (0,))
    (found,) = around(reference, every[1:], History(()), LOADS, ModelError())
    assert found.sd(0) > SET_SD


def test_no_others_no_beliefs() -> None:
    assert around(REFERENCE, [], History(()), LOADS, ModelError()) == []
