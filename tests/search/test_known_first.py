"""The order of a search that begins with what was known, and where it ends."""

from __future__ import annotations

from collections.abc import Sequence

from tests.search.searching import World, load, speculating
from tuner.records import Candidate, Outcome, Tried
from tuner.search.guided import GuidedSettings
from tuner.search.known import Expected, KnownBest, Start
from tuner.search.samplers import Search
from tuner.space.search_space import GRID

PLAIN = Candidate({})
SPACE = (PLAIN, *(speculating(k) for k in range(1, 9)), *(speculating(k, "weak") for k in (1, 3)))
LOAD = load()
UNKNOWN = Expected()
# At this acceptance and cost the best K of the world is 5.
WORLD = World(rates={"good": 0.85, "weak": 0.1}, costs={"good": 0.12})
SURE = GuidedSettings(life_sd=0.001, repeat_sd=0.001)


def search(k: int, expected: Expected = UNKNOWN, sampler: str = "guided", open_for: str = "") -> Search:
    best = KnownBest(0.0, speculating(k), True, {LOAD.key: expected}, life_sd=0.0)
    return Search(sampler, (LOAD,), SURE, Start((best,), open_for))


def walked(how: Search, world: World = WORLD, most: int = 20) -> tuple[list[Candidate], list[str]]:
    """Return what is measured, one after the other, and what is said."""
    tried: list[Tried] = []
    said: list[str] = []
    for _ in range(most):
        decision = how.policy(SPACE).next(tried)
        said.append(decision.why)
        if decision.candidate is None:
            assert decision.done
            break
        tried.append(world.run(decision.candidate))
    return [one.candidate for one in tried], said


def best_of(world: World) -> int:
    return min(range(1, 9), key=lambda k: world.log_tpot(speculating(k), LOAD))


def test_a_best_that_holds_ends_the_search_after_its_neighbours() -> None:
    best = best_of(WORLD)
    tried, said = walked(search(best))
    assert tried == [PLAIN, *(speculating(k) for k in (best, best - 1, best + 1))]
    assert "the best of the last sweep" in said[1] and "next to the best" in said[2]
    assert f"neither good K={best - 1} nor good K={best + 1} is faster" in said[-1]


def test_a_best_that_moved_is_followed_by_the_whole_search_which_says_why_once() -> None:
    best = best_of(WORLD)
    tried, said = walked(search(best - 3))
    assert tried[:4] == [PLAIN, *(speculating(k) for k in (best - 3, best - 4, best - 2) if k)]
    assert speculating(3, "weak") in tried and speculating(best) in tried
    told = [words for words in said if words.startswith("the whole search follows: ")]
    assert len(told) == 1 and "faster than" in told[0]
    assert len({one.key for one in tried}) == len(tried)


def test_figures_that_moved_are_followed_by_the_whole_search_too() -> None:
    tried, _ = walked(search(best_of(WORLD), Expected(speedup=(9.0, 10.0))))
    assert speculating(3, "weak") in tried


def test_what_the_last_sweep_could_not_answer_is_searched() -> None:
    tried, said = walked(search(best_of(WORLD), open_for="there is a new draft"))
    assert speculating(3, "weak") in tried
    assert any("there is a new draft" in words for words in said)


def test_what_else_was_measured_does_not_turn_the_decision_over() -> None:
    how, best = search(best_of(WORLD) - 3), best_of(WORLD)
    tried = [WORLD.run(one) for one in (PLAIN, *(speculating(k) for k in range(1, 9)))]
    before = how.held(SPACE, [one for one in tried if one.candidate.k in (0, best - 3, best - 4, best - 2)])
    assert before is not None and not before.holds
    assert how.held(SPACE, tried) == before


def test_nothing_is_decided_while_one_of_them_runs() -> None:
    how, best = search(best_of(WORLD)), best_of(WORLD)
    tried = [WORLD.run(one) for one in (PLAIN, speculating(best), speculating(best - 1))]
    decision = how.policy(SPACE).next([*tried, Tried(speculating(best + 1), Outcome.RUNNING)])
    assert (decision.candidate, decision.done) == (None, False)
    assert how.held(SPACE, tried) is None


def test_workers_get_the_neighbours_while_the_best_runs() -> None:
    how, best = search(best_of(WORLD)), best_of(WORLD)
    running = [Tried(PLAIN, Outcome.RUNNING), Tried(speculating(best), Outcome.RUNNING)]
    assert how.policy(SPACE).next(running).candidate == speculating(best - 1)


def test_a_larger_k_is_not_started_after_one_that_ran_out_of_memory() -> None:
    how, best = search(best_of(WORLD)), best_of(WORLD)
    tried = [WORLD.run(PLAIN), Tried(speculating(best), Outcome.MEMORY), WORLD.run(speculating(best - 1))]
    held = how.held(SPACE, tried)
    assert held is not None and not held.holds and "could not be measured" in held.why
    assert how.policy(SPACE).next(tried).candidate != speculating(best + 1)


def test_a_baseline_that_failed_ends_it() -> None:
    decision = search(5).policy(SPACE).next([Tried(PLAIN, Outcome.FAILED)])
    assert (decision.candidate, decision.done) == (None, True)


def test_every_other_sampler_measures_all_of_it_the_known_first() -> None:
    tried, _ = walked(search(5, sampler=GRID))
    assert [one.k for one in tried[:4]] == [0, 5, 4, 6]
    assert {one.key for one in tried} == {one.key for one in SPACE}


def test_a_start_that_the_space_does_not_have_is_none() -> None:
    how = search(20)
    assert how.first(SPACE) == () and how.held(SPACE, [WORLD.run(PLAIN)]) is None
    assert walked(how)[0] == walked(Search("guided", (LOAD,), SURE))[0]


def first_of(candidates: Sequence[Candidate]) -> list[int]:
    return [one.k for one in candidates]


def test_optunas_own_samplers_begin_with_it() -> None:
    from tuner.search.study import Study

    how = search(5, sampler="random")
    study = Study.open("sqlite://", "first", SPACE, [0.0], how)
    study.reconcile([(PLAIN, [0.1], {})])
    asked = []
    for _ in range(3):
        candidate = study.ask().candidate
        assert candidate is not None
        asked.append(candidate)
        study.tell(candidate, [0.1], {})
    assert first_of(asked) == [5, 4, 6]
    study.close()
