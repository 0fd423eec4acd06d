from __future__ import annotations

import random
import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.search.searching import World, load, search, speculating
from tuner.records import Candidate, GrowthSource, LoadPoint, Outcome, Tried
from tuner.search.guided import Guided, GuidedSettings

KS = range(1, 9)
BASE = Candidate()


def drafts(*names: str, args: dict[str, int] | None = None) -> list[Candidate]:
    return [Candidate(args or {}), *(speculating(k, name, args) for name in names for k in KS)]


def asked(tried: list[Tried], draft: str) -> list[int]:
    return [one.candidate.k for one in tried if one.candidate.draft_name == draft]


def best(candidates: list[Candidate], world: World) -> float:
    return min(world.mean(c) for c in candidates)


def found(tried: list[Tried], world: World) -> float:
    return min(world.mean(one.candidate) for one in tried if one.outcome is Outcome.MEASURED)


def test_baseline_largest_k_then_the_predicted_best() -> None:
    world = World()
    tried, last = search(Guided(drafts("good"), world.loads), world)
    assert [one.candidate.k for one in tried][:2] == [0, 8]
    assert len(tried) <= 5
    assert found(tried, world) == pytest.approx(best(drafts("good"), world), abs=0.005)
    assert last.done and "not measured is expected to gain enough" in last.why


def test_where_all_was_measured_nothing_is_said_of_the_rest() -> None:
    world = World()
    _, last = search(Guided([BASE, speculating(3)], world.loads), world)
    assert last.done and last.why == "every K that can be measured was measured"


@pytest.mark.parametrize("rate", [0.3, 0.6, 0.8, 0.93])
@pytest.mark.parametrize("cost", [0.02, 0.1, 0.3])
@pytest.mark.parametrize("concurrency", [1, 64])
def test_few_starts_find_the_best_k(rate: float, cost: float, concurrency: int) -> None:
    world = World([load(concurrency)], {"good": rate}, {"good": cost})
    tried, _ = search(Guided(drafts("good"), world.loads), world)
    assert found(tried, world) <= best(drafts("good"), world) + 0.005
    assert len(tried) <= 6


def test_a_hopeless_draft_gets_a_single_start() -> None:
    world = World(rates={"weak": 0.2}, costs={"weak": 0.3})
    tried, _ = search(Guided(drafts("good", "weak"), world.loads), world)
    assert asked(tried, "weak") == [8]
    assert len(asked(tried, "good")) > 1


def test_a_cliff_that_contradicts_the_prediction_is_looked_into() -> None:
    def cliff(candidate: Candidate, at: LoadPoint) -> float:
        return 0.25 if 5 <= candidate.k < 8 else 0.0

    world, smooth = World(extra=cliff), World()
    tried, _ = search(Guided(drafts("good"), world.loads), world)
    assert found(tried, world) <= best(drafts("good"), world) + 0.005
    assert len(tried) > len(search(Guided(drafts("good"), smooth.loads), smooth)[0])


def test_without_acceptance_every_k_that_may_matter_is_measured() -> None:
    world = World(source=GrowthSource.NONE)
    tried, _ = search(Guided(drafts("good"), world.loads), world)
    assert found(tried, world) <= best(drafts("good"), world) + 0.005
    assert len(tried) >= 5


def test_each_temperature_has_its_own_best() -> None:
    cold, hot = load(temperature=0.0), load(temperature=1.0)

    def worse_when_hot(candidate: Candidate, at: LoadPoint) -> float:
        return 0.15 * candidate.k if at.sampling.temperature else 0.0

    world = World([cold, hot], {"good": 0.95}, {"good": 0.01}, extra=worse_when_hot)
    tried, _ = search(Guided(drafts("good"), world.loads), world)
    for at in (cold, hot):
        least = min(world.log_tpot(speculating(k), at) for k in KS)
        assert min(world.log_tpot(one.candidate, at) for one in tried) <= least + 0.006


def test_where_it_pays_only_at_low_concurrency_that_is_searched() -> None:
    def crowded(candidate: Candidate, at: LoadPoint) -> float:
        return 1.5 if candidate.k and at.concurrency > 1 else 0.0

    world = World([load(1), load(64)], {"good": 0.6}, {"good": 0.15}, extra=crowded)
    tried, _ = search(Guided(drafts("good"), world.loads), world)
    least = min(world.log_tpot(speculating(k), world.loads[0]) for k in KS)
    assert min(world.log_tpot(one.candidate, world.loads[0]) for one in tried) <= least + 0.006


def test_other_arguments_are_tried_at_the_best_k_of_the_first() -> None:
    candidates = [c for n in (64, 32, 16) for c in drafts("good", args={"max_num_seqs": n})]
    world = World(extra=lambda c, at: -0.06 if c.engine_args["max_num_seqs"] == 16 else 0.0)
    tried, last = search(Guided(candidates, world.loads), world)
    by_args = {n: [o.candidate.k for o in tried if o.candidate.engine_args["max_num_seqs"] == n] for n in (64, 32, 16)}
    assert by_args[64][:2] == [0, 8] and len(by_args[64]) > 2
    order = [one.candidate.engine_args["max_num_seqs"] for one in tried]
    assert order[: len(by_args[64])] == [64] * len(by_args[64])
    assert len(by_args[32]) == 2 and len(by_args[16]) >= 2
    assert found(tried, world) <= best(candidates, world) + 0.005
    assert last.done


