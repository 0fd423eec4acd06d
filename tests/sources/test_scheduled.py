"""A K schedule's lives as work: after the finals, one round first, within the budget, and only where asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tuner.records import SCHEDULE, LoadPoint, Protocol, Role, RunManifest, Trial, WorkerFacts
from tuner.search.schedule import Task
from tuner.sources import Budget
from tuner.sources.scheduled import Scheduled
from tuner.space.search_space import Limits
from tuner.store import RunStore

Make = Callable[..., Trial]
Manifest = Callable[..., RunManifest]
A = WorkerFacts("node-a/cpu", "CPU, 2 cores", "node-a")
LOADS = tuple(LoadPoint(eval_set="chat", concurrency=c, max_tokens=33) for c in (1, 8))
TPOTS: dict[int, Mapping[int, float]] = {0: {1: 0.020, 8: 0.030}, 1: {1: 0.015, 8: 0.020}, 3: {1: 0.012, 8: 0.040}}
"""By K, then concurrency, seconds: K = 3 is best alone, K = 1 with eight requests."""
PROTOCOL = Protocol(lives=3, max_lives=3, schedule=True)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RunStore]:
    with RunStore.open(tmp_path / "run", {"engine": "sim"}, {"target": "t"}) as opened:
        yield opened


def tpot(by_concurrency: Mapping[int, float]) -> Callable[[LoadPoint, int, int], float]:
    return lambda load, prompt, repeat: by_concurrency[load.concurrency] * (1 + 0.001 * prompt + 0.0005 * repeat)


def measured(make: Make, store: RunStore, *, finals: bool = True) -> None:
    """Save the single lives of two K, and the finals: three rounds of both and their baseline."""
    roles = [(0, None, None), (1, None, None), (3, None, None), (0, Role.BASELINE_AGAIN, None)]
    rounds = [(k, Role.FINAL, number) for number in range(3) for k in (0, 1, 3)] if finals else []
    saved = len(store.records())
    for number, (k, role, round_) in list(enumerate([*roles, *rounds]))[saved:]:
        store.save(make(number, k=k, role=role, final_round=round_, tpot=tpot(TPOTS[k]), loads=LOADS))


class Lab:
    """Runs what is handed out.  schedule: TPOT of the schedule's lives."""

    def __init__(self, make: Make, store: RunStore, source: Scheduled, schedule: Mapping[int, float]) -> None:
        self.make, self.store, self.source, self.schedule = make, store, source, schedule
        self.done: list[Task] = []

    def drain(self, most: int = 100) -> list[str]:
        start = len(self.done)
        while len(self.done) - start < most and (task := self.source.next(A, [A])):
            spec = task.candidate.speculation
            own = self.schedule if spec and SCHEDULE in spec.options else TPOTS[task.candidate.k]
            number = len(self.store.records())
            trial = self.make(
                number, k=task.candidate.k, role=task.role, final_round=task.round, tpot=tpot(own), loads=LOADS
            )
            trial = replace(trial, record=replace(trial.record, candidate=task.candidate))
            self.store.save(trial)
            self.source.finished(trial.record)
            self.done.append(task)
        return [task.candidate.label for task in self.done[start:]]


ARMS = ["no speculation", "good K=1", "good K=3 (K schedule)"]


def test_a_promising_schedule_gets_all_rounds_each_beginning_with_another_arm(
    make_trial: Make, make_manifest: Manifest, store: RunStore
) -> None:
    measured(make_trial, store)
    source = Scheduled(store, make_manifest(protocol=PROTOCOL, loads=LOADS), Budget(Limits()))
    lab = Lab(make_trial, store, source, {1: 0.012, 8: 0.020})
    assert lab.drain(3) == ARMS
    assert lab.drain() == [*ARMS[1:], ARMS[0], ARMS[2], *ARMS[:2]]
    assert {task.role for task in lab.done} == {Role.SCHEDULE}
    assert [task.round for task in lab.done] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert source.waiting == 0
    first, further = source.notes
    assert first.startswith(f"arms of the K schedule: {', '.join(ARMS)}; in 1 or more fresh engine lives each")
    assert further == "the arms of the K schedule go on to 3 fresh engine lives each"
    again = Scheduled(store, make_manifest(protocol=PROTOCOL, loads=LOADS), Budget(Limits()))
    assert again.next(A, [A]) is None


def test_a_schedule_that_is_far_slower_ends_after_its_first_round(
    make_trial: Make, make_manifest: Manifest, store: RunStore
) -> None:
    measured(make_trial, store)
    source = Scheduled(store, make_manifest(protocol=PROTOCOL, loads=LOADS), Budget(Limits()))
    assert Lab(make_trial, store, source, {1: 0.018, 8: 0.033}).drain() == ARMS


