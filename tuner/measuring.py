"""The loop of a sweep: keep every worker busy, keep every result, tell the study."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from functools import partial

from tuner.analysis.comparison import objective_speedup, objective_tpot
from tuner.analysis.metrics import trial_figures
from tuner.confirming import Confirming
from tuner.errors import PoolError
from tuner.outlook import Running, outlook
from tuner.pool import Pool
from tuner.prepare import Prepared
from tuner.progress import Progress, SweepView
from tuner.records import (
    Candidate,
    Failure,
    FailureKind,
    Json,
    Role,
    Trial,
    TrialFigures,
    TrialRecord,
)
from tuner.search.schedule import Scheduler, Task
from tuner.search.study import Study
from tuner.store import RunStore
from tuner.trial import TrialSpec, run_trial, unmeasured
from tuner.words import ROLE_WORDS, trial_words

POLL_S = 0.25
MAX_ATTEMPTS = 3


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
        self._running: dict[int, Running] = {}
        self._alive = set(range(len(pool.workers)))
        self._attempts: Counter[str] = Counter()
        self._asked: set[str] = set()
        self._baselines: dict[tuple[str, str], Trial] = {}
        self._best = ("", 0.0)
        self._number = 0
        self._confirming = Confirming(store, prepared.manifest)
        done = self._resume(retry_failed)
        protocol = prepared.space.protocol
        self._baseline_again = protocol.baseline_again
        self._groups = len({candidate.args_key for candidate in prepared.candidates})
        devices = [worker.device_key for worker in pool.workers]
        self._scheduler = Scheduler(
            self._ask, devices, done, baseline_again=self._baseline_again, baseline_every=protocol.baseline_every
        )

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
            if record.role in (Role.BASELINE, Role.CANDIDATE):
                told.append((record.candidate, self._values(figures), self._attrs(record, figures)))
        self._study.reconcile(told)
        if done:
            self._view.message(f"resuming: {len(done)} trials are already measured")
        return done

    def _ask(self) -> Candidate | None:
        candidate = None if self._limit_reached(self._reserved()) else self._study.ask()
        if candidate is not None:
            self._asked.add(candidate.key)
        return candidate

    def _limit_reached(self, reserved: int) -> bool:
        """Whether another trial may not be begun, if so many engine starts have to be left for others."""
        begun = sum(record.engine is not None for record in self.fresh) + len(self._running)
        return self._prepared.space.limits.reached(begun, time.monotonic() - self._started_s, reserved)

    def _reserved(self) -> int:
        """Engine starts that candidates must leave: for closing baselines and, within half the limit, for finalists."""
        protocol, most = self._prepared.space.protocol, self._prepared.space.limits.max_engine_starts or 0
        closing = max(self._scheduler.closing, 1) if self._baseline_again else 0
        return closing + (min(2 * protocol.lives, most // 2) if protocol.lives > 1 else 0)

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
            self._keep(self._unmeasured(worker, task, self._next_number(), failure))
        if task := self._final_task(worker):
            self._start(worker, task)

    def _final_task(self, worker: int) -> Task | None:
        """Return a finalist's fresh life, once all single lives are measured."""
        single = any(running.task.role is not Role.FINAL for running in self._running.values())
        if single or self._limit_reached(0):
            return None
        facts = self._pool.workers
        task = self._confirming.next(facts[worker], [facts[alive] for alive in sorted(self._alive)])
        while self._confirming.notes:
            self._view.message(self._confirming.notes.pop(0))
        return task

    def _start(self, worker: int, task: Task) -> None:
        number = self._next_number()
        self._running[worker] = Running(task, number, time.monotonic())
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
            round=task.round,
        )

    def _next_number(self) -> int:
        self._number += 1
        return self._number - 1

    def _collect(self, worker: int, outcome: Trial | PoolError) -> None:
        running = self._running.pop(worker)
        if isinstance(outcome, Trial):
            self._keep(outcome)
        else:
            self._lose(worker, running, outcome)

    def _lose(self, worker: int, running: Running, error: PoolError) -> None:
        """A lost worker says nothing about the candidate: it runs again, MAX_ATTEMPTS times in all."""
        self._view.message(f"worker lost on {self._pool.workers[worker].device}: {error.message}")
        task, device_key = running.task, self._pool.workers[worker].device_key
        attempt = f"{device_key} {task.role} {task.candidate.key} {task.round}"
        self._attempts[attempt] += 1
        if self._attempts[attempt] < MAX_ATTEMPTS:
            if task.role is Role.FINAL:
                self._confirming.put_back(task)
            else:
                self._scheduler.put_back(task, device_key)
            return
        failure = Failure(FailureKind.WORKER_LOST, error.message, error.next_step)
        self._keep(self._unmeasured(worker, running.task, running.number, failure))

    def _give_up(self, worker: int, task: Task, error: PoolError) -> None:
        """No process can be made on these devices any more: go on with the others, if there are others."""
        self._view.message(f"no worker on {self._pool.workers[worker].device} any more: {error.message}")
        del self._running[worker]
        self._alive.discard(worker)
        if not self._alive:
            raise error
        device_key = self._pool.workers[worker].device_key
        if task.role is Role.FINAL:
            self._confirming.gone(device_key)
        else:
            self._scheduler.gone(task, device_key)

    def _unmeasured(self, worker: int, task: Task, number: int, failure: Failure) -> Trial:
        facts = self._pool.workers[worker]
        return Trial(unmeasured(number, task.role, task.candidate, facts, failure, task.round))

    def _keep(self, trial: Trial) -> None:
        record = trial.record
        self._store.save(trial)
        self.fresh.append(record)
        self._scheduler.finished(record)
        self._confirming.finished(record)
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
        if record.candidate.k == 0 and record.role is not Role.BASELINE_AGAIN:
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
        return outlook(
            self.fresh,
            self._running,
            self._to_come(),
            {worker: self._pool.workers[worker] for worker in self._alive},
            self._pool.phases(),
            best=self._best[0],
            started_s=self._started_s,
            now_s=time.monotonic(),
        )

    def _to_come(self) -> int:
        """Trials that are neither done nor running; each group of engine arguments ends with a closing baseline."""
        candidates = self._study.waiting + self._scheduler.waiting
        closed = sum(record.role is Role.BASELINE_AGAIN for record in self.fresh)
        closing = sum(run.task.role is Role.BASELINE_AGAIN for run in self._running.values())
        expected = self._groups - closed - closing if self._baseline_again else 0
        return candidates + max(self._scheduler.closing, expected, 0) + self._finals_to_come()

    def _finals_to_come(self) -> int:
        """Fresh lives that are still to come; before the finalists are known, two and their baseline."""
        protocol = self._prepared.space.protocol
        if self._study.waiting or not any(r.role is Role.FINAL for r in self.fresh):
            return 3 * protocol.lives if protocol.lives > 1 else 0
        return self._confirming.waiting
