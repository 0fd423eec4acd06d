"""What of a run's trials an answer may rest on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tuner.analysis.finals import Judgement, judge
from tuner.analysis.findings import latest_attempts
from tuner.analysis.k_schedule import Unsupported, derive
from tuner.analysis.schedule_judged import ScheduleJudgement, schedule_arms, schedules
from tuner.analysis.screening import Screening, screening
from tuner.errors import NothingMeasured
from tuner.records import Candidate, Role, RunManifest, Trial, TrialFigures
from tuner.space.candidates import schedule_unavailable
from tuner.space.methods import undeployable


@dataclass(frozen=True)
class Evidence:
    """Trials of candidates that the space still has, and why some of them must never be recommended (by key)."""

    trials: tuple[Trial, ...]
    undeployable: dict[str, str]


def evidence(trials: Sequence[Trial], manifest: RunManifest) -> Evidence:
    """Return what an answer may rest on: what was taken out of the space must not win.

    A retry with other arguments counts as long as the space has what it was made from. A K schedule is in no space;
    whether its lives still answer a question is seen where they are judged.
    """
    present = frozenset(manifest.candidates)
    present |= {t.record.candidate.key for t in trials if t.record.fix and t.record.fix.origin in present}

    def counts(trial: Trial) -> bool:
        derived = trial.record.role is Role.SCHEDULE
        return not present or derived or trial.record.candidate.key in present

    kept = tuple(trial for trial in latest_attempts(trials) if counts(trial))
    candidates = [trial.record.candidate for trial in kept]
    reasons = {c.key: reason for c in candidates if c.speculation and (reason := undeployable(c.speculation))}
    return Evidence(kept, reasons)


def judgement(
    trials: Sequence[Trial], manifest: RunManifest, figures: dict[int, TrialFigures] | None = None
) -> Judgement:
    """Return what the fresh lives say so far, and how many are wanted; none where no baseline worked.

    figures: of single lives, see `screening`.
    """
    known = evidence(trials, manifest)
    single = _screening(known, manifest, figures)
    return judge(single.screened, known.trials, manifest.protocol) if single else Judgement((), 0, 0, ())


def schedule_judgement(
    trials: Sequence[Trial], manifest: RunManifest, figures: dict[int, TrialFigures] | None = None
) -> ScheduleJudgement:
    """Return what the lives of K schedules say so far, and how many are wanted; none where there is none to measure.

    figures: of single lives, see `screening`.
    """
    known = evidence(trials, manifest)
    single = _screening(known, manifest, figures) if manifest.protocol.schedule else None
    if single is None:
        return ScheduleJudgement((), 0, 0, ())
    finals = judge(single.screened, known.trials, manifest.protocol)
    return schedules(single.screened, finals, known.trials, manifest.protocol, unsupported(manifest))


def foreseen_schedule(trials: Sequence[Trial], manifest: RunManifest) -> tuple[int, int]:
    """Return how many arms, in how many rounds, the lives of K schedules will have, as far as it can be told so far.

    Whether the surface asks for a schedule is taken from the single lives until the finals are settled. It ends after
    its first round, or after all where that one was promising: half of them are expected until it is measured.
    """
    known = evidence(trials, manifest)
    single = _screening(known, manifest) if manifest.protocol.schedule else None
    if single is None:
        return 0, 0
    finals, half = judge(single.screened, known.trials, manifest.protocol), (max(1, manifest.protocol.lives) + 1) // 2
    if not finals.settled:
        derived = [derive(at, None, (), unsupported(manifest)) for at in single.screened]
        return len(schedule_arms(derived)), half
    judged = schedules(single.screened, finals, known.trials, manifest.protocol, unsupported(manifest))
    return len(judged.arms), judged.wanted if judged.complete else max(judged.wanted, half)


def unsupported(manifest: RunManifest) -> Unsupported:
    """Return a function that says why this run's engine cannot run a candidate with a K schedule."""

    def reason(candidate: Candidate) -> str | None:
        return schedule_unavailable(candidate, manifest.engine_version, manifest.engine_build)

    return reason


def _screening(
    known: Evidence, manifest: RunManifest, figures: dict[int, TrialFigures] | None = None
) -> Screening | None:
    """Return what the single lives say; None where no baseline worked."""
    try:
        return screening(
            known.trials,
            manifest.load_points,
            manifest.default_gpu_memory_utilization,
            known.undeployable,
            manifest.protocol.resolve,
            manifest.goal,
            figures,
        )
    except NothingMeasured:
        return None
