"""Variance components of engine lives: by hand, against a known truth, and what they mean for a sweep."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from tuner.analysis.noise import noise, variance_components
from tuner.records import LoadPoint, Protocol, Role, Trial

C1, C8 = LoadPoint("chat", 1, 33), LoadPoint("chat", 8, 33)
Make = Callable[..., Trial]


def test_balanced_components_by_hand() -> None:
    """Two lives of two repeats: means 1 and 5, MS_between = 2 (4 + 4) = 16, MS_within = (2 + 2) / 2 = 2."""
    found = variance_components([[0.0, 2.0], [4.0, 6.0]])
    assert found.repeat is not None
    assert found.repeat.value == pytest.approx(math.sqrt(2.0))
    assert found.life.value == pytest.approx(math.sqrt((16.0 - 2.0) / 2))
    assert found.total.value == pytest.approx(math.sqrt(8.0))
    assert (found.repeat.df, found.life.df, found.total.df) == (2, 1, 1)


def test_unbalanced_components_by_hand() -> None:
    """Lives of 1 and 3 repeats: means 0 and 4, grand 3, MS_b = 9 + 3 = 12, MS_w = 2 / 2 = 1, n0 = 4 - 10/4 = 1.5."""
    found = variance_components([[0.0], [3.0, 4.0, 5.0]])
    assert found.repeat is not None
    assert found.repeat.value == pytest.approx(1.0)
    assert found.life.value == pytest.approx(math.sqrt((12.0 - 1.0) / 1.5))


def test_intervals_are_chi_square_ones() -> None:
    """Five values of SD s: 4 s^2 / 11.143 to 4 s^2 / 0.4844, from a table of chi-square at 2.5 % and 97.5 %."""
    found = variance_components([[0.0], [1.0], [2.0], [3.0], [4.0]])
    assert found.repeat is None
    variance = 2.5
    assert found.total.value**2 == pytest.approx(variance)
    assert found.total.low**2 == pytest.approx(4 * variance / 11.143, rel=1e-3)
    assert found.total.high**2 == pytest.approx(4 * variance / 0.4844, rel=1e-3)


def test_lives_that_agree_better_than_their_repeats_have_no_spread_of_their_own() -> None:
    found = variance_components([[0.0, 2.0], [0.1, 2.1], [-0.1, 1.9]])
    assert found.life.value == 0.0
    assert found.life.low == 0.0
    assert found.total.value == pytest.approx(0.1)


def test_the_components_are_those_that_the_values_were_made_with() -> None:
    rng = random.Random(3)
    lives = [[life + rng.gauss(0, 0.02) for _ in range(4)] for life in [rng.gauss(0, 0.05) for _ in range(2000)]]
    found = variance_components(lives)
    assert found.repeat is not None
    assert found.repeat.value == pytest.approx(0.02, rel=0.05)
    assert found.life.value == pytest.approx(0.05, rel=0.05)
    assert found.life.low < 0.05 < found.life.high


def lives(make: Make, factors: dict[Role, list[float]], k: int = 0, first: int = 0, **more: object) -> list[Trial]:
    """Return lives in which every prompt takes its own time, times the life's factor."""
    trials: list[Trial] = []
    for role, of_role in factors.items():
        for factor in of_role:
            tpot = lambda load, i, _r, factor=factor: 0.02 * (1 + 0.2 * i) * factor  # noqa: E731
            trials.append(make(first + len(trials), k=k, role=role, tpot=tpot, **more))
    return trials


def test_a_life_counts_by_its_prompts_relative_to_themselves(make_trial: Make) -> None:
    trials = lives(make_trial, {Role.BASELINE: [1.0], Role.BASELINE_AGAIN: [1.1, 1.21]}, loads=(C1,))
    (arm,) = noise(trials, (C1,), Protocol(lives=3))
    (row,) = arm.loads
    assert (row.lives, row.repeats, row.prompts) == (3, 9, 6)
    assert row.repeat is not None and row.repeat.value == pytest.approx(0.0, abs=1e-9)
    assert row.life is not None and row.life.value == pytest.approx(math.log(1.1))
    assert row.largest == pytest.approx(0.21)


def test_lives_of_another_device_or_of_extras_are_left_out_and_finals_count(make_trial: Make) -> None:
    own = lives(make_trial, {Role.BASELINE: [1.0], Role.FINAL: [1.1]}, loads=(C1,))
    other = lives(make_trial, {Role.DRAFT_ALONE: [3.0], Role.SAME_RUNNER: [2.0]}, first=7, loads=(C1,))
    elsewhere = make_trial(9, role=Role.BASELINE, loads=(C1,), device="node-b/cpu")
    (arm,) = noise([*own, *other, elsewhere], (C1,), Protocol())
    assert arm.loads[0].lives == 2
    assert arm.loads[0].largest == pytest.approx(0.1)


def test_what_a_sweep_could_tell_comes_from_both_arms_of_a_round(make_trial: Make) -> None:
    plain = lives(make_trial, {Role.BASELINE: [1.0], Role.BASELINE_AGAIN: [1.001, 1.002]}, loads=(C1,))
    wild = lives(make_trial, {Role.CANDIDATE: [0.6], Role.CANDIDATE_AGAIN: [0.7, 0.8]}, k=3, first=3, loads=(C1,))
    protocol = Protocol(lives=3, max_lives=12)
    steady, shaky = noise([*plain, *wild], (C1,), protocol)
    assert (steady.candidate.k, shaky.candidate.k) == (0, 3)
    calm, rough = steady.loads[0], shaky.loads[0]
    assert calm.smallest is not None and rough.smallest is not None and rough.smallest_at_most is not None
    assert calm.smallest < 0.03 < rough.smallest_at_most < rough.smallest
    assert calm.lives_for is not None and rough.lives_for is not None
    assert calm.lives_for[0.03] <= 3 < rough.lives_for[0.10] < rough.lives_for[0.03]


def test_a_protocol_of_one_life_makes_no_claim_beyond_it(make_trial: Make) -> None:
    trials = lives(make_trial, {Role.BASELINE: [1.0], Role.BASELINE_AGAIN: [1.1]}, loads=(C1,))
    (arm,) = noise(trials, (C1,), Protocol(lives=1))
    assert arm.loads[0].smallest is None
    assert arm.loads[0].lives_for is not None


def test_several_load_points_have_a_row_together_in_which_their_noise_averages(make_trial: Make) -> None:
    def tpot(load: LoadPoint, i: int, _r: int) -> float:
        return 0.02

    def slower(load: LoadPoint, i: int, _r: int) -> float:
        return 0.02 * (1.1 if load.concurrency == 1 else 1 / 1.1)

    trials = [
        make_trial(0, tpot=tpot, loads=(C1, C8)),
        make_trial(1, tpot=slower, loads=(C1, C8), role=Role.BASELINE_AGAIN),
    ]
    (arm,) = noise(trials, (C1, C8), Protocol())
    one, eight, together = arm.loads
    assert one.largest == pytest.approx(0.1) and eight.largest == pytest.approx(0.1)
    assert together.load_point is None
    assert together.largest == pytest.approx(0.0, abs=1e-9)
