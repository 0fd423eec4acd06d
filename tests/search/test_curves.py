from __future__ import annotations

import pytest

from tests.search.searching import load, speculating
from tuner.records import Candidate, Observed, Outcome, Tried
from tuner.search.curves import History, curves

LOAD = load()


def measured(candidate: Candidate, log_tpot: float, se: float | None) -> Tried:
    return Tried(candidate, Outcome.MEASURED, {LOAD.key: Observed(log_tpot, se)})


def test_a_curve_is_what_differs_in_k_alone() -> None:
    found = curves([Candidate(), speculating(3), speculating(1), speculating(1, "weak"), speculating(2, x=1)])
    assert [(c.ks, c.candidates[0].draft_name) for c in found] == [((1, 3), "good"), ((1,), "weak"), ((2,), "good")]
    assert found[0].family == found[2].family != found[1].family
    assert found[0].name != found[2].name


def test_standard_errors_of_a_load_point_are_pooled() -> None:
    history = History((measured(speculating(1), -3.0, 0.03), measured(speculating(2), -3.1, 0.01)))
    seen = history.observed(speculating(1), LOAD.key)
    assert seen is not None and seen.se == pytest.approx(((0.03**2 + 0.01**2) / 2) ** 0.5)


def test_lives_of_one_candidate_are_put_together() -> None:
    history = History((measured(speculating(1), -3.0, 0.02), measured(speculating(1), -3.2, 0.02)))
    seen = history.observed(speculating(1), LOAD.key)
    assert seen is not None
    assert seen.log_tpot == pytest.approx(-3.1) and seen.se == pytest.approx(0.02 / 2**0.5)
    assert history.observed(speculating(2), LOAD.key) is None


def test_a_single_repeat_has_no_standard_error() -> None:
    seen = History((measured(speculating(1), -3.0, None),)).observed(speculating(1), LOAD.key)
    assert seen is not None and seen.se is None


def test_what_may_still_be_started() -> None:
    curve = curves([speculating(k) for k in (1, 2, 4, 6, 8)])[0]
    history = History(
        (
            Tried(speculating(6), Outcome.MEMORY),
            Tried(speculating(2), Outcome.FAILED),
            measured(speculating(1), -3, 0.01),
        )
    )
    assert [c.k for c in history.open(curve)] == [4]
    assert [c.k for c in history.of(curve, Outcome.FAILED, Outcome.MEMORY)] == [2, 6]


def test_nothing_is_started_where_the_baseline_failed() -> None:
    args = {"max_num_seqs": 8}
    with_args, without = curves([speculating(1, args=args), speculating(1)])
    history = History((Tried(Candidate(args), Outcome.FAILED),))
    assert not history.open(with_args) and history.open(without)


def test_the_chance_of_enough_memory_falls_between_what_had_it_and_what_had_not() -> None:
    curve = curves([speculating(k) for k in range(1, 9)])[0]
    history = History((measured(speculating(2), -3, 0.01), Tried(speculating(6), Outcome.MEMORY)))
    assert [history.chance(curve, speculating(k)) for k in (1, 2, 3, 4, 5)] == [1, 1, 0.75, 0.5, 0.25]
    assert History(()).chance(curve, speculating(8)) == 1


def test_a_trial_without_any_load_point_counts_as_failed() -> None:
    assert History((Tried(speculating(1), Outcome.MEASURED),)).outcomes[speculating(1).key] is Outcome.FAILED
