"""Every sampler through the door of the study: never a point twice, whatever fails and in whatever order."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Sequence
from typing import Any, cast

import optuna
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from optuna.samplers import RandomSampler

from tuner.errors import InputError
from tuner.records import Candidate, Growth, GrowthSource, Json, LoadPoint, Observed, Outcome, Speculation, Tried
from tuner.search.attributes import CONSTRAINTS, NUMBER, OBSERVED
from tuner.search.decision import Decision
from tuner.search.guided_sampler import PolicySampler
from tuner.search.mapped_sampler import MappedSampler
from tuner.search.observing import Told, comparable, told_json
from tuner.search.parameters import Parameters
from tuner.search.samplers import InOrder, Search
from tuner.search.study import Study
from tuner.space.search_space import GUIDED, SAMPLERS

LOAD = LoadPoint("chat")
PLAIN = Candidate({"gpu_memory_utilization": 0.9})


def draft(k: int, name: str = "good", memory: float = 0.9) -> Candidate:
    return Candidate({"gpu_memory_utilization": memory}, Speculation("draft_model", k, name, name))


def space(drafts: Sequence[str] = ("good",), ks: Sequence[int] = range(1, 9), memory: Sequence[float] = (0.9,)) -> Any:
    return (
        *(Candidate({"gpu_memory_utilization": m}) for m in memory),
        *(draft(k, name, m) for name in drafts for m in memory for k in ks),
    )


SPACE: tuple[Candidate, ...] = space(("good", "weak"), (1, 3, 5, 8), (0.8, 0.9))
WITHOUT_GP = [name for name in SAMPLERS if name != "gp"]


def growing(candidate: Candidate, acceptance: float) -> Growth:
    logs = [math.log(sum(acceptance**i for i in range(k + 1))) for k in range(1, candidate.k + 1)]
    return Growth(tuple(logs), GrowthSource.REPLAY, 6) if logs else Growth()


def measured(candidate: Candidate, acceptance: float = 0.8, token_cost: float = 0.08) -> Tried:
    """Return a candidate of a world with geometric acceptance and a time per step that is a line over K."""
    grown = growing(candidate, acceptance)
    step = 0.02 * (1 + token_cost * candidate.k)
    log_tpot = math.log(step) - (grown.logs[-1] if grown.logs else 0.0)
    return Tried(candidate, Outcome.MEASURED, {LOAD.key: Observed(log_tpot, 0.001, grown)})


class Sweep:
    """A study in memory that is asked and told as the driver does it; numbers are given in the order of asking."""

    def __init__(self, candidates: Sequence[Candidate], sampler: str) -> None:
        self.search = Search(sampler, (LOAD,))
        storage = cast("Any", optuna.storages.InMemoryStorage())
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self.study = Study(storage, "run", candidates, [0.0], self.search)
        self.study.reconcile([])
        self.asked: list[Candidate] = []

    def ask(self) -> Decision:
        decision = self.study.ask()
        if decision.candidate is not None:
            self.asked.append(decision.candidate)
        return decision

    def tell(self, one: Tried, **attrs: Json) -> None:
        number = self.asked.index(one.candidate)
        values = [math.exp(one.loads[LOAD.key].log_tpot)] if one.loads else None
        self.study.tell(one.candidate, values, {NUMBER: number, OBSERVED: told_json(Told(one, {})), **attrs})

    def run(self) -> list[Candidate]:
        while candidate := self.ask().candidate:
            self.tell(measured(candidate))
        return self.asked


def run_at_random(sweep: Sweep, seed: int) -> dict[str, Tried]:
    """Run up to three at once; each is measured, fails or runs out of memory, in any order."""
    chance = random.Random(seed)
    running: list[Candidate] = []
    ended: dict[str, Tried] = {}
    failing = chance.choice([0.0, 0.3, 1.0])
    while True:
        decision = sweep.ask() if len(running) < 3 else None
        if decision is not None and decision.candidate is not None:
            running.append(decision.candidate)
            if chance.random() < 0.5:
                continue
        elif decision is not None and decision.done and not running:
            return ended
        candidate = running.pop(chance.randrange(len(running)))
        if chance.random() < failing:
            one = Tried(candidate, chance.choice([Outcome.FAILED, Outcome.MEMORY]))
        else:
            one = measured(candidate, chance.choice([0.3, 0.8]), chance.choice([0.02, 0.3]))
        ended[candidate.key] = one
        sweep.tell(one)


@pytest.mark.parametrize("sampler", WITHOUT_GP)
@settings(max_examples=8)
@given(seed=st.integers(0, 10_000))
def test_no_point_is_measured_twice_whatever_fails(sampler: str, seed: int) -> None:
    sweep = Sweep(SPACE, sampler)
    run_at_random(sweep, seed)
    keys = [candidate.key for candidate in sweep.asked]
    assert len(set(keys)) == len(keys)
    assert set(keys) <= {candidate.key for candidate in SPACE}
    if sampler != GUIDED:
        assert len(keys) == len(SPACE)
    assert sweep.study.waiting == 0


@settings(max_examples=6)
@given(seed=st.integers(0, 10_000))
@example(seed=0)
def test_the_records_alone_say_the_same_as_the_study(seed: int) -> None:
    sweep = Sweep(SPACE, GUIDED)
    ended = run_at_random(sweep, seed)
    found = comparable([Told(ended[candidate.key], {}) for candidate in sweep.asked])
    decision = sweep.search.policy(SPACE).next(found)
    assert (decision.candidate, decision.done) == (None, True)


def test_the_grid_is_in_the_order_of_the_space() -> None:
    assert Sweep(SPACE, "grid").run() == list(SPACE)


@pytest.mark.parametrize("sampler", ["random", "tpe"])
def test_optunas_own_samplers_have_an_order_of_their_own_that_can_be_repeated(sampler: str) -> None:
    first = Sweep(SPACE, sampler).run()
    assert first != list(SPACE)
    assert Sweep(SPACE, sampler).run() == first


def test_tpe_comes_to_good_candidates_before_bad_ones() -> None:
    candidates = space(("good",), range(1, 41))
    sweep = Sweep(candidates, "tpe")
    while candidate := sweep.ask().candidate:
        sweep.tell(Tried(candidate, Outcome.MEASURED, {LOAD.key: Observed(math.log(1 + abs(candidate.k - 8)))}))
    places = [place for place, candidate in enumerate(sweep.asked) if abs(candidate.k - 8) <= 3]
    assert sum(places) / len(places) < 15  # by chance it is 20


def test_the_guided_search_needs_few_starts_and_finds_the_best() -> None:
    sweep = Sweep(space(), GUIDED)
    asked = sweep.run()
    best = min(space(), key=lambda c: measured(c).loads[LOAD.key].log_tpot)
    found = min(asked, key=lambda c: measured(c).loads[LOAD.key].log_tpot)
    assert asked[0] == PLAIN
    assert len(asked) <= 5
    assert measured(found).loads[LOAD.key].log_tpot - measured(best).loads[LOAD.key].log_tpot < 0.005


def test_gp_measures_every_candidate_once() -> None:
    pytest.importorskip("torch")
    candidates = space(ks=range(1, 7))
    assert sorted(c.k for c in Sweep(candidates, "gp").run()) == list(range(7))


def test_gp_without_torch_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tuner.search.samplers.find_spec", lambda name: None)
    with pytest.raises(InputError, match="GP sampler needs torch") as caught:
        Sweep(SPACE, "gp")
    assert "another sampler" in caught.value.next_step


def test_an_unknown_sampler_is_named() -> None:
    with pytest.raises(InputError, match="no sampler 'bayes'"):
        Sweep(SPACE, "bayes")


# ---- the study around them


def test_a_proposal_becomes_the_nearest_candidate_that_is_left() -> None:
    class Proposing(RandomSampler):
        def sample_independent(self, study: Any, trial: Any, param_name: str, param_distribution: Any) -> Any:
            return {"arm": "good", "k": 5, "gpu_memory_utilization": 0.9}[param_name]

    candidates = space(("good", "weak"), (1, 3, 5, 6), memory=(0.8, 0.9))
    sampler = MappedSampler(lambda seed: Proposing(), candidates, Parameters(candidates))
    study = optuna.create_study(sampler=sampler)
    found = []
    for _ in range(5):
        trial = study.ask(dict(sampler.parameters.distributions))
        candidate = sampler.parameters.candidate(trial.params)
        assert candidate is not None
        found.append(candidate)
    assert found[:4] == [draft(5), draft(6), draft(3), draft(1)]
    assert found[4] in (draft(5, memory=0.8), draft(5, "weak"))


def test_an_ordinary_optuna_loop_runs_the_guided_search() -> None:
    candidates = space()
    sampler = PolicySampler(Search(GUIDED, (LOAD,)).policy(candidates), candidates, Parameters(candidates))
    study = optuna.create_study(sampler=sampler)
    trials = [study.ask(dict(sampler.parameters.distributions)) for _ in range(2)]
    assert [trial.params for trial in trials] == [{"arm": "none", "k": 0}, {"arm": "good", "k": 8}]
    with pytest.raises(ValueError, match="no parameter of this sweep"):
        trials[0].suggest_float("temperature", 0, 1)


def test_a_policy_that_repeats_itself_is_caught() -> None:
    class Stubborn:
        def next(self, tried: Sequence[Tried]) -> Decision:
            return Decision(PLAIN, False, "again")

    candidates = space()
    sampler = PolicySampler(Stubborn(), candidates, Parameters(candidates))
    study = optuna.create_study(sampler=sampler)
    study.ask(dict(sampler.parameters.distributions))
    with pytest.raises(ValueError, match="was tried before"):
        sampler.nothing(study)


def test_waiting_is_not_done_and_costs_nothing_until_something_is_told() -> None:
    class Slow:
        asked = 0

        def next(self, tried: Sequence[Tried]) -> Decision:
            Slow.asked += 1
            return Decision(None, False, "1 running") if tried else Decision(PLAIN, False, "the baseline")

    sweep = Sweep(space(), GUIDED)
    sweep.study._sampler = sweep.study._study.sampler = PolicySampler(Slow(), SPACE, Parameters(space()))
    assert sweep.ask() == Decision(PLAIN, False, "the baseline")
    for _ in range(5):
        assert sweep.ask() == Decision(None, False, "1 running")
    assert Slow.asked == 2
    assert sweep.study.waiting > 0
    sweep.tell(measured(PLAIN))
    assert sweep.ask().done, "nothing runs, so nothing can be waited for"
    assert Slow.asked == 3


def test_what_was_tried_is_in_the_order_of_the_records_and_what_runs_comes_last() -> None:
    sweep = Sweep(space(), "grid")
    first, second, third = (cast("Candidate", sweep.ask().candidate) for _ in range(3))
    for number, candidate in ((7, third), (9, first)):  # the first was put back, and ran after the third
        one = measured(candidate)
        values = [math.exp(one.loads[LOAD.key].log_tpot)]
        sweep.study.tell(candidate, values, {NUMBER: number, OBSERVED: told_json(Told(one, {}))})
    found = sweep.study._sampler.tried(sweep.study._study)
    assert found == [measured(third), measured(first), Tried(second, Outcome.RUNNING)]


@settings(max_examples=6)
@given(seed=st.integers(0, 10_000))
def test_what_the_sampler_remembers_is_what_the_study_holds(seed: int) -> None:
    sweep, chance, running = Sweep(SPACE, "grid"), random.Random(seed), list[Candidate]()
    reading = PolicySampler(InOrder(SPACE), SPACE, Parameters(SPACE))
    sweep.study.add(SPACE[2], [0.02], {NUMBER: 99, OBSERVED: told_json(Told(measured(SPACE[2]), {}))})
    while candidate := sweep.ask().candidate:
        running.append(candidate)
        while running and chance.random() < 0.5:
            ended = running.pop(chance.randrange(len(running)))
            sweep.tell(measured(ended) if chance.random() < 0.7 else Tried(ended, Outcome.FAILED))
        assert sweep.study._sampler.tried(sweep.study._study) == reading.tried(sweep.study._study)


def test_a_sampler_that_repeats_itself_is_caught_by_the_study() -> None:
    class Again(PolicySampler):
        def planned(self) -> Candidate:
            return PLAIN

    sweep = Sweep(space(), "grid")
    sweep.study._sampler = sweep.study._study.sampler = Again(InOrder(space()), space(), Parameters(space()))
    sweep.ask()
    with pytest.raises(ValueError, match="no candidate that is left"):
        sweep.ask()


def test_a_baseline_that_was_measured_by_the_way_is_not_asked_for() -> None:
    sweep = Sweep(SPACE, "grid")
    other = SPACE[1]
    sweep.study.add(other, [0.02], {NUMBER: 0, OBSERVED: told_json(Told(measured(other), {}))})
    assert other not in sweep.run()
    assert len(sweep.asked) == len(SPACE) - 1


def test_a_point_that_somebody_enqueues_is_measured_and_nonsense_is_not() -> None:
    sweep = Sweep(space(), "grid")
    sweep.study._study.enqueue_trial({"arm": "good", "k": 5})
    sweep.study._study.enqueue_trial({"arm": "none", "k": 5})
    assert [sweep.ask().candidate for _ in range(3)] == [draft(5), PLAIN, draft(1)]
    states = [trial.state.name for trial in sweep.study._study.trials]
    assert states == ["RUNNING", "FAIL", "RUNNING", "RUNNING"]


def test_constraints_reach_optuna() -> None:
    sweep = Sweep(space(), "tpe")
    first, second = sweep.ask().candidate, sweep.ask().candidate
    assert first is not None
    assert second is not None
    limits: list[Json] = [-1.0, 0.5]
    sweep.tell(measured(first), **{CONSTRAINTS: limits})
    sweep.tell(measured(second))
    third = next(candidate for candidate in space() if candidate not in (first, second))
    sweep.study.add(third, [0.1], {CONSTRAINTS: [0.25]})
    found = [trial.system_attrs.get("constraints") for trial in sweep.study._study.trials]
    assert found == [[-1.0, 0.5], None, [0.25]]


def test_expected_starts() -> None:
    assert Search("grid").expected(SPACE) == len(SPACE)
    assert Search(GUIDED).expected(space()) == 4
    assert Search(GUIDED).expected(space(ks=(1, 2))) == 3
    assert Search(GUIDED).expected(SPACE) == 1 + 2 * 3 + 2
    assert Search(GUIDED).expected(space(("a", "b"), memory=(0.8, 0.9), ks=(3,))) == 1 + 2 + 2
    assert Search(GUIDED).expected((PLAIN,)) == 1


def test_in_order_is_done_when_all_was_tried() -> None:
    policy = InOrder((PLAIN, draft(1)))
    assert policy.next([]) == Decision(PLAIN, False, "")
    assert policy.next([Tried(PLAIN, Outcome.RUNNING)]) == Decision(draft(1), False, "")
    assert policy.next([Tried(PLAIN, Outcome.FAILED), measured(draft(1))]) == Decision(None, True, "")


@pytest.mark.parametrize("sampler", [GUIDED, "grid"])
def test_a_decision_among_a_thousand_trials_takes_well_under_a_second(sampler: str) -> None:
    memory = [0.5 + n / 1000 for n in range(13)]
    candidates = space([f"d{n}" for n in range(10)], range(1, 9), memory)
    assert len(candidates) > 1000
    sweep = Sweep(candidates, sampler)
    for number, candidate in enumerate(candidates[:1000]):
        one = measured(candidate, 0.5 + number % 100 / 300)
        values = [math.exp(one.loads[LOAD.key].log_tpot)]
        sweep.study.add(candidate, values, {NUMBER: number, OBSERVED: told_json(Told(one, {}))})
    began_s = time.process_time()
    sweep.ask()
    assert time.process_time() - began_s < 1.0
