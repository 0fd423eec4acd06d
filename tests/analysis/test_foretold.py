from __future__ import annotations

import math

import pytest

from tuner.analysis.foretold import foretold
from tuner.analysis.prediction import ModelError
from tuner.records import Candidate, Growth, GrowthSource, LoadPoint, Observed, Outcome, Speculation, Tried

LOAD = LoadPoint("chat")
BASE = Candidate()


def candidate(k: int, draft: str = "good") -> Candidate:
    return Candidate({}, Speculation("draft_model", k, draft, draft))


def tokens(k: int) -> float:
    return (1 - 0.8 ** (k + 1)) / 0.2


def truth(k: int) -> float:
    return math.log(0.02 * (1.1 + 0.06 * k) / tokens(k)) if k else math.log(0.02)


def run(one: Candidate, off: float = 0.0) -> Tried:
    logs = tuple(math.log(tokens(i)) for i in range(1, one.k + 1))
    growth = Growth(logs, GrowthSource.REPLAY, 9) if one.k else Growth()
    return Tried(one, Outcome.MEASURED, {LOAD.key: Observed(truth(one.k) + off, 0.005, growth)})


CANDIDATES = [BASE, *(candidate(k) for k in range(1, 9))]


def test_each_run_is_held_against_what_was_known_before_it() -> None:
    tried = [run(BASE), run(candidate(8)), run(candidate(3)), run(candidate(5), off=0.2)]
    found = foretold(tried, CANDIDATES, [LOAD], ModelError())
    first, second, third = found[:3]
    assert [one.candidate.k for one in found] == [8, 3, 5, 1, 2, 4, 6, 7]
    assert first.predicted is None and first.difference is None and first.measured == pytest.approx(truth(8))
    assert second.predicted == pytest.approx(truth(3), abs=0.06)
    assert third.difference == pytest.approx(0.2, abs=0.04)
    assert all(one.measured is None and one.difference is None and one.sd for one in found[3:])


def test_a_later_run_does_not_change_an_earlier_prediction() -> None:
    tried = [run(BASE), run(candidate(8)), run(candidate(3))]
    before = foretold(tried, CANDIDATES, [LOAD], ModelError())[1]
    after = foretold([*tried, run(candidate(2), off=0.3)], CANDIDATES, [LOAD], ModelError())[1]
    assert before == after


def test_what_failed_or_runs_tells_nothing() -> None:
    tried = [run(BASE), Tried(candidate(8), Outcome.MEMORY), Tried(candidate(7), Outcome.RUNNING), run(candidate(4))]
    found = foretold(tried, CANDIDATES, [LOAD], ModelError())
    assert found[0].candidate.k == 4 and found[0].predicted is None
    assert {one.candidate.k for one in found[1:]} == {1, 2, 3, 5, 6, 7, 8}


def test_other_engine_arguments_have_curves_of_their_own() -> None:
    other = Candidate({"max_num_seqs": 4}, candidate(8).speculation)
    found = foretold([run(BASE), run(candidate(8)), run(other)], [*CANDIDATES, other], [LOAD], ModelError())
    assert found[1].candidate == other and found[1].predicted is None


def test_a_draft_of_which_nothing_ran_has_no_prediction() -> None:
    found = foretold([run(BASE), run(candidate(8))], [BASE, candidate(8), candidate(2, "weak")], [LOAD], ModelError())
    assert found[-1].candidate.draft_name == "weak" and found[-1].predicted is None
