"""The error of a sweep is spent once: over looks, answers and claims it never sums to more than 5 %."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.analysis.eligibility import Contender
from tuner.analysis.levels import (
    MAIN_SHARE,
    Levels,
    Look,
    claim_of,
    final_levels,
    look_confidence,
    looks,
    per_sweep_confidence,
    screening_levels,
)
from tuner.records import Candidate, LoadPoint, Speculation, TrialFigures

numbers = st.integers(1, 4)


def contender(k: int) -> Contender:
    figures = TrialFigures(k, Candidate({}, Speculation("draft_model", k, "good", "good")), "gpu", ())
    return Contender(figures, figures)


def points(concurrencies: list[int]) -> tuple[LoadPoint, ...]:
    return tuple(LoadPoint("chat", c) for c in concurrencies)


def spent(levels: Levels, finalists: list[Contender], loads: tuple[LoadPoint, ...]) -> float:
    """Return the error that one look may make by claiming that a finalist pays up to a concurrency, or at it alone."""
    steps = sorted({load.concurrency for load in loads})
    ranges = {frozenset(s for s in steps if s <= step) for step in steps} | {frozenset([step]) for step in steps}
    at = [tuple(load for load in loads if load.concurrency in chosen) for chosen in ranges]
    return sum(1 - levels.of(c, chosen) for c, chosen in product(finalists, at))


@given(numbers, st.lists(st.integers(1, 64), min_size=1, max_size=4, unique=True), numbers, st.booleans(), st.data())
def test_all_claims_of_all_looks_at_all_temperatures_spend_five_percent(
    finalists: int, concurrencies: list[int], answers: int, adaptive: bool, data: st.DataObject
) -> None:
    loads, contenders = points(concurrencies), [contender(k) for k in range(1, finalists + 1)]
    up_to = data.draw(st.sampled_from(concurrencies))
    proposed = tuple(x for x in loads if x.concurrency <= up_to)
    of = data.draw(st.lists(st.integers(0, finalists - 1), min_size=1, max_size=2, unique=True))
    main = [claim_of(contenders[i], proposed) for i in of]
    seen = [final_levels(main, finalists, loads, look, answers) for look in looks(3, 12 if adaptive else 3)]
    assert answers * sum(spent(levels, contenders, loads) for levels in seen) == pytest.approx(0.05)
    assert answers * sum(1 - levels.slower for levels in seen) == pytest.approx(0.025)


def test_levels_by_hand() -> None:
    # Two finalists at two concurrencies: up to 1, up to 8, at 8 alone. A look with a third of the error, 1 answer:
    # 0.05/3, of it 0.8 for one claim, 0.2 for the other five.
    loads, (two, four) = points([1, 8]), (contender(2), contender(4))
    levels = final_levels([claim_of(two, loads)], 2, loads, Look(1 / 3), answers=1)
    assert levels.of(two, loads) == pytest.approx(1 - 0.05 / 3 * 0.8)
    assert levels.of(two, loads[:1]) == levels.of(four, loads) == pytest.approx(1 - 0.05 / 3 * 0.2 / 5)
    assert levels.of(two, loads[1:]) == levels.of(four, loads)
    assert levels.slower == pytest.approx(1 - 0.05 / 3 / 2)
    assert MAIN_SHARE == 0.8


def test_two_close_rivals_have_a_claim_each() -> None:
    # As above, with two main claims: 0.05/3 * 0.8 for the two of them, the rest for the other four.
    loads, (two, four) = points([1, 8]), (contender(2), contender(4))
    levels = final_levels([claim_of(two, loads), claim_of(four, loads)], 2, loads, Look(1 / 3), answers=1)
    assert levels.of(two, loads) == levels.of(four, loads) == pytest.approx(1 - 0.05 / 3 * 0.8 / 2)
    assert levels.of(two, loads[:1]) == pytest.approx(1 - 0.05 / 3 * 0.2 / 4)


def test_intervals_of_each_look() -> None:
    first, last = looks(3, 12)
    (only,) = looks(3, 3)
    assert [look_confidence(look) for look in (first, last, only)] == pytest.approx([0.96, 0.97, 0.95])


def test_a_single_claim_has_all_of_the_error() -> None:
    levels = final_levels([claim_of(contender(2), points([1]))], 1, points([1]), Look(1.0), answers=1)
    assert levels.main == pytest.approx(0.95)
    assert levels.other == 1.0


@given(st.integers(1, 64))
def test_screening_shares_the_error_among_the_contenders(candidates: int) -> None:
    levels = screening_levels(candidates)
    assert candidates * (1 - levels.of(contender(2), points([1]))) == pytest.approx(0.05)
    assert levels.of(contender(2), points([1])) == per_sweep_confidence(candidates)
    assert levels.slower == 0.95
