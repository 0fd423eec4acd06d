"""The loop alone: sources in order, what a worker is given, and what happens when one is lost. No engine is started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from tuner.errors import PoolError, WorkerGone
from tuner.measuring import MAX_ATTEMPTS, Measuring
from tuner.pool import Job, Result
from tuner.prepare import SweepRequest, prepare
from tuner.progress import Progress
from tuner.records import Candidate, FailureKind, Role, Trial, TrialRecord, WorkerFacts
from tuner.report import manifest_json
from tuner.search.schedule import Task
from tuner.search.telling import Telling
from tuner.sources import Budget
from tuner.space.search_space import Limits
from tuner.store import RunStore
from tuner.trial import TrialSpec, unmeasured

SPACE = """
target: simulated
drafts: [{name: good, method: draft_model, model: good, k: [2]}]
load_points: [{eval_set: chat, max_tokens: 8}]
"""
WORKER = WorkerFacts("node/cpu", "CPU", "node")


class Given:
    """A source of given tasks."""

    def __init__(self, *tasks: Task) -> None:
        self.notes: list[str] = []
        self.tasks = list(tasks)
        self.seen: list[int] = []

    possible = 0

    @property
    def waiting(self) -> int:
        return len(self.tasks)

    @property
    def waiting_plain(self) -> int:
        return sum(not task.candidate.k for task in self.tasks)

    def next(self, worker: WorkerFacts, alive: Sequence[WorkerFacts]) -> Task | None:
        return self.tasks.pop(0) if self.tasks else None

    def finished(self, record: TrialRecord) -> None:
        self.seen.append(record.number)

    def put_back(self, task: Task, device_key: str) -> None:
        self.tasks.append(task)

    def gone(self, task: Task, device_key: str) -> None:
        pass


class Workers:
    """A pool whose jobs end at once: the first `losses` with their worker lost, those of `gone` with WorkerGone."""

    def __init__(self, count: int = 1, losses: int = 0, gone: Sequence[int] = ()) -> None:
        self.notes: list[str] = []
        self._gone = list(gone)
        self.workers = [replace(WORKER, device_key=f"node/{n}") for n in range(count)]
        self.specs: list[TrialSpec] = []
        self.together: list[set[Role]] = []
        self._losses = losses
        self._running: dict[int, TrialSpec] = {}

    def start(self, worker: int, job: Job) -> None:
        spec = cast("partial[Any]", job).args[0]
        self.specs.append(spec)
        self._running[worker] = spec

    def phases(self) -> Mapping[int, str]:
        return {}

    def wait(self, timeout_s: float) -> list[Result]:
        self.together.append({spec.role for spec in self._running.values()})
        worker = min(self._running)
        spec = self._running.pop(worker)
        if worker in self._gone:
            return [(worker, WorkerGone("its node was lost", "look"))]
        if self._losses:
            self._losses -= 1
            return [(worker, PoolError("the worker died", "look"))]
        record = unmeasured(spec.number, spec.role, spec.candidate, self.workers[worker], cast("Any", None))
        return [(worker, Trial(replace(record, served=spec.served)))]

    def close(self) -> None:
        pass


class Silent:
    best = ""

    def keep(self, trial: Trial) -> None:
        return None

    def message(self, text: str) -> None:
        pass

    def trial_done(self, record: TrialRecord, words: str) -> None:
        pass

    def update(self, progress: Progress) -> None:
        pass


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "space.yaml").write_text(SPACE)
    prepared = prepare(SweepRequest(space="space.yaml", engine="sim"))

    def run(pool: Workers, *sources: Given) -> list[TrialRecord]:
        with RunStore.open(tmp_path / "run", prepared.fingerprint, manifest_json(prepared.manifest)) as store:
            silent = Silent()
            telling = cast("Telling", silent)
            measuring = Measuring(prepared, store, telling, pool, silent, sources, Budget(Limits()))
            measuring.run()
            return measuring.fresh

    return run


PLAIN = Candidate()


def test_a_source_begins_when_the_one_before_it_has_ended_and_hears_of_all_trials(measured: Any) -> None:
    first, second = Given(*[Task(Role.BASELINE, PLAIN)] * 3), Given(*[Task(Role.DRAFT_ALONE, PLAIN, served="good")] * 2)
    pool = Workers(count=2)
    fresh = measured(pool, first, second)
    assert [record.role for record in fresh] == [Role.BASELINE] * 3 + [Role.DRAFT_ALONE] * 2
    assert all(len(roles) == 1 for roles in pool.together)
    assert first.seen == second.seen == [record.number for record in fresh]


def test_the_worker_gets_what_the_task_says_on_top_of_the_runs_own(measured: Any) -> None:
    pool = Workers()
    env = {"VLLM_USE_V2_MODEL_RUNNER": "0"}
    (record,) = measured(pool, Given(Task(Role.SAME_RUNNER, PLAIN, served="other", env=env)))
    (spec,) = pool.specs
    assert spec.env["VLLM_USE_V2_MODEL_RUNNER"] == "0"
    assert (spec.served, record.served) == ("other", "other")


def test_a_lost_worker_is_no_answer_until_it_was_lost_too_often(measured: Any) -> None:
    pool = Workers(losses=1)
    (record,) = measured(pool, Given(Task(Role.BASELINE, PLAIN)))
    assert record.ok and len(pool.specs) == 2
    stubborn = Workers(losses=MAX_ATTEMPTS)
    (record,) = measured(stubborn, Given(Task(Role.DRAFT_ALONE, PLAIN, served="good")))
    assert record.failure is not None and record.failure.kind is FailureKind.WORKER_LOST
    assert record.served == "good" and len(stubborn.specs) == MAX_ATTEMPTS


def test_a_candidate_that_ends_its_workers_is_tried_so_often_in_all_and_not_on_each_device(measured: Any) -> None:
    class Elsewhere(Given):
        lost_on = ""

        def next(self, worker: WorkerFacts, alive: Sequence[WorkerFacts]) -> Task | None:
            return None if worker.device_key == self.lost_on else super().next(worker, alive)

        def put_back(self, task: Task, device_key: str) -> None:
            self.lost_on = device_key
            super().put_back(task, device_key)

    pool = Workers(count=2, losses=99)
    (record,) = measured(pool, Elsewhere(Task(Role.CANDIDATE, PLAIN)))
    assert record.failure is not None and record.failure.kind is FailureKind.WORKER_LOST
    assert len(pool.specs) == MAX_ATTEMPTS


def test_a_worker_that_is_gone_is_done_without_and_the_last_one_ends_the_sweep(measured: Any) -> None:
    pool = Workers(count=2, gone=[0])
    fresh = measured(pool, Given(*[Task(Role.BASELINE, PLAIN)] * 4))
    assert {record.worker.device_key for record in fresh} == {"node/1"}
    assert len(pool.specs) == 4, "one of them was begun where nothing could"
    with pytest.raises(PoolError, match="no worker is left; of the last one: its node was lost") as raised:
        measured(Workers(count=2, gone=[0, 1]), Given(*[Task(Role.BASELINE, PLAIN)] * 4))
    assert "finished trials are kept" in raised.value.next_step


def test_a_worker_that_joins_gets_work(measured: Any) -> None:
    class Growing(Workers):
        def wait(self, timeout_s: float) -> list[Result]:
            if len(self.workers) < 2:
                self.workers.append(replace(WORKER, device_key="node/late"))
            return super().wait(timeout_s)

    fresh = measured(Growing(), Given(*[Task(Role.BASELINE, PLAIN)] * 4))
    assert [record.worker.device_key for record in fresh].count("node/late") >= 1
