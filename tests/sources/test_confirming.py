"""Fresh lives as work: planned from the records, on the right devices, within the budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tuner.records import Protocol, Role, RunManifest, Trial, WorkerFacts
from tuner.search.schedule import Task
from tuner.sources import Budget
from tuner.sources.confirming import Confirming
from tuner.space.search_space import Limits
from tuner.store import RunStore

Make = Callable[..., Trial]
Manifest = Callable[..., RunManifest]
A, B = (WorkerFacts(f"node-{name}/cpu", "CPU, 2 cores", f"node-{name}") for name in "ab")
GPU = WorkerFacts("node-g/0", "H200", "node-g")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RunStore]:
    with RunStore.open(tmp_path / "run", {"engine": "sim"}, {"target": "t"}) as opened:
        yield opened


def save(store: RunStore, trials: Sequence[Trial]) -> None:
    for trial in trials:
        store.save(trial)


def single(make: Make, device: str = A.device_key) -> list[Trial]:
    """Return the single lives of two candidates, K = 4 being the best."""
    return [
        make(0, device=device),
        make(1, k=2, tpot=0.015, device=device),
        make(2, k=4, tpot=0.01, device=device),
        make(3, role=Role.BASELINE_AGAIN, device=device),
    ]


class Lab:
    """Runs what is handed out; lives of K > 0 take half the time of the baseline's."""

    def __init__(self, make: Make, store: RunStore, source: Confirming) -> None:
        self.make, self.store, self.source = make, store, source
        self.done: list[Task] = []

    def finish(self, task: Task, worker: WorkerFacts, failure: str | None = None, failed: int = 0) -> None:
        number = len(self.store.records())
        trial = self.make(
            number,
            k=task.candidate.k,
            tpot=0.01 if task.candidate.k else 0.02,
            device=worker.device_key,
            final_round=task.round,
            failure=failure,
            failed=failed,
        )
        self.store.save(trial)
        self.source.finished(trial.record)
        self.done.append(task)

    def drain(self, worker: WorkerFacts, alive: Sequence[WorkerFacts] = (), most: int = 100) -> list[int]:
        """Return the K of the lives in their order."""
        start = len(self.done)
        while len(self.done) - start < most and (task := self.source.next(worker, alive or [worker])):
            self.finish(task, worker)
        return [task.candidate.k for task in self.done[start:]]


def confirming(store: RunStore, manifest: RunManifest, limits: Limits | None = None) -> Confirming:
    return Confirming(store, manifest, Budget(limits or Limits()))


def test_the_finalists_are_measured_in_rotated_rounds(
    make_manifest: Manifest, make_trial: Make, store: RunStore
) -> None:
    save(store, single(make_trial))
    source = confirming(store, make_manifest())
    assert (source.waiting, source.waiting_plain, source.possible) == (7, 3, 2)
    assert Lab(make_trial, store, source).drain(A) == [0, 4, 2, 4, 2, 0, 2, 0, 4]
    assert source.notes == ["finalists: no speculation, good K=4, good K=2; in 3 or more fresh engine lives each"]
    assert (source.waiting, source.possible, source.next(A, [A])) == (0, 0, None)


def test_with_one_life_there_is_nothing_to_do(make_manifest: Manifest, make_trial: Make, store: RunStore) -> None:
    save(store, single(make_trial))
    source = confirming(store, make_manifest(protocol=Protocol()))
    assert (source.waiting, source.possible, source.next(A, [A]), source.notes) == (0, 0, None, [])


def test_without_a_baseline_there_is_nothing_to_do(make_manifest: Manifest, make_trial: Make, store: RunStore) -> None:
    save(store, [make_trial(0, failure="died")])
    assert confirming(store, make_manifest()).next(A, [A]) is None


@pytest.mark.parametrize("killed_after", [1, 3, 4, 8, 9])
def test_a_session_goes_on_where_the_last_one_was_killed(
    make_manifest: Manifest, make_trial: Make, store: RunStore, killed_after: int
) -> None:
    save(store, single(make_trial))
    first = Lab(make_trial, store, confirming(store, make_manifest()))
    before = first.drain(A, most=killed_after)
    after = Lab(make_trial, store, confirming(store, make_manifest())).drain(A)
    assert before + after == [0, 4, 2, 4, 2, 0, 2, 0, 4]


def test_rounds_run_on_the_kind_of_device_that_the_winner_was_selected_on(
    make_manifest: Manifest, make_trial: Make, store: RunStore
) -> None:
    save(store, single(make_trial))
    source = confirming(store, make_manifest())
    assert source.next(GPU, [GPU, B]) is None
    assert source.next(B, [GPU, B]) is not None
    assert confirming(store, make_manifest()).next(GPU, [GPU]) is not None


