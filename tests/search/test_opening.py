from __future__ import annotations

from tests.search.searching import World, speculating
from tuner.records import Candidate, Outcome, Tried
from tuner.search.curves import History, curves
from tuner.search.opening import opening, reference_curves

KS = range(1, 9)
CURVES = curves([speculating(k, draft) for draft in ("good", "weak") for k in KS])


def first(*tried: Tried) -> Candidate | None:
    history = History(tried)
    decision = opening(reference_curves(CURVES, history), history)
    return decision.candidate if decision else None


def running(k: int, draft: str = "good") -> Tried:
    return Tried(speculating(k, draft), Outcome.RUNNING)


def measured(k: int, draft: str = "good") -> Tried:
    return World().run(speculating(k, draft))


def failed(k: int, outcome: Outcome = Outcome.FAILED, draft: str = "good") -> Tried:
    return Tried(speculating(k, draft), outcome)


def test_the_largest_k_of_each_draft_and_a_small_one_where_workers_are_free() -> None:
    assert first() == speculating(8)
    assert first(running(8)) == speculating(8, "weak")
    assert first(measured(8)) == speculating(8, "weak")
    assert first(running(8), running(8, "weak")) == speculating(3)
    assert first(running(8), running(8, "weak"), running(3)) == speculating(3, "weak")
    assert first(running(8), running(3), running(8, "weak"), running(3, "weak")) is None
    assert first(measured(8), measured(8, "weak")) is None
    assert first(running(3)) == speculating(8)


def test_a_largest_k_that_fails_is_replaced() -> None:
    assert first(failed(8), measured(8, "weak")) == speculating(7)
    assert first(failed(8, Outcome.MEMORY), measured(8, "weak")) == speculating(4)
    assert first(failed(8, Outcome.MEMORY), failed(4, Outcome.MEMORY), measured(8, "weak")) == speculating(2)


def test_a_draft_that_never_runs_is_given_up() -> None:
    assert first(*(failed(k) for k in KS), measured(8, "weak")) is None


def test_other_arguments_wait_for_the_first_ones() -> None:
    every = curves([speculating(k, args={"max_num_seqs": n}) for n in (64, 32) for k in KS])
    history = History(())
    assert reference_curves(every, history) == every[:1]
    broken = History((Tried(Candidate({"max_num_seqs": 64}), Outcome.FAILED),))
    assert reference_curves(every, broken) == every[1:]
    later = History((World().run(speculating(3, args={"max_num_seqs": 32})),))
    assert reference_curves(every, later) == every[1:]


def test_the_only_k_of_a_draft_is_not_called_the_largest() -> None:
    history = History(())
    (one,) = curves([speculating(3)])
    decision = opening(reference_curves([one], history), history)
    assert decision is not None and decision.why == "good K=3 is the only K of its draft"
    first_of_many = opening(reference_curves(CURVES, history), history)
    assert first_of_many is not None and "good K=8 is the largest K" in first_of_many.why
