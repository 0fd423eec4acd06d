"""Fresh lives: who is paired with whom, and what their spread is."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.analysis.life import LATENCIES, LoadView, load_view
from tuner.analysis.rounds import arms, mean_over, mean_repeat_spread, round_speedups, similar_prompts
from tuner.analysis.statistics import Column, over_rounds
from tuner.records import LoadFigures, LoadPoint, Trial

Make = Callable[..., Trial]
LOAD = LoadPoint("chat", 1, 33)
rounds_of_logs = st.integers(2, 5).flatmap(
    lambda lives: st.lists(st.lists(st.floats(-2, 2), min_size=4, max_size=4), min_size=lives, max_size=lives)
)


def columns(rounds: list[list[float]]) -> list[list[Column]]:
    return [[Column({f"p{i}": value for i, value in enumerate(of_round)})] for of_round in rounds]


def view(trial: Trial) -> LoadView:
    found = load_view(trial, LOAD.key)
    assert found is not None
    return found


def test_lives_are_paired_with_the_baseline_of_their_round(make_trial: Make) -> None:
    trials = [
        make_trial(0),
        make_trial(1, k=4),
        *(make_trial(2 + 2 * r, final_round=r) for r in range(3)),
        *(make_trial(3 + 2 * r, k=4, final_round=r) for r in (2, 0)),
    ]
    baseline, fast = arms(trials)
    assert (baseline.candidate.k, fast.candidate.k) == (0, 4)
    assert sorted(baseline.lives) == [0, 1, 2]
    assert baseline.baseline == {}
    assert {n: (life.record.number, base.record.number) for n, (life, base) in fast.pairs.items()} == {
        0: (3, 2),
        2: (7, 6),
    }


def test_failed_lives_and_those_on_another_device_than_their_round_do_not_count(make_trial: Make) -> None:
    trials = [
        make_trial(0, final_round=0, device="a/0"),
        make_trial(1, k=4, final_round=0, device="b/0"),
        make_trial(2, final_round=1, device="b/0"),
        make_trial(3, k=4, final_round=1, failure="died", device="b/0"),
        make_trial(4, k=4, final_round=2, device="b/0"),
    ]
    baseline, fast = arms(trials)
    assert (sorted(baseline.lives), sorted(fast.lives), fast.pairs) == ([0, 1], [2], {})


def test_each_set_of_engine_arguments_has_its_own_baseline(make_trial: Make) -> None:
    eager = {"enforce_eager": True}
    trials = [
        make_trial(0, final_round=0),
        make_trial(1, final_round=0, args=eager),
        make_trial(2, k=4, final_round=0, args=eager),
    ]
    assert [life.record.number for _, life in arms(trials)[2].pairs.values()] == [1]


def test_a_rounds_speedup_is_the_geometric_mean_over_its_prompts() -> None:
    load = LoadFigures(LOAD, {}, rounds={1: {"a": 1.0, "b": 4.0}, 0: {"a": 3.0}, 2: {}})
    assert round_speedups(load) == {0: pytest.approx(3.0), 1: pytest.approx(2.0)}


def by_repeat(*logs: float) -> Callable[[LoadPoint, int, int], float]:
    return lambda _load, _i, r: 0.01 * math.exp(logs[r])


def test_repeat_spreads_are_averaged_over_lives(make_trial: Make) -> None:
    # s^2/3 of (-0.1, 0, 0.1) is 1/300, of (-0.3, 0, 0.3) is 9/300; their mean is 5/300.
    lives = [view(make_trial(n, tpot=by_repeat(-d, 0.0, d))) for n, d in enumerate((0.1, 0.3))]
    assert [life.repeat_spread(LATENCIES["tpot_s"]).variance for life in lives] == pytest.approx([1 / 300, 9 / 300])
    spread = mean_repeat_spread(lives)
    assert (spread.variance, spread.df) == pytest.approx((5 / 300, 4))
    assert mean_repeat_spread([*lives, view(make_trial(2, repeats=1))]).df == 0
    assert mean_repeat_spread([]).df == 0


def test_means_over_lives_are_of_prompts_that_all_have() -> None:
    assert mean_over([{"a": 1.0, "b": 5.0}, {"a": 3.0}]) == {"a": 2.0}
    assert mean_over([]) == {}


def test_prompts_like_these_by_hand() -> None:
    # Rounds' means 0.9 and 0.92: s^2/2 = 0.0002/2 = 0.0001 with 1 df.
    # Prompts' means over the rounds 0.01, 0.91, 1.81: s^2/3 = 0.81/3 = 0.27 with 2 df.
    similar = similar_prompts(columns([[0.0, 0.9, 1.8], [0.02, 0.92, 1.82]]))
    assert similar is not None
    assert similar.mean == pytest.approx(0.91)
    assert (similar.n, similar.lives) == (3, 2)
    variance = 0.0001 + 0.27
    assert similar.se == pytest.approx(math.sqrt(variance))
    assert similar.df == pytest.approx(variance**2 / (0.0001**2 / 1 + 0.27**2 / 2))


def test_prompts_like_these_of_one_round_or_one_prompt_have_no_interval() -> None:
    for rounds in ([[0.1, 0.2]], [[0.1], [0.2]]):
        similar = similar_prompts(columns(rounds))
        assert similar is not None
        assert similar.interval() is None
    assert similar_prompts([]) is None


@settings(deadline=None)
@given(rounds_of_logs)
def test_prompts_like_these_are_never_surer_than_these_prompts(rounds: list[list[float]]) -> None:
    these, similar = over_rounds(columns(rounds)), similar_prompts(columns(rounds))
    assert these is not None
    assert similar is not None
    assert similar.mean == these.mean
    assert (similar.se or 0.0) >= (these.se or 0.0) * (1 - 1e-12)


@settings(deadline=None)
@given(rounds_of_logs, st.randoms())
def test_the_order_of_rounds_changes_nothing(rounds: list[list[float]], rng: object) -> None:
    shuffled = list(rounds)
    rng.shuffle(shuffled)  # type: ignore[attr-defined]
    for estimator in (over_rounds, similar_prompts):
        a, b = estimator(columns(rounds)), estimator(columns(shuffled))
        assert a is not None
        assert b is not None
        assert (b.mean, b.se) == pytest.approx((a.mean, a.se), abs=1e-9)


def test_the_order_of_trials_changes_nothing(make_trial: Make) -> None:
    trials = [make_trial(2 * r + i, k=4 * i, final_round=r) for r in range(3) for i in (0, 1)]

    def found(of: list[Trial]) -> Mapping[str, dict[int, int]]:
        return {arm.candidate.key: {n: t.record.number for n, t in arm.lives.items()} for arm in arms(of)}

    assert found(trials[::-1]) == found(trials)


@given(st.lists(st.lists(st.floats(-1, 1), min_size=3, max_size=3), min_size=2, max_size=6))
def test_the_wider_claim_has_the_wider_interval(rounds: list[list[float]]) -> None:
    these, similar = over_rounds(columns(rounds)), similar_prompts(columns(rounds))
    inner, outer = these and these.interval(), similar and similar.interval()
    if inner and outer:
        assert outer[1] - outer[0] >= inner[1] - inner[0] - 1e-9
