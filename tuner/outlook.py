"""How far a sweep is and how long it will take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tuner.progress import Progress, WorkerProgress
from tuner.records import TrialRecord, WorkerFacts
from tuner.search.schedule import Task


@dataclass(frozen=True)
class Running:
    """A task that a worker is at.  since_s: monotonic time at which it was started."""

    task: Task
    number: int
    since_s: float


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
) -> Progress:
    """Return the state of a sweep.

    fresh: trials that ended in this session.  to_come: trials that are neither done nor running.  workers: those alive.
    started_s, now_s: monotonic.
    """
    finished = [record.phases.total_s for record in fresh if record.ok]
    ages = [now_s - run.since_s for run in running.values()]
    left_s = None
    if finished:
        mean_s = sum(finished) / len(finished)
        left = (to_come + len(ages)) * mean_s - sum(min(age, mean_s) for age in ages)
        left_s = max(0.0, left / max(1, len(workers)))
    return Progress(
        planned=len(fresh) + len(running) + to_come,
        done=len(fresh),
        failed=sum(not record.ok for record in fresh),
        elapsed_s=now_s - started_s,
        left_s=left_s,
        best=best,
        workers=tuple(_worker(workers[i], running.get(i), phases.get(i, ""), now_s) for i in sorted(workers)),
    )


def _worker(facts: WorkerFacts, running: Running | None, phase: str, now_s: float) -> WorkerProgress:
    if running is None:
        return WorkerProgress(facts.device)
    return WorkerProgress(facts.device, running.task.label, phase, now_s - running.since_s)
