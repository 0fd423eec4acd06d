"""When one of two finalists need not live on, and which of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.test_finals import C1, Log, confirmed, judged, only, single
from tuner.analysis.leaving import DIFFERENCE_SD, WORTH, Race, leaver
from tuner.analysis.statistics import expected_gain
from tuner.records import LoadPoint, Protocol, Role, Sampling, Trial, Verdict

Make = Callable[..., Trial]
FOUR = Protocol(lives=4, max_lives=4)
SPREAD = (0.004, -0.003, 0.002, -0.004, 0.001, 0.003, -0.001, 0.002, -0.002, 0.004, -0.003, 0.001)


# ---- one race


def test_who_is_far_behind_leaves_after_one_round_whoever_it_is() -> None:
    assert leaver(Race((0.2,)), 4, 4) == (1, 1)
    assert leaver(Race((-0.2,)), 4, 4) == (1, -1)


def test_the_rule_by_hand() -> None:
    # One round and no single lives: the assumed SD alone is the error; three lives are still to be saved.
    lead = 0.02
    gain = expected_gain(-lead, DIFFERENCE_SD * math.sqrt(2 / 2))
    assert WORTH < gain < 4 * WORTH  # so that the number of starts decides
    assert leaver(Race((lead,)), 2, 4) is None
    assert (leaver(Race((lead,)), 4, 4) is not None) == (gain < 3 * WORTH)
    assert leaver(Race((lead,)), 9, 4) == (1, 1)
    assert leaver(Race((lead,)), 9, 1) is None


def test_who_is_close_stays() -> None:
    assert leaver(Race((0.003, -0.002, 0.001), 0.004), 4, 4) is None


def test_single_lives_that_said_otherwise_show_that_lives_differ() -> None:
    assert leaver(Race((0.08,), 0.07), 4, 4) == (1, 1)
    assert leaver(Race((0.08,), -0.25), 4, 4) is None


def test_nobody_leaves_after_the_last_round() -> None:
    assert leaver(Race((0.0, 0.0, 0.0, 0.3)), 4, 4) is None
    assert leaver(Race((0.2,)), 1, 4) is None


def test_a_smaller_k_of_the_same_draft_leaves_only_if_it_is_clearly_slower() -> None:
    leads = (0.045,)
    assert leaver(Race(leads, 0.045, smaller=1), 4, 4) == (1, 1)
    assert leaver(Race(leads, 0.045, smaller=0), 4, 4) == (1, 1)
    assert leaver(Race(leads, 0.045, smaller=-1), 4, 4) is None
    assert leaver(Race((0.2, 0.2), 0.2, smaller=-1), 4, 4) == (1, 1)


@given(
    st.lists(st.floats(-0.5, 0.5), min_size=1, max_size=6),
    st.none() | st.floats(-0.5, 0.5),
    st.sampled_from([-1, 0, 1]),
)
def test_exchanging_the_two_exchanges_the_answer(leads: list[float], before: float | None, smaller: int) -> None:
    there = leaver(Race(tuple(leads), before, smaller), 5, 4)
    back = leaver(Race(tuple(-x for x in leads), None if before is None else -before, -smaller), 5, 4)
    if there is None or back is None or math.fsum(leads[: there[0]]) == 0.0:
        assert there == back or math.fsum(leads) == 0.0
    else:
        assert back == (there[0], -there[1])


# ---- in a sweep


def lives(speeds: dict[int, float], spread: float = 1.0) -> Log:
    """Return lives in which each K is so many times as fast as no speculation, give or take a little."""
    return lambda k, number: (-math.log(speeds[k]) + spread * SPREAD[(number + k) % 12]) if k else 0.0


def fresh(trials: list[Trial]) -> list[tuple[int, int | None]]:
    return [(t.record.candidate.k, t.record.round) for t in trials if t.record.role is Role.FINAL]


def test_a_rival_that_is_far_behind_lives_once(make_trial: Make) -> None:
    speeds = {2: 1.5, 4: 1.8}
    trials = confirmed(make_trial, single(make_trial, speeds), FOUR, lives(speeds))
    assert sorted(fresh(trials)) == [(0, 0), (0, 1), (0, 2), (0, 3), (2, 0), (4, 0), (4, 1), (4, 2), (4, 3)]
    answer = only(trials, FOUR)
    assert (answer.verdict, answer.best.k, answer.lives, answer.runner_up) == (Verdict.SPECULATE, 4, 4, None)
    assert judged(trials, FOUR).settled


def test_what_was_measured_counts_however_far_behind(make_trial: Make) -> None:
    """A run whose finalists all had their lives, as before anybody left."""
    speeds = {2: 1.5, 4: 1.8}
    trials = single(make_trial, speeds)
    for number in range(4):
        for k in (0, 2, 4):
            tpot = 0.02 * math.exp(lives(speeds)(k, number))
            trials.append(make_trial(len(trials), k=k, tpot=tpot, final_round=number))
    answer = only(trials, FOUR)
    assert (answer.best.k, answer.runner_up and answer.runner_up.k, answer.lives) == (4, 2, 4)


def test_a_winner_that_was_lucky_leaves_to_its_rival(make_trial: Make) -> None:
    trials = confirmed(make_trial, single(make_trial, {2: 1.5, 4: 1.6}), FOUR, lives({2: 1.5, 4: 1.1}))
    assert [k for k, _ in fresh(trials)].count(4) < 4
    answer = only(trials, FOUR)
    assert (answer.best.k, answer.lives) == (2, 4)


def test_close_finalists_live_as_often(make_trial: Make) -> None:
    speeds = {2: 1.5, 4: 1.51}
    trials = confirmed(make_trial, single(make_trial, speeds), FOUR, lives(speeds))
    assert [k for k, _ in fresh(trials)].count(2) == [k for k, _ in fresh(trials)].count(4) == 4


def test_where_nobody_was_proposed_both_carry_a_claim_and_stay(make_trial: Make) -> None:
    speeds = {2: 1.5, 4: 1.2}
    unclear = [make_trial(0), make_trial(3, role=Role.BASELINE_AGAIN)]
    for number, k in enumerate(speeds, 1):
        trial = make_trial(number, k=k, tpot=lambda _l, i, _r, k=k: 0.02 * (1 + 0.05 * (-1) ** (i // k)))
        unclear.insert(number, trial)
    trials = confirmed(make_trial, unclear, FOUR, lives(speeds))
    assert [k for k, _ in fresh(trials)].count(2) == [k for k, _ in fresh(trials)].count(4) == 4


def test_where_lives_differ_much_both_stay(make_trial: Make) -> None:
    speeds = {2: 1.5, 4: 1.55}
    trials = confirmed(make_trial, single(make_trial, {2: 1.5, 4: 1.8}), FOUR, lives(speeds, 40.0))
    assert [k for k, _ in fresh(trials)].count(2) == [k for k, _ in fresh(trials)].count(4) == 4


def test_who_is_a_close_rival_at_one_temperature_stays_for_it(make_trial: Make) -> None:
    warm = replace(C1, sampling=Sampling(temperature=0.7))

    def tpot(speeds: dict[float, float]) -> Callable[[LoadPoint, int, int], float]:
        return lambda load, i, _r: 0.02 / speeds[load.sampling.temperature] * (1 + 0.01 * (-1) ** i)

    trials = [
        make_trial(0, tpot=tpot({0.0: 1.0, 0.7: 1.0}), loads=(C1, warm)),
        make_trial(1, k=2, tpot=tpot({0.0: 1.5, 0.7: 1.5}), loads=(C1, warm)),
        make_trial(2, k=4, tpot=tpot({0.0: 1.8, 0.7: 1.51}), loads=(C1, warm)),
        make_trial(3, role=Role.BASELINE_AGAIN, tpot=tpot({0.0: 1.0, 0.7: 1.0}), loads=(C1, warm)),
    ]
    for number, k in enumerate((0, 2, 4)):
        of = {0: trials[0], 2: trials[1], 4: trials[2]}[k]
        speeds = {0: {0.0: 1.0, 0.7: 1.0}, 2: {0.0: 1.5, 0.7: 1.5}, 4: {0.0: 1.8, 0.7: 1.51}}[k]
        assert of.record.candidate.k == k
        trials.append(make_trial(4 + number, k=k, tpot=tpot(speeds), loads=(C1, warm), final_round=0))
    assert sorted(arm.k for arm in judged(trials, FOUR, (C1, warm)).arms) == [0, 2, 4]
    assert sorted(arm.k for arm in judged(trials, FOUR, (C1,)).arms) == [0, 4]


def test_the_one_that_left_is_not_forgotten_where_the_other_does_not_pay(make_trial: Make) -> None:
    """K = 2 was fast in its single life; that K = 4 is slower than no speculation says nothing of it."""
    speeds = {2: 0.7, 4: 0.9}
    trials = confirmed(make_trial, single(make_trial, {2: 1.5, 4: 1.6}), FOUR, lives(speeds))
    assert [k for k, _ in fresh(trials)].count(2) == 1
    answer = only(trials, FOUR)
    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "good K=2 was faster in its single life" in answer.why


@pytest.mark.parametrize("session", [1, 2, 3])
def test_sessions_make_no_difference_to_who_leaves(make_trial: Make, session: int) -> None:
    speeds = {2: 1.5, 4: 1.8}
    start = single(make_trial, speeds)
    assert confirmed(make_trial, start, FOUR, lives(speeds), session=session) == confirmed(
        make_trial, start, FOUR, lives(speeds)
    )