def test_nothing_is_scheduled_before_the_finals_or_where_the_protocol_does_not_ask(
    make_trial: Make, make_manifest: Manifest, store: RunStore
) -> None:
    measured(make_trial, store, finals=False)
    assert Scheduled(store, make_manifest(protocol=PROTOCOL, loads=LOADS), Budget(Limits())).next(A, [A]) is None
    off = replace(PROTOCOL, schedule=False, lives=1)
    assert Scheduled(store, make_manifest(protocol=off, loads=LOADS), Budget(Limits())).next(A, [A]) is None
    on = replace(PROTOCOL, lives=1)
    assert Scheduled(store, make_manifest(protocol=on, loads=LOADS), Budget(Limits())).next(A, [A]) is not None


@pytest.mark.parametrize(("version", "supported"), [("0.23.0", False), ("0.24.0", True), ("0.32.0", True)])
def test_an_engine_without_schedules_gets_none(
    make_trial: Make, make_manifest: Manifest, store: RunStore, version: str, supported: bool
) -> None:
    measured(make_trial, store)
    manifest = replace(make_manifest(protocol=PROTOCOL, loads=LOADS), engine_version=version)
    assert (Scheduled(store, manifest, Budget(Limits())).next(A, [A]) is not None) is supported


def test_the_budget_ends_it_and_a_later_session_goes_on(
    make_trial: Make, make_manifest: Manifest, store: RunStore
) -> None:
    measured(make_trial, store)
    manifest = make_manifest(protocol=PROTOCOL, loads=LOADS)
    spent = Scheduled(store, manifest, Budget(Limits(max_engine_starts=0)))
    assert (spent.next(A, [A]), spent.waiting) == (None, 0)
    for most, arms in ((2, ARMS[:2]), (1, ARMS[2:])):
        source = Scheduled(store, manifest, Budget(Limits()))
        assert Lab(make_trial, store, source, {1: 0.012, 8: 0.020}).drain(most) == arms


def test_lives_are_expected_before_a_schedule_is_derived(
    make_trial: Make, make_manifest: Manifest, store: RunStore
) -> None:
    """All may come while nothing is known; half of them are expected once the single lives ask for a schedule."""
    manifest = make_manifest(protocol=PROTOCOL, loads=LOADS)
    source = Scheduled(store, manifest, Budget(Limits()))
    assert (source.waiting, source.possible) == (0, 9)
    measured(make_trial, store, finals=False)
    source.finished(store.records()[-1])
    assert (source.waiting, source.waiting_plain, source.possible) == (6, 2, 0)
    lab = Lab(make_trial, store, source, {1: 0.012, 8: 0.020})
    measured(make_trial, store)
    lab.drain(1)
    assert source.waiting == 5  # two of the first round, and a second one
    lab.drain(3)
    assert source.waiting == 5  # the first round was promising: all three, of which four lives are done


@pytest.mark.parametrize("best", [{1: 0.012, 8: 0.018}, {1: 0.030, 8: 0.040}], ids=["one K", "no draft pays"])
def test_none_are_expected_once_the_finals_run_and_no_schedule_is_asked_for(
    make_trial: Make, make_manifest: Manifest, store: RunStore, best: Mapping[int, float]
) -> None:
    source = Scheduled(store, make_manifest(protocol=PROTOCOL, loads=LOADS), Budget(Limits()))
    for number, (k, role) in enumerate([(0, None), (3, None), (0, Role.BASELINE_AGAIN)]):
        store.save(make_trial(number, k=k, role=role, tpot=tpot(best if k else TPOTS[0]), loads=LOADS))
    source.finished(store.records()[-1])
    assert (source.waiting, source.possible) == (0, 9)
    store.save(make_trial(3, k=0, role=Role.FINAL, final_round=0, tpot=tpot(TPOTS[0]), loads=LOADS))
    source.finished(store.records()[-1])
    assert (source.waiting, source.possible) == (0, 0)


def test_a_sweep_without_finals_expects_one_round_as_soon_as_it_is_asked_for(
    make_trial: Make, make_manifest: Manifest, store: RunStore
) -> None:
    one_life = replace(PROTOCOL, lives=1, max_lives=1)
    source = Scheduled(store, make_manifest(protocol=one_life, loads=LOADS), Budget(Limits()))
    assert (source.waiting, source.possible) == (0, 3)
    measured(make_trial, store, finals=False)
    source.finished(store.records()[-1])
    assert (source.waiting, source.possible) == (3, 0)


def test_none_are_expected_where_none_can_be_asked_for(make_manifest: Manifest, store: RunStore) -> None:
    off = make_manifest(protocol=replace(PROTOCOL, schedule=False), loads=LOADS)
    one = make_manifest(protocol=PROTOCOL, loads=LOADS[:1])
    assert [Scheduled(store, manifest, Budget(Limits())).possible for manifest in (off, one)] == [0, 0]
