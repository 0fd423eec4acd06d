"""One session of measuring in a run directory: study and workers are opened, used and closed again."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from tuner.device_lock import this_process
from tuner.engine.resolve import other_engine_here
from tuner.measuring import Measuring
from tuner.pool import Pool, open_pool
from tuner.pool.alone import Alone, giving_back, with_devices
from tuner.prepare import Prepared
from tuner.progress import SweepView
from tuner.provenance import only_hashed_otherwise
from tuner.records import Goal, Json, Metric, TrialRecord, short_hash
from tuner.search.known import Start
from tuner.search.samplers import Search
from tuner.search.study import Study
from tuner.search.telling import Telling
from tuner.sources import Budget, Source
from tuner.sources.done import counts_as_done
from tuner.space.search_space import GRID, GUIDED
from tuner.store import RunStore
from tuner.store.codec import Damaged
from tuner.store.reading import read_identity


@dataclass(frozen=True)
class SweepOptions:
    """How to run it, as opposed to what to measure.

    out: the run directory.  pool: "ray" for this machine, "cluster" for the one behind RAY_ADDRESS, or "local" for
    threads of this process.
    auto_fix: try again, with other arguments, what failed for want of them.
    registry: directory or URL where the finished sweep is kept too, None for nowhere.  registry_samples: with samples.
    storage: Optuna storage URL, None for SQLite in the run directory.  sampler: how candidates are chosen, None for
    what the space says.  fresh_search: begin as if there were no earlier sweep of the target.  start: what such a sweep
    found best, None to begin from nothing.
    """

    out: Path
    pool: Literal["ray", "cluster", "local"] = "ray"
    max_workers: int | None = None
    storage: str | None = None
    retry_failed: bool = False
    sampler: str | None = None
    auto_fix: bool = False
    registry: str | None = None
    registry_samples: bool = False
    fresh_search: bool = False
    start: Start | None = None


@dataclass(frozen=True)
class Session:
    """What sources can be made of.  done: records of earlier sessions that count as measured."""

    prepared: Prepared
    store: RunStore
    pool: Pool
    telling: Telling
    budget: Budget
    done: tuple[TrialRecord, ...]


@dataclass(frozen=True)
class Measured:
    """records: of the trials that were run now.  workers: on how many workers.  ended_by: see Budget."""

    records: tuple[TrialRecord, ...] = ()
    workers: int = 0
    ended_by: str = ""

    @property
    def engine_starts(self) -> int:
        """Engines that were started, those that failed included."""
        return sum(record.engine is not None for record in self.records)


def measure(
    prepared: Prepared,
    options: SweepOptions,
    store: RunStore,
    view: SweepView,
    make_sources: Callable[[Session], Sequence[Source]],
) -> Measured:
    """Measure what the sources hand out, in their order, until nothing is left of it.

    Raises InputError where the study's storage cannot be used, PoolError when no worker can do the work.
    """
    metric = prepared.manifest.goal.metric
    storage = options.storage or f"sqlite:///{store.path / 'study.db'}"
    study = Study.open(
        storage,
        f"{store.path.name}-{short_hash(prepared.fingerprint)}{'' if metric is Metric.TPOT else f'-{metric.value}'}",
        prepared.candidates,
        prepared.manifest.temperatures,
        search_of(prepared, options),
        cost=metric.cost,
        replace_damaged=not options.storage,
    )
    for note in study.notes:
        view.message(note)
    if (options.sampler or prepared.space.sampler) == GUIDED and _beyond_guided(prepared):
        view.message("the guided search knows TPOT alone: for this objective every candidate is measured")
    with (
        closing(study),
        giving_back(),
        open_pool(
            options.pool,
            gpus_per_worker=prepared.gpus_per_worker,
            max_workers=options.max_workers,
            required_paths=prepared.required_paths,
            engine_differs=partial(other_engine_here, prepared.engine),
        ) as opened,
    ):
        pool = with_devices(opened, _alone(prepared, view)) if prepared.engine.kind != "sim" else opened
        telling = Telling(study, prepared.manifest.temperatures, prepared.space.load_points, prepared.manifest.goal)
        budget = Budget(prepared.space.limits)
        done = telling.resume(store.trials(), lambda r: counts_as_done(r, retry_failed=options.retry_failed))
        if done:
            view.message(f"resuming: {len(done)} trials are already measured")
        session = Session(prepared, store, pool, telling, budget, tuple(done))
        measuring = Measuring(prepared, store, telling, pool, view, make_sources(session), budget)
        measuring.run()
        return Measured(tuple(measuring.fresh), len(pool.workers), budget.ended_by)


def _alone(prepared: Prepared, view: SweepView) -> Alone:
    return Alone(this_process(shlex.join(prepared.manifest.repeat_with)), view.message)


def search_of(prepared: Prepared, options: SweepOptions) -> Search:
    """Return how candidates are chosen."""
    return Search(sampler_of(prepared, options.sampler), prepared.space.load_points, start=options.start)


def sampler_of(prepared: Prepared, asked: str | None = None) -> str:
    """Return the sampler of a sweep.  asked: by the command line, None for what the space says.

    The guided search predicts TPOT and knows of no limits: where another metric decides, or a limit does, it might stop
    before the best candidate is measured. Every candidate is measured then.
    """
    sampler = asked or prepared.space.sampler
    return GRID if sampler == GUIDED and _beyond_guided(prepared) else sampler


def _beyond_guided(prepared: Prepared) -> bool:
    return prepared.manifest.goal != Goal()


def tell_where(options: SweepOptions, store: RunStore, view: SweepView, fingerprint: Mapping[str, Json]) -> None:
    """Say what a user has to know about the run directory before anything is measured in it."""
    if store.path != options.out.absolute():
        why = "a run with other inputs (engine, model, eval set ...)"
        if only_hashed_otherwise(_fingerprint_at(options.out), fingerprint):
            why = "a run of another release of tuner, which hashed models otherwise"
        view.message(f"{options.out} is {why}: this one is {store.path}")
    tell_broken(store, view)


def tell_broken(store: RunStore, view: SweepView) -> None:
    """Name each damaged file once."""
    for broken in store.newly_broken():
        view.message(f"set aside: {broken}")


def _fingerprint_at(out: Path) -> Mapping[str, Json]:
    try:
        return read_identity(out)[0]
    except (OSError, Damaged):
        return {}
