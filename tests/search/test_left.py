from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from tuner.analysis.foretold import Foretold
from tuner.records import Candidate, LoadPoint, Observed, Outcome, Sampling, Tried
from tuner.search.left import TOLD_SD, Predicted, k_words, left_words, predicted_speedups

Make = Callable[..., Candidate]


@pytest.mark.parametrize(
    ("ks", "words"),
    [([3], "3"), ([1, 2], "1, 2"), ([5, 4, 3], "3-5"), ([1, 2, 3, 5, 7, 8, 9, 10], "1-3, 5, 7-10"), ([], "")],
)
def test_k_in_words(ks: list[int], words: str) -> None:
    assert k_words(ks) == words


def test_what_is_left_is_told_by_draft_and_reason(make_candidate: Make) -> None:
    space = [make_candidate(0), *(make_candidate(k) for k in range(1, 9)), *(make_candidate(k, "weak") for k in (1, 2))]
    tried = [
        Tried(make_candidate(0), Outcome.MEASURED),
        Tried(make_candidate(3), Outcome.MEASURED),
        Tried(make_candidate(7), Outcome.MEMORY),
        Tried(make_candidate(6), Outcome.FAILED),
    ]
    predicted = {make_candidate(k).key: Predicted(math.log(1.3 - 0.01 * k), 0.02) for k in range(1, 9)}
    assert left_words(space, tried, predicted, "") == (
        "good: K = 1, 2, 4, 5 not measured: predicted 1.29x or less",
        "good: K = 8 not measured: K = 7 ran out of memory",
        "weak: K = 1, 2 not measured: no gain was expected of an engine start",
    )
    assert left_words(space, tried, predicted, "max_minutes ended it") == (
        "good: K = 1, 2, 4, 5 not measured: left open, max_minutes ended it",
        "good: K = 8 not measured: K = 7 ran out of memory",
        "weak: K = 1, 2 not measured: left open, max_minutes ended it",
    )


def test_other_engine_arguments_are_another_curve(make_candidate: Make) -> None:
    space = [make_candidate(k, args={"max_num_seqs": n}) for n in (1, 2) for k in (0, 1, 2)]
    tried = [Tried(space[0], Outcome.MEASURED), Tried(space[2], Outcome.MEASURED), Tried(space[3], Outcome.FAILED)]
    assert left_words(space, tried, {space[1].key: Predicted(math.log(0.9), 0.02)}, "") == (
        "good (max_num_seqs 1): K = 1 not measured: predicted 0.90x",
        "good (max_num_seqs 2): K = 1, 2 not measured: the engine failed without speculation already",
    )


def test_a_prediction_that_is_not_sure_is_a_range_and_no_figure(make_candidate: Make) -> None:
    space = [make_candidate(0), *(make_candidate(k) for k in range(1, 9))]
    tried = [Tried(make_candidate(k), Outcome.MEASURED) for k in (0, 7, 8)]
    sds = {1: 0.1, 2: 0.08, 3: 0.06, 4: TOLD_SD, 5: 0.03, 6: 0.02}
    predicted = {make_candidate(k).key: Predicted(math.log(1.3), sd) for k, sd in sds.items()}
    assert left_words(space, tried, predicted, "") == (
        "good: K = 1-3 not measured: predicted only roughly, 1.06x to 1.59x",
        "good: K = 4-6 not measured: predicted 1.30x or less",
    )


def test_nothing_is_left_where_all_was_tried(make_candidate: Make) -> None:
    space = [make_candidate(0), make_candidate(1)]
    assert left_words(space, [Tried(c, Outcome.FAILED) for c in space], {}, "a limit") == ()


def test_predicted_speedups_are_weighted_over_the_load_points_of_the_best_temperature(make_candidate: Make) -> None:
    cold, busy = LoadPoint("chat", weight=3.0), LoadPoint("chat", concurrency=8)
    warm = LoadPoint("chat", sampling=Sampling(temperature=0.7))
    loads = {load.key: Observed(math.log(seconds)) for load, seconds in ((cold, 0.02), (busy, 0.04), (warm, 0.02))}
    tried = [Tried(make_candidate(0), Outcome.MEASURED, loads), Tried(make_candidate(8), Outcome.MEASURED, loads)]
    two, three = make_candidate(2), make_candidate(3)
    report = [
        Foretold(make_candidate(8), cold, math.log(0.001), 0.1, math.log(0.02)),
        # At temperature 0 twice as fast with weight 3 and no faster with weight 1: 2^(3/4).
        Foretold(two, cold, math.log(0.01), 0.1, None),
        Foretold(two, busy, math.log(0.04), 0.2, None),
        Foretold(two, warm, math.log(0.016), 0.1, None),
        Foretold(three, cold, None, None, None),
        Foretold(make_candidate(2, args={"max_num_seqs": 1}), cold, math.log(0.01), 0.1, None),
    ]
    (found,) = predicted_speedups(report, tried).items()
    assert found[0] == two.key
    assert math.exp(found[1].log) == pytest.approx(2**0.75)
    # Errors that both load points share: (3 x 0.1 + 0.2) / 4.
    assert found[1].sd == pytest.approx(0.125)
