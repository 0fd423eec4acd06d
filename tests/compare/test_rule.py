"""Better, same, worse, cannot tell: by hand, and what holds for any interval."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.compare.rule import Outcome, claimed, not_worse, outcome, overall

B, S, W, X = Outcome.BETTER, Outcome.SAME, Outcome.WORSE, Outcome.CANNOT_TELL


@pytest.mark.parametrize(
    ("low", "high", "of_length", "of_time"),
    [
        (0.90, 0.94, W, B),  # beyond the tolerance of 5 %
        (0.90, 0.96, X, X),  # across its edge
        (0.96, 1.04, S, S),
        (0.953, 1.049, S, S),
        (1.02, 1.06, X, X),
        (1.06, 1.10, B, W),
        (0.90, 1.10, X, X),
        (1.0, 1.0, S, S),
    ],
)
def test_the_interval_against_the_tolerance(low: float, high: float, of_length: Outcome, of_time: Outcome) -> None:
    interval = (math.log(low), math.log(high))
    assert outcome(interval, 0.05, higher_is_better=True) is of_length
    assert outcome(interval, 0.05, higher_is_better=False) is of_time


def test_without_an_interval_nothing_can_be_told() -> None:
    assert outcome(None, 0.05, higher_is_better=True) is X
    assert not not_worse(None, 0.05, higher_is_better=True)


def test_without_tolerance_only_equality_is_the_same() -> None:
    assert outcome((0.0, 0.0), 0.0, higher_is_better=True) is S
    assert outcome((-1e-9, 1e-9), 0.0, higher_is_better=True) is X
    assert outcome((1e-9, 2e-9), 0.0, higher_is_better=True) is B


logs = st.floats(-2.0, 2.0)
tolerances = st.floats(0.0, 0.9)


@given(st.tuples(logs, logs).map(lambda pair: (min(pair), max(pair))), tolerances, st.booleans())
def test_exchanging_old_and_new_exchanges_better_and_worse(
    interval: tuple[float, float], tolerance: float, higher: bool
) -> None:
    mirrored = {B: W, W: B, S: S, X: X}
    there = outcome(interval, tolerance, higher_is_better=higher)
    assert outcome((-interval[1], -interval[0]), tolerance, higher_is_better=higher) is mirrored[there]
    assert outcome(interval, tolerance, higher_is_better=not higher) is mirrored[there]


@given(logs, st.floats(0.0, 1.0), st.floats(0.0, 1.0), tolerances)
def test_a_wider_interval_claims_nothing_that_the_narrower_one_does_not(
    middle: float, half: float, more: float, tolerance: float
) -> None:
    narrow = outcome((middle - half, middle + half), tolerance, higher_is_better=True)
    wide = outcome((middle - half - more, middle + half + more), tolerance, higher_is_better=True)
    assert wide in (narrow, X)


@given(logs, st.floats(0.0, 1.0), tolerances, st.floats(0.0, 0.5))
def test_a_larger_tolerance_calls_nothing_worse_that_a_smaller_one_does_not(
    middle: float, half: float, tolerance: float, more: float
) -> None:
    interval = (middle - half, middle + half)
    strict = outcome(interval, tolerance, higher_is_better=True)
    lax = outcome(interval, tolerance + more, higher_is_better=True)
    assert strict is W or lax is not W
    assert lax is S or strict is not S


@given(logs, st.floats(0.0, 1.0), tolerances, st.booleans())
def test_not_worse_is_what_excludes_worse(middle: float, half: float, tolerance: float, higher: bool) -> None:
    interval = (middle - half, middle + half)
    found = outcome(interval, tolerance, higher_is_better=higher)
    excluded = not_worse(interval, tolerance, higher_is_better=higher)
    assert excluded or found not in (S, B)
    assert not (excluded and found is W)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([(S, True), (S, True)], S),
        ([(S, True), (B, True)], B),
        ([(B, True), (W, False)], W),
        ([(X, False), (W, False)], W),
        ([(X, False), (B, True)], X),
        ([(X, True), (S, True)], S),  # between the same and better
        ([(X, True), (B, True)], B),
        ([], X),
    ],
)
def test_all_figures_together(rows: list[tuple[Outcome, bool]], expected: Outcome) -> None:
    assert overall(rows) is expected


def test_what_is_claimed_anywhere_names_what_happened() -> None:
    assert claimed([S, X, B]) is B
    assert claimed([B, W]) is W
    assert claimed([S, X]) is X
    assert claimed([S]) is S
    assert claimed([]) is X
