"""How far a sweep is and how long it will take."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tuner.progress import Progress, WorkerProgress
from tuner.records import Candidate, Role, TrialRecord, WorkerFacts
from tuner.search.schedule import Task


@dataclass(frozen=True)
class Running:
    """A task that a worker is at.  since_s: monotonic time at which it was started."""

    task: Task
    number: int
    since_s: float


@dataclass(frozen=True)
class Allowance:
    """What the limits of the space still allow: engine starts and seconds, None without such a limit."""

    starts: int | None = None
    seconds: float | None = None

    def of(self, trials: int) -> int:
        """Return how many of so many may be begun."""
        return trials if self.starts is None else min(trials, max(0, self.starts))


def outlook(
    fresh: Sequence[TrialRecord],
    running: Mapping[int, Running],
    to_come: int,
    workers: Mapping[int, WorkerFacts],
    phases: Mapping[int, str],
    *,
    best: str,
    started_s: float,
    now_s: float,
    earlier: Sequence[TrialRecord] = (),
    allowed: Allowance | None = None,
    plain: int = 0,
    possible: int = 0,
    between_s: float = 0.0,
) -> Progress:
    """Return the state of a sweep.

    fresh: trials that ended in this session.  earlier: of the sessions that this one resumes; they tell how long trials
    take.  to_come: trials that are neither done nor running; plain: those of them without speculation.
    possible: trials that may come on top, a third of them without speculation.  workers: those alive.
    started_s, now_s: monotonic.  between_s: what passes between two trials on one worker.
    """
    allowed = allowed or Allowance()
    to_come, most = allowed.of(to_come), allowed.of(to_come + possible)
    known = [record for record in (*earlier, *fresh) if record.ok]
    ages = {worker: now_s - run.since_s for worker, run in running.items()}
    usual = _usual_of_each(running, known)
    rests = [max(0.0, (usual[worker] or 0.0) - age) for worker, age in ages.items()]

    def takes_s(count: int, without: int) -> float:
        mean_s = _mean_s(known, count, min(without, count))
        seconds = packed_s(rests, count, mean_s + min(between_s, mean_s), len(workers))
        limit_s = allowed.seconds
        return seconds if limit_s is None else min(seconds, max(0.0, limit_s) + mean_s)  # what is begun is finished

    between = (takes_s(to_come, plain), takes_s(most, plain + possible // 3)) if known else None
    return Progress(
        planned=len(fresh) + round(as_wrong_either_way(len(running) + to_come, len(running) + most)),
        done=len(fresh),
        failed=sum(not record.ok for record in fresh),
        elapsed_s=now_s - started_s,
        left_s=as_wrong_either_way(*between) if between else None,
        left_between_s=between if most > to_come else None,
        best=best,
        workers=tuple(
            _worker(workers[i], running.get(i), phases.get(i, ""), now_s, usual.get(i)) for i in sorted(workers)
        ),
    )


def as_wrong_either_way(least: float, most: float) -> float:
    """Return the estimate that is off by the same share whichever of the two comes: their harmonic mean."""
    return 2 * least * most / (least + most) if least + most else 0.0


def _usual_of_each(running: Mapping[int, Running], known: Sequence[TrialRecord]) -> dict[int, float | None]:
    kinds = {run.task.candidate.k > 0: run.task.candidate for run in running.values()}
    of_kind = {speculates: usual_s(known, candidate) for speculates, candidate in kinds.items()}
    return {worker: of_kind[run.task.candidate.k > 0] for worker, run in running.items()}


def usual_s(known: Sequence[TrialRecord], candidate: Candidate) -> float | None:
    """Return the mean seconds of trials of this kind (with or without speculation), of all where there is none yet.

    None where nothing is known.
    """
    return _of_kind_s(known, speculates=bool(candidate.k)) if known else None


def _of_kind_s(known: Sequence[TrialRecord], *, speculates: bool) -> float:
    alike = [record for record in known if bool(record.candidate.k) is speculates] or known
    return sum(map(_seconds, alike)) / len(alike)


def _seconds(record: TrialRecord) -> float:
    """Return what such a trial takes when it runs again: the first baseline alone also fetches its probabilities."""
    phases = record.phases
    if record.role is not Role.BASELINE:
        return phases.total_s
    return phases.start_s + phases.warmup_s + phases.load_s + phases.stop_s


def _mean_s(known: Sequence[TrialRecord], to_come: int, plain: int) -> float:
    """Return the seconds that a trial to come takes on average; of all so far where none is to come."""
    if not to_come:
        return sum(map(_seconds, known)) / len(known)
    without, with_draft = (_of_kind_s(known, speculates=speculates) for speculates in (False, True))
    return (plain * without + (to_come - plain) * with_draft) / to_come


def packed_s(rests: Sequence[float], to_come: int, each_s: float, workers: int) -> float:
    """Return the seconds until the last worker is done, each taking the next trial as soon as it is free.

    rests: seconds that those who are at one still need.  to_come: further trials of `each_s` seconds.
    """
    free_at = [*rests, *([0.0] * (workers - len(rests)))] or [0.0]
    heapq.heapify(free_at)
    for _ in range(to_come):
        heapq.heapreplace(free_at, free_at[0] + each_s)
    return max(free_at)


def _worker(
    facts: WorkerFacts, running: Running | None, phase: str, now_s: float, usual: float | None
) -> WorkerProgress:
    if running is None:
        return WorkerProgress(facts.device)
    return WorkerProgress(facts.device, running.task.label, phase, now_s - running.since_s, usual)
