"""The sweep: ask, measure, keep, tell - until the study has no more questions; then the answer from the records."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from tuner.beginning import begin
from tuner.evidence import judgement, schedule_judgement
from tuner.extras import missing
from tuner.prepare import Prepared
from tuner.progress import SweepView
from tuner.records import Role, Trial, TrialRecord, Tried
from tuner.registry import keep_run, open_for_keeping
from tuner.report import Report, manifest_json, write_report
from tuner.search.left import left_words
from tuner.search.observing import tried
from tuner.session import Measured, Session, SweepOptions, measure, search_of, tell_broken, tell_where
from tuner.sources import Source
from tuner.sources.confirming import Confirming
from tuner.sources.done import counts_as_done
from tuner.sources.extras import Extras
from tuner.sources.fixed import Fixes, Needs, Refit, needs_of, refitted
from tuner.sources.scheduled import Scheduled
from tuner.sources.single import SingleLives
from tuner.store import RunStore
from tuner.upgrade import LastSweep
from tuner.upgrade.begun import Begun
from tuner.words import unfinished_words

__all__ = ["SweepOptions", "SweepResult", "run_sweep"]

CANDIDATES = "candidates"
"""What is open while the search has further questions."""


@dataclass(frozen=True)
class SweepResult:
    """What came of it.  Everything but `report` and `left` is of this call, not of earlier ones that it resumed.

    left: what was not measured and why, in words.  kept: where it is in the registry, "" if it is not.
    begun: how the search went that knew the last sweep, None where it knew none.
    overhead_s: wall time in which the average worker was neither starting an engine nor loading one.
    """

    report: Report
    engine_starts: int
    trials: int
    wall_s: float
    overhead_s: float
    left: tuple[str, ...] = ()
    kept: str = ""
    begun: Begun | None = None


def run_sweep(
    prepared: Prepared,
    options: SweepOptions,
    view: SweepView,
    began_s: float | None = None,
    last: LastSweep | None = None,
) -> SweepResult:
    """Measure what is not measured yet, then write the report.

    began_s: monotonic time at which the user's command began, for wall_s; now if None.  last: the sweep to begin with
    in a new run, None for the last one of the target in the registry.
    Raises OutputError before anything starts, PoolError when no worker can do the work, NothingMeasured when no
    baseline succeeded. Whatever ends it, finished trials are in the run directory and the next call goes on from there.
    """
    began_s = time.monotonic() if began_s is None else began_s
    registry, kept = open_for_keeping(options.registry, prepared.manifest.target), ""
    with RunStore.open(options.out, prepared.fingerprint, manifest_json(prepared.manifest)) as store:
        options, begun = begin(prepared, options, store, registry, last)
        for line in begun.lines if begun else ():
            view.message(line)
        prepared, measured = _measure_all(prepared, options, store, view)
        tell_broken(store, view)
        view.message("writing the report")
        begun = begun and _ended(begun, store, prepared, options)
        left_open = _open(store, prepared, options)
        held = begun is not None and begun.held is not None and begun.held.holds
        left = _left(store, prepared, options, measured.ended_by, searched=CANDIDATES not in left_open, held=held)
        unfinished = unfinished_words(left_open, measured.ended_by)
        report = write_report(store.path, finished=not left_open, unfinished=unfinished, left=left, begun=begun)
        if not left_open:
            store.finish({"verdict": report.findings.answers[0].verdict.value})
        if not left_open and registry is not None:
            target, now = prepared.manifest.target, datetime.now(UTC)
            kept, words = keep_run(registry, store.path, target, samples=options.registry_samples, now=now)
            view.message(words)
    wall_s = time.monotonic() - began_s
    return SweepResult(
        report=report,
        engine_starts=measured.engine_starts,
        trials=len(measured.records),
        wall_s=wall_s,
        overhead_s=max(0.0, wall_s - _busy_s(measured.records) / max(1, measured.workers)),
        left=left,
        kept=kept,
        begun=begun,
    )


def _measure_all(
    prepared: Prepared, options: SweepOptions, store: RunStore, view: SweepView
) -> tuple[Prepared, Measured]:
    """Measure what is missing, and where no baseline starts, again with arguments with which one may.

    Return what was measured in the end, and what came of it.
    """
    tell_where(options, store, view, prepared.fingerprint)
    refit = _refit(prepared, options, store)
    measured = Measured()
    while True:
        now = replace(prepared, candidates=refit.candidates)
        for note in dict.fromkeys(fix.note for fix in refit.fixes.values()):
            view.message(f"for the whole sweep: {note}")
        latest = _measure_missing(now, options, store, view, refit)
        measured = replace(latest, records=(*measured.records, *latest.records))
        before, refit = refit, _refit(prepared, options, store)
        if refit == before:
            return now, measured


def _refit(prepared: Prepared, options: SweepOptions, store: RunStore) -> Refit:
    """Return the candidates to measure: those of the space, unless its engine arguments cannot work."""
    if not options.auto_fix:
        return Refit(prepared.candidates, {})
    return refitted(prepared.candidates, store.records(), _needs(prepared))


def _needs(prepared: Prepared) -> Needs:
    return needs_of(prepared.space.load_points, prepared.lengths)


def _measure_missing(
    prepared: Prepared, options: SweepOptions, store: RunStore, view: SweepView, refit: Refit
) -> Measured:
    # In this order: what is found damaged when all is read takes the mark away.
    if not _open(store, prepared, options, retry_failed=options.retry_failed) and store.finished:
        view.message(f"{store.path} is finished: nothing is measured again")
        return Measured()
    return measure(prepared, options, store, view, partial(_sources, auto_fix=options.auto_fix, refit=refit))


def _sources(session: Session, *, auto_fix: bool, refit: Refit) -> tuple[Source, ...]:
    prepared, protocol = session.prepared, session.prepared.space.protocol
    devices = [worker.device_key for worker in session.pool.workers]
    fixes = Fixes(_needs(prepared), prepared.candidates, session.done, refit.fixes) if auto_fix else None
    return (
        SingleLives(session.telling, session.budget, protocol, devices, session.done, prepared.candidates, fixes),
        Confirming(session.store, prepared.manifest, session.budget),
        Scheduled(session.store, prepared.manifest, session.budget),
        Extras(prepared.candidates, protocol, prepared.engine.version, session.done, session.budget),
    )


def _open(store: RunStore, prepared: Prepared, options: SweepOptions, *, retry_failed: bool = False) -> tuple[str, ...]:
    """Return what is still to be measured, in words; () where the sweep is finished."""
    trials = store.trials()
    counting = [trial for trial in trials if counts_as_done(trial.record, retry_failed=retry_failed)]
    closing = {
        (r.worker.device_key, r.candidate.args_key): r.ok for r in store.records() if r.role is Role.BASELINE_AGAIN
    }
    policy = search_of(prepared, options).policy(prepared.candidates)
    answered = policy.next(_known(counting, prepared)).done
    done = [trial.record for trial in counting]
    retries = Fixes(_needs(prepared), prepared.candidates, done).waiting if options.auto_fix else 0
    extras = missing(done, prepared.candidates, prepared.space.protocol, prepared.engine.version)
    judged = (judgement(trials, prepared.manifest), schedule_judgement(trials, prepared.manifest))
    still_open = {
        CANDIDATES: not answered,
        "retries with other arguments": bool(retries),
        "the closing baseline": not all(closing.values()),
        "fresh lives of the finalists": not judged[0].settled,
        "lives of the K schedule": not judged[1].settled,
        "what explains the answer": bool(extras),
    }
    return tuple(name for name, is_open in still_open.items() if is_open)


def _ended(begun: Begun, store: RunStore, prepared: Prepared, options: SweepOptions) -> Begun:
    """Return how the search that began so went."""
    known = _counting(store, prepared)
    started = {one.candidate.key for one in known if one.candidate.k}
    held = search_of(prepared, options).held(prepared.candidates, known)
    left_out = [one for one in prepared.candidates if one.k and one.key not in started] if held and held.holds else []
    return replace(begun, held=held, starts=len(started), left_out=len(left_out))


def _counting(store: RunStore, prepared: Prepared) -> list[Tried]:
    return _known([trial for trial in store.trials() if counts_as_done(trial.record)], prepared)


def _left(
    store: RunStore, prepared: Prepared, options: SweepOptions, limit: str, *, searched: bool, held: bool
) -> tuple[str, ...]:
    """Return what was not measured and why.

    limit: that which ended the sweep, "" if none did.  searched: whether the search has no further question.
    held: whether it has none because the best of the last sweep still is.
    """
    search = search_of(prepared, options)
    known = _counting(store, prepared)
    ended_by = f"the limit {limit} ended the sweep" if limit else "the sweep is not finished"
    ended_by = "" if searched else ended_by
    return left_words(prepared.candidates, known, search.predicted(prepared.candidates, known), ended_by, held)


def _known(trials: Sequence[Trial], prepared: Prepared) -> list[Tried]:
    return tried(trials, prepared.space.load_points, prepared.candidates)


def _busy_s(records: Sequence[TrialRecord]) -> float:
    return sum(record.phases.start_s + record.phases.warmup_s + record.phases.load_s for record in records)
