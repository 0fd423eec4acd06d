from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.analysis import steptime
from tuner.analysis.steptime import BEND, DRAFTS, Floats, Rows, impossible, log_times, padded, structures


def rows(*steps: tuple[float, float, int]) -> Rows:
    """concurrency, K, draft (-1: no speculation)."""
    return Rows(
        np.asarray([c for c, _, _ in steps], dtype=float),
        np.asarray([k for _, k, _ in steps], dtype=float),
        np.asarray([d for _, _, d in steps]),
    )


def parameters(**named: float) -> Floats:
    values = {"step": 0.02, "token": 0.01, "bent": 0.8, "bend": 64.0, "request": 0.001, "overhead": 0.1, "crowd": 0.01}
    return np.log([list(({**values, "draft": 0.05} | named).values())])


def test_a_step_by_hand() -> None:
    steps = rows((8, 0, -1), (8, 3, 0), (8, 9, 0))
    tokens = steps.concurrency * (steps.k + 1)
    logs, _ = log_times(parameters(), steps, padded(tokens, "none")[None, :])
    plain = 1 + 0.01 * 7 + 0.001 * 8
    three = 1 + 0.01 * 31 + 0.001 * 8 + 0.1 + 0.05 * 3 * 1.07
    nine = 1 + 0.01 * 63 + 0.8 / 64 * 16 + 0.001 * 8 + 0.1 + 0.05 * 9 * 1.07
    assert np.exp(logs[0]) == pytest.approx([0.02 * plain, 0.02 * three, 0.02 * nine])


@pytest.mark.parametrize("at", range(DRAFTS + 1))
def test_the_slopes_are_those_of_the_logs(at: int) -> None:
    steps = rows((8, 0, -1), (8, 3, 0), (8, 9, 0))
    sizes = padded(steps.concurrency * (steps.k + 1), "none")[None, :]
    centre = parameters()
    shift = np.zeros_like(centre)
    shift[0, at] = 1e-6
    _, slopes = log_times(centre, steps, sizes)
    up, down = log_times(centre + shift, steps, sizes)[0], log_times(centre - shift, steps, sizes)[0]
    assert slopes[0, :, at] == pytest.approx((up - down)[0] / 2e-6, abs=1e-6)


def test_padding() -> None:
    tokens = np.asarray([1.0, 3.0, 9.0, 65.0, 513.0, 1025.0])
    assert padded(tokens, "none").tolist() == [1, 3, 9, 65, 513, 1025]
    assert padded(tokens, "graphs").tolist() == [1, 4, 16, 72, 513, 1025]
    assert padded(tokens, "powers of two").tolist() == [1, 4, 16, 128, 1024, 1025]


@given(st.integers(1, 256), st.integers(1, 16))
def test_structures_share_out_all_of_the_belief(concurrency: int, k: int) -> None:
    found = structures(rows((concurrency, 0, -1), (concurrency, k, 0)))
    assert math.fsum(math.exp(s.log_prior) for s in found) == pytest.approx(1.0)
    assert len({(s.padding, s.bend) for s in found}) == len(found)


def test_a_bend_beyond_all_tokens_is_none() -> None:
    steps = rows((1, 4, 0))
    straight = next(s for s in structures(steps) if s.padding == "none")
    centre = parameters()
    centre[0, BEND] = math.log(straight.bend)
    _, slopes = log_times(centre, steps, np.asarray([[5.0]]))
    assert slopes[0, 0, BEND] == 0.0


@pytest.mark.parametrize(
    ("times", "baseline", "words"),
    [
        ({1: 0.022, 3: 0.024, 8: 0.030}, 0.02, ""),
        ({1: 0.030, 8: 0.022}, 0.02, "K = 8 takes less time than one with K = 1"),
        ({1: 0.0221, 8: 0.0220}, 0.02, ""),
        ({4: 0.010}, 0.02, "less than 70 %"),
        ({1: 0.010, 2: 0.025}, None, "K = 1 and 2 leave no time"),
        ({5: 0.010, 8: 0.025}, None, ""),
        ({}, 0.02, ""),
    ],
)
def test_impossible_times(times: dict[int, float], baseline: float | None, words: str) -> None:
    logs = {k: math.log(t) for k, t in times.items()}
    why = impossible(logs, None if baseline is None else math.log(baseline), noise=0.01)
    assert (words in why) if words else why == ""


def test_noise_excuses() -> None:
    times = {1: math.log(0.030), 8: math.log(0.028)}
    assert impossible(times, None, 0.005) and not impossible(times, None, 0.03)


def test_prior_has_an_entry_for_each_parameter() -> None:
    assert len(steptime.PRIOR) == DRAFTS
