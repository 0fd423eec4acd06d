"""The two-sample test holds its error rate, sees a shift, and does not depend on names and orders."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.analysis.distribution import _chi_square, _table, distribution_groups, first_tokens, prefix_test
from tuner.records import DISTRIBUTION_REPEAT, LoadPoint, RequestSample, Sampling

FLAT = (0.4, 0.3, 0.2, 0.1)
Draws = list[tuple[int, ...]]


def draws(rng: random.Random, count: int, weights: Sequence[float], first: Sequence[float] = FLAT) -> Draws:
    """Return answers of 4 tokens; `weights` are of all but the first."""
    tokens = range(len(weights))
    return [(*rng.choices(tokens, first), *rng.choices(tokens, weights, k=3)) for _ in range(count)]


def arms(
    seed: int, weights: Sequence[float] = FLAT, prompts: int = 8, count: int = 64
) -> dict[str, tuple[Draws, Draws]]:
    rng = random.Random(seed)
    return {f"p{i}": (draws(rng, count, weights), draws(rng, count, FLAT)) for i in range(prompts)}


def test_equal_distributions_are_called_different_in_about_1_percent() -> None:
    # 1 % of 1500 is 15, and three lengths uncorrected would give about 38.
    alarms = sum(prefix_test(arms(seed, prompts=1, count=96)) < 0.01 for seed in range(1500))
    assert 5 <= alarms <= 26


def test_p_values_are_not_too_large_either() -> None:
    """Bonferroni over three lengths costs some, but the test is not idle: a tenth of p-values lies below 0.1 or so."""
    low = sum(prefix_test(arms(seed, prompts=3, count=24)) < 0.1 for seed in range(200))
    assert 6 <= low <= 34


def test_a_shift_behind_the_first_token_is_found() -> None:
    found = [prefix_test(arms(seed, (0.6, 0.2, 0.15, 0.05))) for seed in range(20)]
    assert sum(p < 0.01 for p in found) >= 18


def test_one_prompt_that_is_another_is_found() -> None:
    pairs = arms(3)
    pairs["p0"] = ([(3, 3, 3, 3)] * 64, pairs["p0"][1])
    assert prefix_test(pairs) < 0.01


def test_equal_seeds_give_equal_p_values() -> None:
    assert prefix_test(arms(1), seed=7) == prefix_test(arms(1), seed=7)


def test_answers_that_never_vary_say_nothing() -> None:
    assert prefix_test({"p": ([(1, 2, 3, 4)] * 9, [(1, 2, 3, 4)] * 9)}) == 1.0
    assert prefix_test({}) == 1.0


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3)), min_size=1, max_size=9),
    st.lists(st.tuples(st.integers(0, 3)), min_size=1, max_size=9),
)
def test_it_takes_any_answers(mine: Draws, theirs: Draws) -> None:
    assert 0.0 < prefix_test({"p": (mine, theirs)}) <= 1.0


def test_tables_by_hand_rare_categories_are_one() -> None:
    mine = [(1, 5)] * 6 + [(2, 5)] * 2 + [(3, 5)]
    theirs = [(1, 6)] * 3 + [(2, 6)] * 3 + [(4, 5)] * 3
    assert _table(mine, theirs, 1).tolist() == [[6, 2, 1], [3, 3, 3]]
    # (1, 5) is there six times and everything else less than five times.
    assert _table(mine, theirs, 2).tolist() == [[6, 3], [0, 9]]


def test_chi_square_by_hand() -> None:
    # Expected 4.5 and 1.5 of 6, 1.5 and 0.5 of 2: four cells that miss by 1.5.
    table = np.array([[3, 3], [3, -1]])
    assert table.sum() == 8
    expected = 1.5**2 * (1 / 4.5 + 1 / 1.5 + 1 / 1.5 + 1 / 0.5)
    assert float(_chi_square(table[0], table)) == pytest.approx(expected)


def test_groups_are_of_one_eval_set_and_one_sampling_highest_concurrency_first() -> None:
    warm, hot = Sampling(temperature=0.5), Sampling(temperature=1.0)
    one, eight = LoadPoint("e", sampling=warm), LoadPoint("e", concurrency=8, sampling=warm, max_tokens=9)
    other = LoadPoint("e", sampling=hot)
    assert distribution_groups([one, LoadPoint("e"), other, eight]) == ((eight, one), (other,))


def test_only_the_answers_of_the_test_count() -> None:
    good = RequestSample("k", DISTRIBUTION_REPEAT, 0, "p", "c", 0.0, 0.1, 0.2, 3, 2, "length", token_ids=(1, 2))
    others = (
        replace(good, repeat=0),
        replace(good, load_point="x"),
        replace(good, error="no"),
        replace(good, token_ids=()),
    )
    assert first_tokens((good, *others, replace(good, token_ids=(3,))), {"k"}) == {"p": [(1, 2), (3,)]}
