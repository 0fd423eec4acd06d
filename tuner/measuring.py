"""The loop of a sweep: keep every worker busy, keep every result, tell the study."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from tuner.analysis.comparison import objective_speedup, objective_tpot
from tuner.analysis.metrics import trial_figures
from tuner.errors import PoolError
from tuner.pool import Pool
from tuner.prepare import Prepared
from tuner.progress import Progress, SweepView, WorkerProgress
from tuner.records import (
    Candidate,
    Failure,
    FailureKind,
    Json,
    PhaseTimes,
    Role,
    Trial,
    TrialFigures,
    TrialRecord,
)
from tuner.search.schedule import Scheduler, Task
from tuner.search.study import Study
from tuner.store import RunStore
from tuner.trial import TrialSpec, run_trial
from tuner.words import ROLE_WORDS, trial_words

POLL_S = 0.25
MAX_ATTEMPTS = 3


@dataclass(frozen=True)
class _Running:
    task: Task
    number: int
    since_s: float


def counts_as_done(record: TrialRecord, *, retry_failed: bool = False) -> bool:
    """Whether a record of an earlier session answers its question: what says nothing of the candidate does not."""
    if record.failure is None:
        return True
    asks_again = record.failure.kind in (FailureKind.WORKER_LOST, FailureKind.NO_BASELINE, FailureKind.WRONG_SERVER)
    return record.role is Role.CANDIDATE and not asks_again and not retry_failed


class Measuring:
    """One session of measuring. Only this object writes the store and the study.

    fresh: records of the trials that this session ran, in the order in which they ended.
    """

    def __init__(
        self,
        prepared: Prepared,
        store: RunStore,
        study: Study,
        pool: Pool,
        view: SweepView,
        *,
        retry_failed: bool = False,
    ) -> None:
        self.fresh: list[TrialRecord] = []
        self._prepared = prepared
        self._store = store
        self._study = study
        self._pool = pool
        self._view = view
        self._started_s = time.monotonic()
        self._running: dict[int, _Running] = {}
        self._alive = set(range(len(pool.workers)))
        self._attempts: Counter[str] = Counter()
        self._asked: set[str] = set()
        self._baselines: dict[tuple[str, str], Trial] = {}
        self._best = ("", 0.0)
        self._number = 0
        done = self._resume(retry_failed)
        self._baseline_again = prepared.space.protocol.baseline_again
        self._groups = len({candidate.args_key for candidate in prepared.candidates})
        devices = [worker.device_key for worker in pool.workers]
        self._scheduler = Scheduler(self._ask, devices, done, baseline_again=self._baseline_again)

    def run(self) -> None:
        """Measure until nothing is left. Raises PoolError when the last worker is lost."""
        for note in self._pool.notes:
            self._view.message(note)
        while True:
            self._start_idle_workers()
            if not self._running:
                return
            for worker, outcome in self._pool.wait(POLL_S):
                self._collect(worker, outcome)
            self._view.update(self._progress())

    def _resume(self, retry_failed: bool) -> list[TrialRecord]:
        """Bring the study in line with the records; return the records that count as done."""
        done: list[TrialRecord] = []
        told: list[tuple[Candidate, Sequence[float] | None, dict[str, Json]]] = []
        for trial in self._store.trials():
            record = trial.record
            self._number = max(self._number, record.number + 1)
            if not counts_as_done(record, retry_failed=retry_failed):
                continue
            done.append(record)
            figures = self._figures(trial)
            if record.role is not Role.BASELINE_AGAIN:
                told.append((record.candidate, self._values(figures), self._attrs(record, figures)))
        self._study.reconcile(told)
        if done:
            self._view.message(f"resuming: {len(done)} trials are already measured")
        return done

    def _ask(self) -> Candidate | None:
        candidate = None if self._limit_reached() else self._study.ask()
        if candidate is not None:
            self._asked.add(candidate.key)
        return candidate

    def _limit_reached(self) -> bool:
        limits = self._prepared.space.limits
        begun = sum(record.engine is not None for record in self.fresh) + len(self._running)
        reserved = max(self._scheduler.closing, 1) if self._baseline_again else 0
        elapsed_min = (time.monotonic() - self._started_s) / 60
        return (
            (limits.max_trials is not None and begun >= limits.max_trials)
            or (limits.max_engine_starts is not None and begun + reserved >= limits.max_engine_starts)
            or (limits.max_minutes is not None and elapsed_min >= limits.max_minutes)
        )

    def _start_idle_workers(self) -> None:
        alive_before = None
        while alive_before != self._alive:  # what a worker gave up may be work for one that was idle before it
            alive_before = set(self._alive)
            for worker in sorted(self._alive - self._running.keys()):
                self._give_work(worker)

    def _give_work(self, worker: int) -> None:
        while task := self._scheduler.next(self._pool.workers[worker].device_key):
            if not task.skip:
                self._start(worker, task)
                return
            failure = Failure(FailureKind.NO_BASELINE, task.skip)
            self._keep(Trial(self._empty_record(worker, task, self._next_number(), failure)))

    def _start(self, worker: int, task: Task) -> None:
        number = self._next_number()
        self._running[worker] = _Running(task, number, time.monotonic())
        spec = self._spec(task, number)
        self._view.message(f"trial {number}: {task.candidate.label} ({ROLE_WORDS[task.role]})")
        try:
            self._pool.start(worker, partial(run_trial, spec))
        except PoolError as error:
            self._give_up(worker, task, error)

    def _spec(self, task: Task, number: int) -> TrialSpec:
        prepared = self._prepared
        name = TrialRecord.name_of(number, task.role, task.candidate)
        return TrialSpec(
            number=number,
            role=task.role,
            candidate=task.candidate,
            engine=prepared.engine,
            target=prepared.target,
            load_points=prepared.space.load_points,
            eval_sets=prepared.eval_sets,
            protocol=prepared.space.protocol,
            log_dir=str(self._store.trial_dir(name)),
            env=prepared.manifest.env,
        )

    def _next_number(self) -> int:
        self._number += 1
        return self._number - 1

    def _collect(self, worker: int, outcome: Trial | PoolError) -> None:
        running = self._running.pop(worker)
        if isinstance(outcome, Trial):
            self._keep(outcome)
            return
        self._lose(worker, running, outcome)

    def _lose(self, worker: int, running: _Running, error: PoolError) -> None:
        """A lost worker says nothing about the candidate: it runs again, MAX_ATTEMPTS times in all."""
        self._view.message(f"worker lost on {self._pool.workers[worker].device}: {error.message}")
        attempt = f"{self._pool.workers[worker].device_key} {running.task.role} {running.task.candidate.key}"
        self._attempts[attempt] += 1
        if self._attempts[attempt] < MAX_ATTEMPTS:
            self._scheduler.put_back(running.task, self._pool.workers[worker].device_key)
            return
        failure = Failure(FailureKind.WORKER_LOST, error.message, error.next_step)
        self._keep(Trial(self._empty_record(worker, running.task, running.number, failure)))

    def _give_up(self, worker: int, task: Task, error: PoolError) -> None:
        """No process can be made on these devices any more: go on with the others, if there are others."""
        self._view.message(f"no worker on {self._pool.workers[worker].device} any more: {error.message}")
        del self._running[worker]
        self._alive.discard(worker)
        if not self._alive:
            raise error
        self._scheduler.gone(task, self._pool.workers[worker].device_key)

    def _empty_record(self, worker: int, task: Task, number: int, failure: Failure) -> TrialRecord:
        return TrialRecord(
            number=number,
            role=task.role,
            candidate=task.candidate,
            worker=self._pool.workers[worker],
            started_at=datetime.now(UTC).isoformat(timespec="seconds"),
            phases=PhaseTimes(),
            failure=failure,
        )

    def _keep(self, trial: Trial) -> None:
        record = trial.record
        self._store.save(trial)
        self.fresh.append(record)
        self._scheduler.finished(record)
        figures = self._figures(trial)
        if record.candidate.key in self._asked:  # a further device's own baseline was not the study's question
            self._asked.discard(record.candidate.key)
            self._study.tell(record.candidate, self._values(figures), self._attrs(record, figures))
        self._view.trial_done(record, trial_words(record, figures))

    def _figures(self, trial: Trial) -> TrialFigures | None:
        """Return the trial's figures against its own baseline, and remember baselines."""
        record = trial.record
        if not record.ok:
            return None
        group = (record.worker.device_key, record.candidate.args_key)
        if record.role is Role.BASELINE:
            self._baselines[group] = trial
            return trial_figures(trial, None)
        return trial_figures(trial, self._baselines.get(group))

    def _values(self, figures: TrialFigures | None) -> list[float] | None:
        """Return the study's objectives, one per temperature; None for a failed trial."""
        if figures is None:
            return None
        values = [objective_tpot(figures, temperature) for temperature in self._prepared.manifest.temperatures]
        known = [value for value in values if value is not None]
        return known if len(known) == len(values) else None

    def _attrs(self, record: TrialRecord, figures: TrialFigures | None) -> dict[str, Json]:
        if figures is None:
            return {"failed": record.failure.message if record.failure else "no figures"}
        attrs: dict[str, Json] = {"trial": record.number, "device": record.worker.device}
        for temperature in self._prepared.manifest.temperatures:
            speedup = objective_speedup(figures, temperature).value
            attrs[f"speedup_t{temperature:g}"] = speedup
            if record.role is Role.CANDIDATE and speedup is not None and speedup > self._best[1]:
                self._best = (f"{record.candidate.label} {speedup:.2f}x", speedup)
        for load in figures.loads:
            attrs[f"acceptance_rate {load.load_point.key}"] = load.figures["acceptance_rate"].value
        return attrs

    def _progress(self) -> Progress:
        now = time.monotonic()
        phases = self._pool.phases()
        finished = [record.phases.total_s for record in self.fresh if record.ok]
        running = [now - run.since_s for run in self._running.values()]
        left_s = None
        to_come = self._to_come()
        if finished:
            mean_s = sum(finished) / len(finished)
            left = (to_come + len(running)) * mean_s - sum(min(age, mean_s) for age in running)
            left_s = max(0.0, left / max(1, len(self._alive)))
        return Progress(
            planned=len(self.fresh) + len(self._running) + to_come,
            done=len(self.fresh),
            failed=sum(not record.ok for record in self.fresh),
            elapsed_s=now - self._started_s,
            left_s=left_s,
            best=self._best[0],
            workers=tuple(self._worker_progress(worker, phases.get(worker, ""), now) for worker in sorted(self._alive)),
        )

    def _to_come(self) -> int:
        """Trials that are neither done nor running; each group of engine arguments ends with a closing baseline."""
        candidates = self._study.waiting + self._scheduler.waiting
        closed = sum(record.role is Role.BASELINE_AGAIN for record in self.fresh)
        closing = sum(run.task.role is Role.BASELINE_AGAIN for run in self._running.values())
        expected = self._groups - closed - closing if self._baseline_again else 0
        return candidates + max(self._scheduler.closing, expected, 0)

    def _worker_progress(self, worker: int, phase: str, now: float) -> WorkerProgress:
        device = self._pool.workers[worker].device
        running = self._running.get(worker)
        if running is None:
            return WorkerProgress(device)
        return WorkerProgress(device, running.task.candidate.label, phase, now - running.since_s)