def test_only_the_first_baseline_is_asked_for() -> None:
    candidates = [c for n in (64, 32) for c in drafts("good", args={"max_num_seqs": n})]
    guided = Guided(candidates, [load()])
    tried: list[Tried] = []
    while (decision := guided.next(tried)).candidate is not None:
        tried.append(World().run(decision.candidate))
    assert [one.candidate for one in tried if not one.candidate.k] == candidates[:1]


def test_memory_that_ran_out_is_not_tried_again() -> None:
    world = World(outcome=lambda c: Outcome.MEMORY if c.k > 5 else Outcome.MEASURED)
    tried, _ = search(Guided(drafts("good"), world.loads), world)
    assert found(tried, world) <= best([c for c in drafts("good") if c.k <= 5], world) + 0.005
    assert asked(tried, "good")[0] == 8 and len([k for k in asked(tried, "good") if k > 5]) <= 2


def test_workers_get_different_candidates_and_then_wait() -> None:
    guided, world = Guided(drafts("good", "weak"), [load()]), World()
    tried = [world.run(BASE)]
    for _ in range(20):
        decision = guided.next(tried)
        if decision.candidate is None:
            break
        tried.append(Tried(decision.candidate, Outcome.RUNNING))
    assert [one.candidate for one in tried[1:]] == [speculating(k, d) for k in (8, 3) for d in ("good", "weak")]
    assert not decision.done and "running" in decision.why


def test_a_running_baseline_does_not_stop_the_others() -> None:
    assert Guided(drafts("good"), [load()]).next([Tried(BASE, Outcome.RUNNING)]).candidate == speculating(8)


def test_it_says_why() -> None:
    world = World()
    guided = Guided(drafts("good"), world.loads)
    why = guided.next([world.run(BASE), world.run(speculating(8))]).why
    assert "is predicted" in why and "SD" in why and "good K=8, the best so far" in why


def test_a_larger_worth_takes_fewer_starts() -> None:
    world = World(source=GrowthSource.POOLED)
    counts = [
        len(search(Guided(drafts("good"), world.loads, GuidedSettings(worth=w)), world)[0]) for w in (0.0005, 0.03)
    ]
    assert counts[1] < counts[0]


def test_a_report_holds_predictions_against_measurements() -> None:
    world = World()
    guided = Guided(drafts("good"), world.loads)
    tried, _ = search(guided, world)
    found = guided.report(tried)
    assert {one.candidate.k for one in found} == set(KS)
    told = [one.difference for one in found if one.difference is not None]
    assert told and max(abs(one) for one in told) < 0.1


FATES = st.sampled_from(list(Outcome)[2:])


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_whatever_fails_it_ends_and_repeats_nothing(data: st.DataObject) -> None:
    sizes = data.draw(st.sampled_from([(64,), (64, 32), (64, 32, 16)]))
    names = data.draw(st.sampled_from([("good",), ("good", "weak")]))
    candidates = [c for n in sizes for c in drafts(*names, args={"max_num_seqs": n})]
    loads = [load(c, t) for c, t in data.draw(st.sampled_from([[(1, 0.0)], [(1, 0.0), (16, 1.0)]]))]
    guided = Guided(candidates, loads)
    randomly = random.Random(data.draw(st.integers(0, 10**6)))
    failing, workers = data.draw(st.sampled_from([0.0, 0.3, 1.0])), data.draw(st.integers(1, 4))
    world = World(loads, extra=lambda c, at: randomly.gauss(0.0, 0.02))
    tried: list[Tried] = []
    seen: set[str] = set()
    while True:
        running = [i for i, one in enumerate(tried) if one.outcome is Outcome.RUNNING]
        decision = guided.next(tried)
        if decision.done:
            break
        if decision.candidate is not None:
            assert decision.candidate.key not in seen
            seen.add(decision.candidate.key)
            tried.append(Tried(decision.candidate, Outcome.RUNNING))
            running.append(len(tried) - 1)
        assert running, "it waits for nothing"
        if decision.candidate is None or len(running) >= workers:
            ended = randomly.choice(running)
            fails = randomly.random() < failing
            one = tried[ended].candidate
            tried[ended] = Tried(one, data.draw(FATES)) if fails else world.run(one)
    assert decision.candidate is None and len(seen) <= len(candidates)


def _noisy(seed: int) -> Callable[[Candidate, LoadPoint], float]:
    return lambda candidate, at: random.Random(f"{seed} {candidate.key}").gauss(0.0, 0.02)


def test_it_decides_within_a_second_among_a_thousand_trials() -> None:
    sizes = [(u, n) for u in (80, 85, 90, 95) for n in (16, 32, 64, 128, 256, 512)]
    candidates = [
        c
        for u, n in sizes
        for c in drafts("a", "b", "c", "d", "e", "f", args={"max_num_batched_tokens": u, "max_num_seqs": n})
    ]
    world = World([load(1), load(8), load(32)], extra=_noisy(1))
    tried = [world.run(c) for c in candidates[:1100]]
    guided = Guided(candidates, world.loads)
    times = []
    for _ in range(3):
        start = time.process_time()  # others may be busy
        guided.next(tried)
        times.append(time.process_time() - start)
    assert min(times) < 1.0
