"""How small an effect could be seen: against the noncentral t distribution, by hand and by trying."""

from __future__ import annotations

import math
import random
import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.analysis.power import MOST_LIVES, POWER, lives_needed, noncentrality, smallest_effect
from tuner.analysis.statistics import student_t

confidences = st.sampled_from([0.8, 0.95, 0.9867, 0.999])


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.9867, 0.999])
@pytest.mark.parametrize("df", [1, 1.34, 2, 3, 7, 11, 29.5, 200])
def test_the_effect_is_that_of_the_noncentral_t_distribution(confidence: float, df: float) -> None:
    from scipy.stats import nct

    effect = noncentrality(confidence, df)
    assert float(nct.sf(student_t(confidence, df), df, effect)) == pytest.approx(POWER, abs=0.002)


def test_the_smallest_effect_by_hand() -> None:
    # Three rounds, SD 2 %: 6.7956 (noncentrality for t(2) = 4.3027 and power 0.9, from tables) x 0.02 / sqrt(3).
    assert smallest_effect(0.02, 3, 0.95) == pytest.approx(6.7956 * 0.02 / math.sqrt(3), rel=1e-3)
    # Very many rounds: the normal quantiles 1.95996 + 1.28155 add up.
    assert noncentrality(0.95, 1e6) == pytest.approx(1.95996 + 1.28155, abs=1e-3)


def test_one_round_shows_nothing_and_no_effect_is_certain() -> None:
    assert smallest_effect(0.01, 1, 0.95) == math.inf
    assert noncentrality(1.0, 2) == math.inf
    assert lives_needed(0.01, 10.0, 1.0) == MOST_LIVES


def test_quantiles_far_out_follow_on_from_the_others() -> None:
    """At 2 degrees of freedom confidence 0.9999 is 99.99 standard errors, where the formula changes."""
    below, above = noncentrality(0.99989, 2), noncentrality(0.99991, 2)
    assert below < above < below * 1.2
    assert noncentrality(0.99999999, 2) == pytest.approx(student_t(0.99999999, 2) * math.sqrt(-math.log(0.1)), rel=1e-6)


def test_lives_that_are_needed_by_hand() -> None:
    # Known-variance first guess for SD = effect: (1.960 + 1.282)^2 = 10.5; Student's t costs about two more.
    assert lives_needed(0.03, 0.03, 0.95) == 13
    assert lives_needed(0.0, 0.03, 0.95) == 2
    assert lives_needed(0.03, 0.0, 0.95) == lives_needed(1.0, 0.001, 0.95) == MOST_LIVES


@settings(deadline=None)  # the first example imports scipy
@given(st.floats(0.001, 0.3), st.floats(0.01, 0.5), confidences)
def test_so_many_lives_are_enough_and_one_less_is_not(sd: float, effect: float, confidence: float) -> None:
    needed = lives_needed(sd, effect, confidence)
    if needed < MOST_LIVES:
        assert smallest_effect(sd, needed, confidence) <= effect
    if needed > 2:
        assert smallest_effect(sd, needed - 1, confidence) > effect


@settings(deadline=None)
@given(st.integers(2, 60), confidences, st.floats(0.001, 0.3), st.floats(0.1, 10))
def test_the_smallest_effect_shrinks_with_lives_and_scales_with_the_spread(
    lives: int, confidence: float, sd: float, factor: float
) -> None:
    one = smallest_effect(sd, lives, confidence)
    assert smallest_effect(sd, lives + 1, confidence) < one
    assert smallest_effect(sd * factor, lives, confidence) == pytest.approx(one * factor)
    assert smallest_effect(sd, lives, 0.9995) > one


@pytest.mark.parametrize("lives", [3, 5, 12])
def test_nine_of_ten_sweeps_see_the_smallest_effect(lives: int) -> None:
    rng = random.Random(lives)
    effect = smallest_effect(0.02, lives, 0.95)

    def seen() -> bool:
        rounds = [rng.gauss(effect, 0.02) for _ in range(lives)]
        half = student_t(0.95, lives - 1) * statistics.stdev(rounds) / math.sqrt(lives)
        return statistics.fmean(rounds) - half > 0

    assert sum(seen() for _ in range(4000)) / 4000 == pytest.approx(0.9, abs=0.02)
