"""Replay and acceptance by place: examples counted by hand, and drafts whose matches are known at every token."""

import math
import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.analysis.growth import (
    Places,
    depends_on_place,
    expected_steps,
    matches,
    places,
    reach,
    replayed_steps,
    stratified_z,
    unknown_match_rates,
)

# All of 3 accepted; one; none; two, where the answer ends.
STEPS = (4, 2, 1, 3)
MIXTURE = [0.95] * 12 + [0.7] * 8 + [0.35] * 12
match_lists = st.lists(st.booleans(), min_size=1, max_size=60)


def run_engine(match: Sequence[bool], k: int) -> tuple[int, ...]:
    """Return what each step of an engine delivers whose draft proposes the right token where `match` says so."""
    steps, at = [], 0
    while at < len(match):
        run = 0
        while run < k and at + run < len(match) and match[at + run]:
            run += 1
        steps.append(min(run + 1, len(match) - at))
        at += steps[-1]
    return tuple(steps)


def bernoulli(rate: float, tokens: int, seed: object) -> list[bool]:
    draw = random.Random(str(seed)).random
    return [draw() < rate for _ in range(tokens)]


def test_what_an_answer_tells_about_each_token() -> None:
    yes, no = True, False
    assert matches(STEPS, 3) == [yes, yes, yes, None, yes, no, no, yes, yes, None]
    assert matches((), 3) == []


def test_a_smaller_k_is_replayed_token_by_token() -> None:
    found = matches(STEPS, 3)
    assert replayed_steps(found, 3, 0.5) == 4
    # Steps begin at 0, 3, 6, 7, and at 4 in the half of the cases where token 3 was no match.
    assert replayed_steps(found, 2, 0.5) == 4.5
    # Steps begin at 0, 2, 4, 6, 7, 9: what is unknown is never proposed.
    assert replayed_steps(found, 1, 0.5) == 6


def test_the_end_of_an_answer_cuts_a_run_off() -> None:
    counts = places([STEPS], 3)
    # The last step accepted two for certain; nobody knows whether a third.
    assert (counts.reached, counts.accepted) == ((4, 3, 1), (3, 2, 1))
    assert (counts.after_full, counts.after_rejection) == ((1, 1), (2, 1))
    assert places([STEPS, STEPS], 3).reached == (8, 6, 2)


def test_the_chance_of_a_run_is_the_product_of_its_places() -> None:
    counts = places([STEPS], 3)
    assert reach(counts, counts) == pytest.approx((3 / 4, 1 / 2, 1 / 2))
    # The second place was never reached and the third neither: everyone's rates, 2/3 and 1.
    only_first = Places((2, 0, 0), (1, 0, 0), (0, 0), (0, 0))
    assert reach(only_first, counts) == pytest.approx((1 / 2, 1 / 3, 1 / 3))


def test_leaving_cut_runs_out_would_underestimate() -> None:
    answers = [run_engine(bernoulli(0.8, 24, i), 6) for i in range(3000)]
    (first, *_, last) = reach(places(answers, 6), places(answers, 6))
    assert first == pytest.approx(0.8, rel=0.01)
    assert last == pytest.approx(0.8**6, rel=0.03)
    uncut = [step - 1 for steps in answers for step in steps[:-1]]
    assert sum(run >= 6 for run in uncut) / len(uncut) < 0.9 * 0.8**6


def test_short_answers_take_more_steps_than_their_share() -> None:
    assert [expected_steps((0.5,), n) for n in (0, 1, 2, 3)] == [0, 1, 1.5, 2.25]
    assert expected_steps((0.5, 0.25), 4000) / 4000 == pytest.approx(1 / 1.75, rel=1e-3)
    assert expected_steps((), 5) == 5


def test_an_unknown_token_takes_the_rate_of_what_is_nearest() -> None:
    # Last place 4 of 6, first place after full steps 3 of 4: 7 of 10; the other prompt 1 of 10; all 8 of 20.
    easy = Places((9, 6), (8, 4), (4, 3), (2, 1))
    hard = Places((9, 8), (8, 1), (2, 0), (2, 1))
    rates = unknown_match_rates({"easy": easy, "hard": hard})
    assert rates == pytest.approx({"easy": (7 + 5 * 0.4) / 15, "hard": (1 + 5 * 0.4) / 15})
    nothing = Places((1, 0), (0, 0), (0, 0), (0, 0))
    assert unknown_match_rates({"p": nothing}) == {"p": 0.5}


def test_two_rates_are_compared_within_strata() -> None:
    # 8 of 10 against 4 of 10: 2 more than expected, variance 10 * 10 * 12 * 8 / (20^2 * 19).
    assert stratified_z([(10, 8)], [(10, 4)]) == pytest.approx(2 / math.sqrt(9600 / 7600))
    # Equal in the easy and in the hard stratum; 0.82 against 0.28 together.
    assert stratified_z([(90, 81), (10, 1)], [(20, 18), (70, 7)]) == pytest.approx(0)
    assert stratified_z([(0, 0), (5, 5)], [(5, 3), (5, 5)]) == 0


