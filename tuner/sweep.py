"""The sweep: ask, measure, keep, tell - until the study has no more questions; then the answer from the records."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tuner.evidence import judgement
from tuner.measuring import Measuring, counts_as_done
from tuner.pool import open_pool
from tuner.prepare import Prepared
from tuner.progress import SweepView
from tuner.records import Role, TrialRecord, short_hash
from tuner.report import Report, manifest_json, write_report
from tuner.search.study import Study
from tuner.store import RunStore


@dataclass(frozen=True)
class SweepOptions:
    """How to run it, as opposed to what to measure.

    out: the run directory.  pool: "ray", or "local" for threads of this process.
    storage: Optuna storage URL, None for SQLite in the run directory.
    """

    out: Path
    pool: Literal["ray", "local"] = "ray"
    max_workers: int | None = None
    storage: str | None = None
    retry_failed: bool = False


@dataclass(frozen=True)
class SweepResult:
    """What came of it.  Everything but `report` is of this call, not of earlier ones that it resumed.

    overhead_s: wall time in which the average worker was neither starting an engine nor loading one.
    """

    report: Report
    engine_starts: int
    trials: int
    wall_s: float
    overhead_s: float


def run_sweep(prepared: Prepared, options: SweepOptions, view: SweepView, began_s: float | None = None) -> SweepResult:
    """Measure what is not measured yet, then write the report.

    began_s: monotonic time at which the user's command began, for wall_s; now if None.
    Raises OutputError before anything starts, PoolError when no worker can do the work, NothingMeasured when no
    baseline succeeded. Whatever ends it, finished trials are in the run directory and the next call goes on from there.
    """
    began_s = time.monotonic() if began_s is None else began_s
    with RunStore.open(options.out, prepared.fingerprint, manifest_json(prepared.manifest)) as store:
        fresh, workers = _measure_missing(prepared, options, store, view)
        view.message("writing the report")
        complete = _complete(store, prepared)
        report = write_report(store.path, finished=complete)
        if complete:
            store.finish({"verdict": report.findings.answers[0].verdict.value})
    wall_s = time.monotonic() - began_s
    return SweepResult(
        report=report,
        engine_starts=sum(record.engine is not None for record in fresh),
        trials=len(fresh),
        wall_s=wall_s,
        overhead_s=max(0.0, wall_s - _busy_s(fresh) / max(1, workers)),
    )


def _measure_missing(
    prepared: Prepared, options: SweepOptions, store: RunStore, view: SweepView
) -> tuple[list[TrialRecord], int]:
    """Return the records of the trials run now, and on how many workers."""
    if store.path != options.out.absolute():
        view.message(
            f"{options.out} is a run with other inputs (engine, model, eval set ...): this one is {store.path}"
        )
    for broken in store.broken:
        view.message(f"set aside: {broken}")
    if store.finished and _complete(store, prepared, retry_failed=options.retry_failed):
        view.message(f"{store.path} is finished: nothing is measured again")
        return [], 0
    storage = options.storage or f"sqlite:///{store.path / 'study.db'}"
    study = Study.open(
        storage,
        f"{store.path.name}-{short_hash(prepared.fingerprint)}",
        prepared.candidates,
        prepared.manifest.temperatures,
        replace_damaged=not options.storage,
    )
    for note in study.notes:
        view.message(note)
    with (
        closing(study),
        open_pool(
            options.pool,
            gpus_per_worker=prepared.gpus_per_worker,
            max_workers=options.max_workers,
            required_paths=prepared.required_paths,
        ) as pool,
    ):
        measuring = Measuring(prepared, store, study, pool, view, retry_failed=options.retry_failed)
        measuring.run()
        return measuring.fresh, len(pool.workers)


def _complete(store: RunStore, prepared: Prepared, *, retry_failed: bool = False) -> bool:
    """Whether every candidate has its answer, no closing baseline failed last and the finalists are settled."""
    records = store.records()
    done = {r.candidate.key for r in records if counts_as_done(r, retry_failed=retry_failed)}
    closing = {(r.worker.device_key, r.candidate.args_key): r.ok for r in records if r.role is Role.BASELINE_AGAIN}
    measured = all(candidate.key in done for candidate in prepared.candidates) and all(closing.values())
    return measured and judgement(store.trials(), prepared.manifest).settled


def _busy_s(records: list[TrialRecord]) -> float:
    return sum(record.phases.start_s + record.phases.warmup_s + record.phases.load_s for record in records)
