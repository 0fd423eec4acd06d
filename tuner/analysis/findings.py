"""Everything that is concluded from a run's trials; also from a partial one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tuner.analysis.comparison import against
from tuner.analysis.curve import k_curves
from tuner.analysis.eligibility import Contender, disqualifications, preemptions
from tuner.analysis.metrics import trial_figures
from tuner.analysis.selection import answer
from tuner.analysis.warnings import run_warnings
from tuner.errors import NothingMeasured
from tuner.records import Answer, Bar, BarKind, Figure, Findings, LoadPoint, Role, Trial, TrialFigures

Place = tuple[str, str]  # (device_key, args_key): what a candidate shares with its baseline


@dataclass(frozen=True)
class Lives:
    """One baseline's engine lives: the first one and, if it was measured again, the last."""

    first: Trial
    again: Trial | None = None


def findings(
    trials: Sequence[Trial],
    load_points: Sequence[LoadPoint],
    default_gpu_memory_utilization: float | None = None,
    threshold: float = 0.01,
    undeployable: Mapping[str, str] | None = None,
) -> Findings:
    """Return figures, curves, drift and an answer for every temperature among `load_points`.

    default_gpu_memory_utilization: the engine's own, for ties.  threshold: gain per token below which a curve bends.
    undeployable: key of a candidate -> why it may be measured and never recommended.
    Raises NothingMeasured if no baseline worked: there is nothing to compare with.
    """
    worked = [trial for trial in trials if trial.record.ok]
    baselines = baseline_lives(worked)
    if not baselines:
        raise _nothing_measured(trials)
    figures = {trial.record.number: _figures(trial, baselines) for trial in worked}
    lost = [(trial.record.candidate, _reason(trial)) for trial in trials if not trial.record.ok]
    curves = k_curves(list(figures.values()), load_points, threshold, lost)
    answers: list[Answer] = []
    contenders: dict[float, list[Contender]] = {}
    for temperature in dict.fromkeys(load.sampling.temperature for load in load_points):
        loads = tuple(load for load in load_points if load.sampling.temperature == temperature)
        of_loads = [curve for curve in curves if curve.load_point in loads]
        competing = [
            _barred(_contender(trial, figures, baselines, loads), undeployable or {})
            for trial in _competing(worked, baselines)
        ]
        contenders[temperature] = competing
        answers.append(answer(temperature, loads, competing, of_loads, default_gpu_memory_utilization))
    return Findings(
        answers=tuple(answers),
        trials=tuple(figures[number] for number in sorted(figures)),
        drift=_drift(baselines, figures),
        warnings=run_warnings(
            worked, {trial.record.number: _first_life(trial, baselines) for trial in worked}, contenders
        ),
        failed={trial.record.name: _reason(trial) for trial in trials if not trial.record.ok},
    )


def _nothing_measured(trials: Sequence[Trial]) -> NothingMeasured:
    what = "No baseline (the engine without speculation) gave a measurement"
    failed = next((t for t in trials if t.record.role is Role.BASELINE and t.record.failure), None)
    if failed is None or failed.record.failure is None:
        return NothingMeasured(f"{what}: none was run.", "Start the sweep again: it goes on where it ended.")
    look = f"See trials/{failed.record.name}/engine.log, and start the sweep again: it tries the baseline anew."
    return NothingMeasured(f"{what}: {_reason(failed)}", f"{failed.record.failure.next_step}\n{look}".strip())


def latest_attempts(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """Return the trials without failures that a later trial of the same candidate and role made up for or repeats."""

    def question(trial: Trial) -> tuple[str, str, str]:
        record = trial.record
        place = "" if record.role is Role.CANDIDATE else record.worker.device_key
        return record.role.value, record.candidate.key, place

    last = {question(trial): trial.record.number for trial in trials}
    return tuple(t for t in trials if t.record.ok or t.record.number == last[question(t)])


def baseline_lives(trials: Sequence[Trial]) -> dict[Place, Lives]:
    """Return the baselines that worked by place, in the order they were measured; never pooled over devices."""
    lives: dict[Place, list[Trial]] = {}
    for trial in sorted(trials, key=lambda t: t.record.number):
        if trial.record.ok and not trial.record.candidate.k:
            lives.setdefault(_place(trial), []).append(trial)
    return {place: Lives(found[0], found[-1] if len(found) > 1 else None) for place, found in lives.items()}


def _place(trial: Trial) -> Place:
    return trial.record.worker.device_key, trial.record.candidate.args_key


def _figures(trial: Trial, baselines: Mapping[Place, Lives]) -> TrialFigures:
    lives = baselines.get(_place(trial))
    if trial.record.candidate.k:
        return trial_figures(trial, lives.first if lives else None, lives.again if lives else None)
    return trial_figures(trial, None, lives.again if lives and trial is lives.first else None)


def _first_life(trial: Trial, baselines: Mapping[Place, Lives]) -> Trial | None:
    lives = baselines.get(_place(trial))
    return lives.first if lives else None


def _competing(worked: Sequence[Trial], baselines: Mapping[Place, Lives]) -> list[Trial]:
    """Return the first life of each baseline, then the candidates."""
    candidates = [trial for trial in worked if trial.record.role is Role.CANDIDATE and trial.record.candidate.k]
    return [*(lives.first for lives in baselines.values()), *candidates]


def _contender(
    trial: Trial,
    figures: Mapping[int, TrialFigures],
    baselines: Mapping[Place, Lives],
    load_points: Sequence[LoadPoint],
) -> Contender:
    """Return the trial as it competes at these load points (of one temperature)."""
    first, reference = _first_life(trial, baselines), _reference(trial, baselines)
    ranked = own = figures[trial.record.number]
    bars = disqualifications(trial, first, load_points)
    if first is not None and reference is not None:
        ranked = against(own, figures[first.record.number], figures[reference.record.number])
    elif first is not None:
        bars = (*bars, Bar(BarKind.NO_BASELINE, "no reference baseline on its device"))
    return Contender(
        figures=own,
        ranked=ranked,
        bars=bars,
        preempted=preemptions(trial, load_points) > 0,
        kv_cache_tokens=trial.record.engine.kv_cache_tokens if trial.record.engine else None,
    )


def _barred(contender: Contender, undeployable: Mapping[str, str]) -> Contender:
    """Return the contender with the reason why it must never be deployed, if there is one."""
    reason = undeployable.get(contender.figures.candidate.key)
    if reason is None:
        return contender
    return replace(contender, bars=(*contender.bars, Bar(BarKind.UNDEPLOYABLE, reason)))


def _reference(trial: Trial, baselines: Mapping[Place, Lives]) -> Trial | None:
    """Return the baseline of the run's first engine arguments on the trial's device; None if it was not run there."""
    first_args = next(iter(baselines))[1]
    lives = baselines.get((trial.record.worker.device_key, first_args))
    return lives.first if lives else None


def _reason(trial: Trial) -> str:
    failure = trial.record.failure
    if failure is None:
        return ""
    return f"{failure.message} ({failure.cause})" if failure.cause else failure.message


def _drift(baselines: Mapping[Place, Lives], figures: Mapping[int, TrialFigures]) -> dict[str, Figure]:
    """Return the drift of each baseline that was measured twice, by "device args load-point"."""
    drift = {}
    for (device, args_key), lives in baselines.items():
        for load in figures[lives.first.record.number].loads:
            if "baseline_drift" in load.figures:
                drift[f"{device} {args_key} {load.load_point.key}"] = load.figures["baseline_drift"]
    return drift