def step_draws(by_place: Sequence[float], tokens: int, seed: object) -> tuple[int, ...]:
    """Return an answer whose acceptance depends on the place in the step and on nothing else."""
    draw = random.Random(str(seed)).random
    steps: list[int] = []
    while sum(steps) < tokens:
        run = 0
        while run < len(by_place) and draw() < by_place[run]:
            run += 1
        steps.append(min(run + 1, tokens - sum(steps)))
    return tuple(steps)


def wandering(tokens: int, seed: object) -> list[bool]:
    """Return matches of a text with easy (0.95) and hard (0.3) passages of ten tokens on average."""
    draw = random.Random(str(seed)).random
    easy, found = True, []
    for _ in range(tokens):
        easy = easy if draw() < 0.9 else not easy
        found.append(draw() < (0.95 if easy else 0.3))
    return found


@pytest.mark.parametrize("by_place", [(0.8, 0.7, 0.6, 0.5, 0.4), (0.68, 0.72, 0.75, 0.8, 0.3), (0.6, 0.75, 0.9)])
def test_a_places_own_effect_is_noticed(by_place: tuple[float, ...]) -> None:
    prompts = {str(i): places([step_draws(by_place, 200, i)], len(by_place)) for i in range(20)}
    assert depends_on_place(prompts)


@pytest.mark.parametrize("k", [2, 4, 8])
def test_easy_passages_and_easy_prompts_are_no_effect_of_the_place(k: int) -> None:
    passages = {str(i): places([run_engine(wandering(400, i), k)], k) for i in range(30)}
    mixture = {str(i): places([run_engine(bernoulli(rate, 400, i), k)], k) for i, rate in enumerate(MIXTURE)}
    assert not depends_on_place(passages)
    assert not depends_on_place(mixture)
    assert not depends_on_place({})


def tokens_per_step(steps: float, tokens: int) -> float:
    return math.log(tokens / steps)


@pytest.mark.parametrize("k", [4, 6, 8])
@pytest.mark.parametrize("kind", ["mixture", "passages"])
def test_replay_comes_within_one_percent_where_the_pool_does_not(k: int, kind: str) -> None:
    texts = {
        str(i): bernoulli(rate, 300, (kind, i)) if kind == "mixture" else wandering(300, i)
        for i, rate in enumerate(MIXTURE)
    }
    answers = {prompt: run_engine(match, k) for prompt, match in texts.items()}
    counts = {prompt: places([steps], k) for prompt, steps in answers.items()}
    everyone = places(answers.values(), k)
    unknown, pool = unknown_match_rates(counts), reach(everyone, everyone)
    off = []
    for smaller in range(1, k + 1):
        real = [tokens_per_step(len(run_engine(match, smaller)), 300) for match in texts.values()]
        told = [tokens_per_step(replayed_steps(matches(s, k), smaller, unknown[p]), 300) for p, s in answers.items()]
        off.append(abs(math.log(1 + sum(pool[:smaller])) - sum(real) / len(real)))
        assert sum(told) / len(told) == pytest.approx(sum(real) / len(real), abs=0.01 if smaller < k else 1e-12)
    if kind == "mixture":
        assert max(off) > 0.04


@given(match_lists, st.integers(1, 8))
def test_a_replay_at_the_k_that_ran_gives_its_own_steps(match: list[bool], k: int) -> None:
    steps = run_engine(match, k)
    assert replayed_steps(matches(steps, k), k, 0.5) == pytest.approx(len(steps))


@given(match_lists, st.integers(1, 8))
def test_a_replay_is_exact_where_every_token_is_known(match: list[bool], k: int) -> None:
    assert replayed_steps(match, k, 0.5) == len(run_engine(match, k))


@given(match_lists, st.integers(1, 8), st.floats(0, 1))
def test_steps_never_grow_with_k_and_stay_in_their_bounds(match: list[bool], k: int, unknown: float) -> None:
    found = matches(run_engine(match, k), k)
    steps = [replayed_steps(found, smaller, unknown) for smaller in range(k + 1)]
    assert steps[0] == len(match)
    for smaller in range(1, k + 1):
        assert steps[smaller] <= steps[smaller - 1] + 1e-9
        assert steps[smaller] >= len(match) / (smaller + 1) - 1e-9


@given(match_lists, st.integers(1, 8))
def test_a_known_outcome_of_the_unknown_tokens_bounds_the_replay(match: list[bool], k: int) -> None:
    """Whatever the draft would have proposed, the true number of steps lies between the two extremes."""
    found = matches(run_engine(match, k), k)
    for smaller in range(1, k + 1):
        true = len(run_engine(match, smaller))
        assert replayed_steps(found, smaller, 1.0) <= true <= replayed_steps(found, smaller, 0.0)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.integers(1, 60))
def test_expected_steps_fall_with_k_and_stay_in_their_bounds(conditional: list[float], tokens: int) -> None:
    reached = [math.prod(conditional[: i + 1]) for i in range(len(conditional))]
    steps = [expected_steps(reached[:k], tokens) for k in range(len(reached) + 1)]
    for k in range(1, len(steps)):
        assert tokens / (k + 1) - 1e-9 <= steps[k] <= steps[k - 1] + 1e-9
