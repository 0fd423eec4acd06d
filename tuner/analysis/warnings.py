"""What a reader of the result should know besides it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tuner.analysis.eligibility import Contender
from tuner.analysis.life import counting_repeats
from tuner.analysis.plausible import counter_doubts
from tuner.analysis.wording import drift_words
from tuner.records import Answer, LoadMeasurement, SameOutput, Trial

NOTABLE_DRIFT = 0.02


def run_warnings(
    trials: Sequence[Trial],
    contenders: Mapping[float, Sequence[Contender]],
    fresh: Sequence[Trial] = (),
) -> tuple[str, ...]:
    """Return warnings in the order of the trials.

    trials: those that worked.  contenders: by temperature.  fresh: lives of finalists and their baselines that worked.
    """
    lines: list[str] = []
    for trial in trials:
        lines += _measurement_warnings([trial], f"{trial.record.candidate.label} (trial {trial.record.number})")
        lines += _doubts(trial)
    for of_one in _by_candidate(fresh):
        lines += _measurement_warnings(of_one, f"{of_one[0].record.candidate.label} (fresh lives)")
    lines += _disturbed([*trials, *fresh])
    lines += _barred(contenders)
    lines += [line for at in contenders.values() for c in at if not c.k for line in _drift_warnings(c)]
    return tuple(dict.fromkeys(lines))


def uncompared_outputs(answers: Sequence[Answer]) -> list[str]:
    """Say where a draft is recommended at temperature 0 though its outputs could not be held against the baseline's."""
    return [
        f"the outputs of {answer.best.label} at {load.load_point.label} were not compared with the baseline's: "
        f"{load.sameness.note}"
        for answer in answers
        if answer.best.k and answer.temperature == 0.0
        for load in answer.loads
        if load.sameness is not None and load.sameness.verdict is SameOutput.NOT_COMPARED
    ]


def _barred(contenders: Mapping[float, Sequence[Contender]]) -> list[str]:
    """Return who cannot win and why, with the temperature where it is not so at every one."""
    where: dict[tuple[str, str], list[float]] = {}
    for temperature, at in contenders.items():
        for contender in (c for c in at if c.k):
            for reason in contender.reasons:
                where.setdefault((contender.name, reason), []).append(temperature)
    lines = []
    for (name, reason), found in where.items():
        at_ts = "" if set(found) == set(contenders) else f" at T={', '.join(f'{t:g}' for t in found)}"
        lines.append(f"{name} cannot win{at_ts}: {reason}")
    return lines


def _by_candidate(trials: Sequence[Trial]) -> list[list[Trial]]:
    found: dict[str, list[Trial]] = {}
    for trial in trials:
        found.setdefault(trial.record.candidate.key, []).append(trial)
    return list(found.values())


def _measurement_warnings(lives: Sequence[Trial], name: str) -> list[str]:
    """Return what went wrong while these lives of one candidate were measured, one line a load point and kind."""
    by_load: dict[str, list[LoadMeasurement]] = {}
    for load in (load for trial in lives for load in trial.record.loads):
        by_load.setdefault(load.load_point.key, []).append(load)
    lines = []
    for loads in by_load.values():
        where = f"{name} at {loads[0].load_point.label}"
        repeats = [repeat for load in loads for repeat in load.repeats]
        lines += [f"{where}: repeat {r.index} left out: {'; '.join(r.problems)}" for r in repeats if r.problems]
        failed, requests = sum(r.failed for r in repeats), sum(r.requests for r in repeats)
        if failed:
            lines.append(f"{where}: {failed} of {requests} requests failed")
        preempted = sum(r.counters.preemptions or 0 for r in repeats)
        if preempted:
            lines.append(f"{where}: {preempted} preemptions, the KV cache is too small for this load")
    return lines


def _disturbed(trials: Sequence[Trial]) -> list[str]:
    """Say in one line how often the device was not itself, and what to do."""
    loads = [load for trial in trials for load in trial.record.loads]
    disturbed = [repeat for load in loads for repeat in load.repeats if repeat.disturbances]
    if not disturbed:
        return []
    kept = sum(bool(repeat.disturbances) for load in loads for repeat in counting_repeats(load.repeats))
    of = sum(len(load.repeats) for load in loads)
    which = f"{len(disturbed)} of {of} repeats were disturbed, {len(disturbed) - kept} of them left out"
    advice = "; measure again on a quiet machine" if kept else ""
    return [f"{which} (for one: {disturbed[0].disturbances[0]}){advice}"]


def _doubts(trial: Trial) -> list[str]:
    record = trial.record
    points = [load.load_point for load in record.loads]
    return [f"{record.candidate.label} (trial {record.number}) at {d}" for d in counter_doubts(trial, points)]


def _drift_warnings(contender: Contender) -> list[str]:
    device = contender.figures.device_key
    drifts = [(load.load_point, load.figures.get("baseline_drift")) for load in contender.figures.loads]
    if any(drift is None for _, drift in drifts):
        return [f"the baseline on {device} was measured once: its drift over the sweep is unknown"]
    return [
        f"the baseline on {device} drifted at {load.label}: {drift_words(drift.value)}"
        for load, drift in drifts
        if drift is not None and drift.value is not None and abs(math.log(drift.value)) >= NOTABLE_DRIFT
    ]
