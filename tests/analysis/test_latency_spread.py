"""How the latencies of single requests are spread."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tuner.analysis.latency_spread import SHOWN, latency_spreads
from tuner.records import LoadPoint, Trial

Make = Callable[..., Trial]
LOADS = (LoadPoint("chat", 1, 33), LoadPoint("chat", 8, 33))


def test_percentiles_over_all_requests_that_count(make_trial: Make) -> None:
    trial = make_trial(0, loads=LOADS, prompts=21, repeats=1, ttft=lambda load, prompt, repeat: 0.1 + 0.01 * prompt)
    found = latency_spreads([trial], LOADS, ("ttft_s",))
    assert [(s.load_point, s.n, s.lives) for s in found] == [(LOADS[0], 21, 1), (LOADS[1], 21, 1)]
    expected = [0.1 + 0.2 * percent / 100 for percent in SHOWN]
    assert found[0].percentiles == pytest.approx(tuple(expected))


def test_fresh_lives_count_instead_of_the_single_one(make_trial: Make) -> None:
    trials = [make_trial(1, k=2, loads=LOADS, tpot=0.5), make_trial(2, k=2, loads=LOADS, tpot=0.01, final_round=0)]
    (spread,) = latency_spreads(trials, LOADS[:1], ("tpot_s",))
    assert spread.lives == 1
    assert max(spread.percentiles) == pytest.approx(0.01)


def test_lives_of_one_candidate_are_taken_together(make_trial: Make) -> None:
    trials = [make_trial(i, k=2, loads=LOADS, tpot=0.01 * (i + 1), final_round=i) for i in range(2)]
    (spread,) = latency_spreads(trials, LOADS[:1], ("tpot_s",))
    assert (spread.lives, spread.n) == (2, 36)
    assert spread.percentiles[2] == pytest.approx(0.015)


def test_failed_trials_and_broken_repeats_do_not_count(make_trial: Make) -> None:
    trials = [
        make_trial(0, loads=LOADS, failure="no memory"),
        make_trial(1, k=2, loads=LOADS, problems={0: ("foreign traffic",)}, failed=1),
    ]
    (spread,) = latency_spreads(trials, LOADS[:1], ("tpot_s",))
    assert spread.candidate.k == 2
    assert spread.n == 12  # two of three repeats, six prompts, and not what failed
