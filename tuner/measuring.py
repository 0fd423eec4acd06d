"""The loop of a sweep: keep every worker busy, keep every result, tell the study."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from statistics import median

from tuner.errors import PoolError, WorkerGone
from tuner.outlook import Allowance, Running, outlook
from tuner.pool import Pool
from tuner.prepare import Prepared
from tuner.progress import Progress, SweepView
from tuner.records import Failure, Role, Trial, TrialRecord
from tuner.search.schedule import Task
from tuner.search.telling import Telling
from tuner.sources import Budget, Source
from tuner.status import KeepingStatus
from tuner.store import RunStore
from tuner.trial import TrialSpec, lost_worker, run_trial, unmeasured
from tuner.words import ROLE_WORDS, trial_words

POLL_S = 0.25
MAX_ATTEMPTS = 3


class Measuring:
    """One session of measuring. Only this object writes the store.

    sources: where the trials come from; each begins when those before it have nothing left and nothing running.
    fresh: records of the trials that this session ran, in the order in which they ended.
    """

    def __init__(
        self,
        prepared: Prepared,
        store: RunStore,
        telling: Telling,
        pool: Pool,
        view: SweepView,
        sources: Sequence[Source],
        budget: Budget,
    ) -> None:
        self.fresh: list[TrialRecord] = []
        self._prepared = prepared
        self._store = store
        self._telling = telling
        self._pool = pool
        self._earlier = store.records()
        self._view = KeepingStatus(view, store.path, len(self._earlier))
        self._sources = tuple(sources)
        self._budget = budget
        self._running: dict[int, Running] = {}
        self._source_of: dict[int, Source] = {}
        self._free_since: dict[int, float] = {}
        self._waits: list[float] = []
        self._alive = set[int]()
        self._known_workers = 0
        self._attempts: Counter[str] = Counter()
        self._number = max((record.number + 1 for record in self._earlier), default=0)

    def run(self) -> None:
        """Measure until nothing is left. Raises PoolError when the last worker is lost."""
        while True:
            self._welcome_workers()
            self._start_idle_workers()
            if not self._running:
                return
            for worker, outcome in self._pool.wait(POLL_S):
                self._collect(worker, outcome)
            self._view.update(self._progress())

    def _welcome_workers(self) -> None:
        """Count on workers that were not there before: at first all, later those of a node that joined."""
        while self._pool.notes:
            self._view.message(self._pool.notes.pop(0))
        workers = self._pool.workers
        for worker in range(self._known_workers, len(workers)):
            if self._known_workers:
                self._view.message(f"a worker joined: {workers[worker].device} ({workers[worker].device_key})")
            self._alive.add(worker)
        self._known_workers = len(workers)

    def _start_idle_workers(self) -> None:
        for source in self._sources:
            for worker in sorted(self._alive - self._running.keys()):
                self._give_work(worker, source)
            if any(self._source_of[worker] is source for worker in self._running):
                return

    def _give_work(self, worker: int, source: Source) -> None:
        facts = self._pool.workers
        alive = [facts[number] for number in sorted(self._alive)]
        task = source.next(facts[worker], alive)
        while source.notes:
            self._view.message(source.notes.pop(0))
        if task is not None:
            self._start(worker, task, source)

    def _start(self, worker: int, task: Task, source: Source) -> None:
        number, now_s = self._next_number(), time.monotonic()
        self._running[worker], self._source_of[worker] = Running(task, number, now_s), source
        if worker in self._free_since:
            self._waits.append(now_s - self._free_since.pop(worker))
        self._budget.spend()
        self._view.message(f"trial {number}: {task.label} ({ROLE_WORDS[task.role]})")
        self._pool.start(worker, partial(run_trial, self._spec(task, number)))

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
            env={**prepared.manifest.env, **task.env},
            round=task.round,
            served=task.served,
            fix=task.fix,
        )

    def _next_number(self) -> int:
        self._number += 1
        return self._number - 1

    def _collect(self, worker: int, outcome: Trial | PoolError) -> None:
        if isinstance(outcome, Trial):
            del self._running[worker]
            self._free_since[worker] = time.monotonic()
            self._keep(outcome)
        elif isinstance(outcome, WorkerGone):
            self._give_up(worker, outcome)
        else:
            self._lose(worker, outcome)

    def _lose(self, worker: int, error: PoolError) -> None:
        """A lost worker says nothing about the candidate: it runs again, MAX_ATTEMPTS times in all, wherever."""
        running = self._running.pop(worker)
        self._budget.refund()
        self._view.message(f"worker lost on {self._pool.workers[worker].device}: {error.message}")
        task, device_key = running.task, self._pool.workers[worker].device_key
        where = "" if task.role is Role.CANDIDATE else device_key
        attempt = f"{where} {task.role} {task.candidate.key} {task.round} {task.served}"
        self._attempts[attempt] += 1
        if self._attempts[attempt] < MAX_ATTEMPTS:
            self._source_of[worker].put_back(task, device_key)
            return
        self._keep(self._unmeasured(worker, task, running.number, lost_worker(error)))

    def _give_up(self, worker: int, error: WorkerGone) -> None:
        """No process can be made on these devices any more: go on with the others, if there are others."""
        self._view.message(f"no worker on {self._pool.workers[worker].device} any more: {error.message}")
        task = self._running.pop(worker).task
        self._budget.refund()
        self._alive.discard(worker)
        if not self._alive:
            step = "Check the nodes with `ray status`, then call the same command again: finished trials are kept."
            raise PoolError(f"no worker is left; of the last one: {error.message}", step)
        for source in self._sources:
            source.gone(task, self._pool.workers[worker].device_key)

    def _unmeasured(self, worker: int, task: Task, number: int, failure: Failure) -> Trial:
        facts = self._pool.workers[worker]
        record = unmeasured(number, task.role, task.candidate, facts, failure, task.round, task.served, task.fix)
        return Trial(record)

    def _keep(self, trial: Trial) -> None:
        record = trial.record
        self._store.save(trial)
        self.fresh.append(record)
        for source in self._sources:
            source.finished(record)
        self._view.trial_done(record, trial_words(record, self._telling.keep(trial)))

    def _progress(self) -> Progress:
        return outlook(
            self.fresh,
            self._running,
            sum(source.waiting for source in self._sources),
            {worker: self._pool.workers[worker] for worker in self._alive},
            self._pool.phases(),
            best=self._telling.best,
            started_s=self._budget.started_s,
            now_s=time.monotonic(),
            earlier=self._earlier,
            allowed=Allowance(*self._budget.left()),
            between_s=median(self._waits[1:]) if len(self._waits) > 1 else 0.0,  # the first one loads libraries too
            plain=sum(source.waiting_plain for source in self._sources),
            possible=sum(source.possible for source in self._sources),
        )
