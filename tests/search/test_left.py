from __future__ import annotations

from collections.abc import Callable

import pytest

from tuner.records import Candidate, Outcome, Tried
from tuner.search.left import k_words, left_words

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
    predicted = {make_candidate(k).key: 1.3 - 0.01 * k for k in range(1, 9)}
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
    assert left_words(space, tried, {space[1].key: 0.9}, "") == (
        "good (max_num_seqs 1): K = 1 not measured: predicted 0.90x",
        "good (max_num_seqs 2): K = 1, 2 not measured: the engine failed without speculation already",
    )


def test_nothing_is_left_where_all_was_tried(make_candidate: Make) -> None:
    space = [make_candidate(0), make_candidate(1)]
    assert left_words(space, [Tried(c, Outcome.FAILED) for c in space], {}, "a limit") == ()
