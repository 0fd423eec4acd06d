from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.analysis.growth_curve import GROWTH_SD, growth_curve, reference_growth
from tuner.records import Growth, GrowthSource, Observed


def grown(*tokens: float, source: GrowthSource = GrowthSource.REPLAY) -> Growth:
    return Growth(tuple(math.log(t) for t in tokens), source, 4)


def test_below_the_run_it_is_what_the_run_says() -> None:
    logs, cov = growth_curve(grown(1.8, 2.4, 2.9, 3.2), [1, 2, 4])
    assert np.exp(logs) == pytest.approx([1.8, 2.4, 3.2])
    # A random walk from K = 4 down: variance 0 there, all of it at K = 1.
    assert cov[2, 2] == 0.0
    assert math.sqrt(cov[0, 0]) == pytest.approx(GROWTH_SD[GrowthSource.REPLAY])
    assert cov[1, 1] == pytest.approx(cov[0, 0] * 2 / 3)
    assert cov[0, 1] == pytest.approx(cov[1, 1])


def test_above_the_run_each_token_brings_less_as_the_last_one_did() -> None:
    logs, cov = growth_curve(grown(1.8, 2.2), [2, 3, 4])
    assert np.exp(logs) == pytest.approx([2.2, 2.2 + 0.2, 2.2 + 0.2 + 0.1])
    assert cov[0, 0] == 0.0
    assert math.sqrt(cov[1, 1]) == pytest.approx(0.5 * math.log(2.4 / 2.2) + 0.005)


@pytest.mark.parametrize("better", [GrowthSource.REPLAY, GrowthSource.PROMPTS])
def test_worse_sources_are_trusted_less(better: GrowthSource) -> None:
    _, good = growth_curve(grown(1.8, 2.4, source=better), [1, 2])
    _, poor = growth_curve(grown(1.8, 2.4, source=GrowthSource.POOLED), [1, 2])
    assert poor[0, 0] > good[0, 0]


def test_where_nothing_is_told_the_error_is_large() -> None:
    _, cov = growth_curve(Growth(), [1, 8])
    assert math.sqrt(cov[1, 1] + cov[0, 0] - 2 * cov[0, 1]) > 0.1


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=8), st.integers(1, 16))
def test_more_tokens_never_give_less(gains: list[float], up_to: int) -> None:
    tokens = 1.0 + np.cumsum(gains)
    logs, cov = growth_curve(grown(*tokens.tolist()), range(1, max(up_to, len(gains)) + 1))
    assert (np.diff(logs) >= -1e-12).all()
    assert (np.linalg.eigvalsh(cov) >= -1e-12).all()


def test_the_run_that_reaches_farthest_counts() -> None:
    near, far = Observed(0.0, growth=grown(1.5, 1.9)), Observed(0.0, growth=grown(1.6, 2.0, 2.2))
    assert reference_growth({2: near, 3: far, 9: Observed(0.0)}) == far.growth
    assert reference_growth({9: Observed(0.0)}) == Growth()
