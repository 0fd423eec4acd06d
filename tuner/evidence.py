"""What of a run's trials an answer may rest on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tuner.analysis.finals import Judgement, judge
from tuner.analysis.findings import latest_attempts
from tuner.analysis.screening import screening
from tuner.errors import NothingMeasured
from tuner.records import RunManifest, Trial
from tuner.space.methods import undeployable


@dataclass(frozen=True)
class Evidence:
    """Trials of candidates that the space still has, and why some of them must never be recommended (by key)."""

    trials: tuple[Trial, ...]
    undeployable: dict[str, str]


def evidence(trials: Sequence[Trial], manifest: RunManifest) -> Evidence:
    """Return what an answer may rest on: what was taken out of the space must not win."""
    present = frozenset(manifest.candidates)
    kept = tuple(t for t in latest_attempts(trials) if not present or t.record.candidate.key in present)
    candidates = [trial.record.candidate for trial in kept]
    reasons = {c.key: reason for c in candidates if c.speculation and (reason := undeployable(c.speculation))}
    return Evidence(kept, reasons)


def judgement(trials: Sequence[Trial], manifest: RunManifest) -> Judgement:
    """Return what the fresh lives say so far, and how many are wanted; none where no baseline worked."""
    known = evidence(trials, manifest)
    try:
        single = screening(
            known.trials,
            manifest.load_points,
            manifest.default_gpu_memory_utilization,
            known.undeployable,
            manifest.protocol.resolve,
        )
    except NothingMeasured:
        return Judgement((), 0, 0, ())
    return judge(single.screened, known.trials, manifest.protocol)