def test_the_winners_kind_counts_and_not_the_rivals(make_manifest: Manifest, make_trial: Make, store: RunStore) -> None:
    def on_gpu(trial: Trial) -> Trial:
        from dataclasses import replace

        return replace(trial, record=replace(trial.record, worker=GPU))

    rival_first = [
        make_trial(0),
        make_trial(1, k=2, tpot=0.015),
        on_gpu(make_trial(2)),
        on_gpu(make_trial(3, k=4, tpot=0.01)),
    ]
    save(store, rival_first)
    source = confirming(store, make_manifest())
    assert source.next(A, [A, GPU]) is None
    assert source.next(GPU, [A, GPU]) is not None


def test_two_devices_share_the_rounds(make_manifest: Manifest, make_trial: Make, store: RunStore) -> None:
    save(store, single(make_trial))
    lab = Lab(make_trial, store, confirming(store, make_manifest()))
    places: dict[int | None, set[str]] = {}
    while started := [(worker, task) for worker in (A, B) if (task := lab.source.next(worker, [A, B]))]:
        for worker, task in started:
            places.setdefault(task.round, set()).add(worker.device_key)
            lab.finish(task, worker)
    assert places == {0: {A.device_key}, 1: {B.device_key}, 2: {A.device_key}}


def test_a_round_that_is_open_on_a_lost_device_does_not_block_the_next_session(
    make_manifest: Manifest, make_trial: Make, store: RunStore
) -> None:
    save(store, single(make_trial))
    first = Lab(make_trial, store, confirming(store, make_manifest()))
    for worker in (A, B):
        task = first.source.next(worker, [A, B])
        assert task is not None
        first.finish(task, worker)
    Lab(make_trial, store, confirming(store, make_manifest())).drain(A)
    rounds = [r.round for r in store.records() if r.role is Role.FINAL and r.worker.device_key == A.device_key]
    assert rounds == [0, 0, 0, 2, 2, 2, 3, 3, 3]


def test_a_finalist_that_fails_twice_makes_room_for_the_next_best(
    make_manifest: Manifest, make_trial: Make, store: RunStore
) -> None:
    save(store, single(make_trial))
    lab = Lab(make_trial, store, confirming(store, make_manifest()))
    for _ in range(100):
        task = lab.source.next(A, [A])
        if task is None:
            break
        lab.finish(task, A, "died" if task.candidate.k == 4 else None)
    assert [task.candidate.k for task in lab.done].count(4) == 2
    last = [task for task in lab.done if (task.round or 0) >= 2]
    assert [task.candidate.k for task in last] == [0, 2, 2, 0, 0, 2]
    assert lab.source.notes[-1].startswith("finalists: no speculation, good K=2;")


def test_a_finalist_that_a_life_bars_makes_room_in_the_middle_of_its_round(
    make_manifest: Manifest, make_trial: Make, store: RunStore
) -> None:
    save(store, [*single(make_trial), make_trial(4, k=6, tpot=0.016)])
    lab = Lab(make_trial, store, confirming(store, make_manifest()))
    while (task := lab.source.next(A, [A])) is not None and len(lab.done) < 2:
        lab.finish(task, A, failed=2 * (task.candidate.k == 4))
    assert [task.candidate.k for task in lab.done] == [0, 4]
    assert 4 not in lab.drain(A)
    assert lab.source.notes[-1].startswith("finalists: no speculation, good K=2, good K=6;")


def test_a_life_that_is_put_back_is_handed_out_again(
    make_manifest: Manifest, make_trial: Make, store: RunStore
) -> None:
    save(store, single(make_trial))
    source = confirming(store, make_manifest())
    task = source.next(A, [A])
    assert task is not None
    source.put_back(task, A.device_key)
    assert source.next(A, [A]) == task


def test_a_device_that_is_gone_leaves_its_round_to_the_others(
    make_manifest: Manifest, make_trial: Make, store: RunStore
) -> None:
    save(store, single(make_trial))
    lab = Lab(make_trial, store, confirming(store, make_manifest()))
    task = lab.source.next(B, [A, B])
    assert task is not None
    lab.source.gone(task, B.device_key)
    assert lab.drain(A) == [4, 2, 0, 2, 0, 4, 0, 4, 2]


def test_the_budget_ends_the_finals(make_manifest: Manifest, make_trial: Make, store: RunStore) -> None:
    save(store, single(make_trial))
    budget = Budget(Limits(max_engine_starts=2))
    lab = Lab(make_trial, store, Confirming(store, make_manifest(), budget))
    for _ in range(2):
        task = lab.source.next(A, [A])
        assert task is not None
        budget.spend()
        lab.finish(task, A)
    assert lab.source.next(A, [A]) is None
    budget.refund()
    assert lab.source.next(A, [A]) is not None
