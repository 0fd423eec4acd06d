"""Everything that is concluded from a run's trials; also from a partial one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tuner.analysis.changed_settings import changed_settings
from tuner.analysis.curve import k_curves
from tuner.analysis.eligibility import barred, fitting_memory
from tuner.analysis.final_figures import final_figures
from tuner.analysis.finals import Judgement, judge, only_rounds
from tuner.analysis.k_schedule import Unsupported
from tuner.analysis.rounds import arms
from tuner.analysis.schedule_judged import schedules
from tuner.analysis.screening import Place, Screening, failure_told, failure_words, screening
from tuner.analysis.selection import as_answer
from tuner.analysis.surface import entries, surface
from tuner.analysis.warnings import run_warnings, uncompared_outputs
from tuner.records import Candidate, Figure, Findings, Goal, LoadPoint, Protocol, Role, Surface, Trial, TrialFigures


def findings(
    trials: Sequence[Trial],
    load_points: Sequence[LoadPoint],
    default_gpu_memory_utilization: float | None = None,
    threshold: float = 0.01,
    undeployable: Mapping[str, str] | None = None,
    protocol: Protocol | None = None,
    unsupported: Unsupported = lambda candidate: None,
    ks: Mapping[str, Sequence[int]] | None = None,
    goal: Goal | None = None,
) -> Findings:
    """Return figures, curves, drift and an answer for every temperature among `load_points`.

    default_gpu_memory_utilization: the engine's own, for ties.  threshold: gain per token below which a curve bends.
    undeployable: key of a candidate -> why it may be measured and never recommended.
    protocol: how many fresh lives the answer needs; none if None.
    unsupported: why the engine cannot run a candidate with a K schedule, None if it can.
    ks: K that the space has, by draft name.  goal: what decides, and the limits; TPOT without limits if None.
    Raises NothingMeasured if no baseline worked: there is nothing to compare with.
    """
    protocol, goal = protocol or Protocol(), goal or Goal()
    single = screening(trials, load_points, default_gpu_memory_utilization, undeployable, protocol.resolve, goal)
    judgement = judge(single.screened, trials, protocol)
    failed = [trial for trial in trials if not trial.record.ok]
    lost = [(t.record.candidate, failure_words(t)) for t in failed if t.record.role is Role.CANDIDATE]
    contenders = {s.temperature: s.contenders for s in single.screened}
    for at_temperature, finalists in zip(single.screened, judgement.contenders, strict=False):
        contenders[at_temperature.temperature] += finalists
    curves = k_curves(list(single.figures.values()), load_points, threshold, lost, ks, goal)
    surfaces = _surfaces(single, judgement, default_gpu_memory_utilization, ks, lost)
    answers = tuple(
        replace(as_answer(s, [c for c in curves if c.load_point in s.loads], choice), surface=by_concurrency)
        for s, choice, by_concurrency in zip(single.screened, judgement.choices, surfaces, strict=True)
    )
    return Findings(
        answers=answers,
        trials=tuple(single.figures[number] for number in sorted(single.figures)),
        finals=_final_arms(trials, load_points, judgement, goal),
        drift=_drift(single.baselines, single.figures),
        warnings=(
            *run_warnings(
                single.worked,
                contenders,
                [t for t in trials if t.record.ok and t.record.role in (Role.FINAL, Role.SCHEDULE)],
            ),
            *uncompared_outputs(answers),
            *_final_warnings(judgement, protocol),
        ),
        failed={trial.record.name: failure_told(trial) for trial in failed},
        barred=barred(contenders),
        goal=goal,
        schedules=schedules(single.screened, judgement, trials, protocol, unsupported).answers,
        changed_settings=changed_settings(
            single.worked, {trial.record.number: single.first_life(trial) for trial in single.worked}
        ),
    )


def _surfaces(
    single: Screening,
    judgement: Judgement,
    default_gpu_memory: float | None,
    ks: Mapping[str, Sequence[int]] | None,
    failed: Sequence[tuple[Candidate, str]],
) -> list[Surface | None]:
    """Return the K x concurrency surface of each temperature."""
    fresh = judgement.contenders or ((),) * len(single.screened)
    return [
        surface(
            entries(s.contenders, fitting_memory(s.contenders, default_gpu_memory), finalists),
            s.baseline,
            s.loads,
            ks,
            failed,
        )
        for s, finalists in zip(single.screened, fresh, strict=True)
    ]


def latest_attempts(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """Return the trials without failures that a later trial of the same candidate and role made up for or repeats.

    Fresh lives are all kept: that one failed says something of the others.
    """

    def question(trial: Trial) -> tuple[str, str, str]:
        record = trial.record
        if record.role in (Role.FINAL, Role.SCHEDULE):
            return record.role.value, record.candidate.key, str(record.number)
        place = "" if record.role is Role.CANDIDATE else record.worker.device_key
        return record.role.value, record.candidate.key, place

    last = {question(trial): trial.record.number for trial in trials}
    return tuple(t for t in trials if t.record.ok or t.record.number == last[question(t)])


def _final_warnings(judgement: Judgement, protocol: Protocol) -> list[str]:
    """Say where fewer fresh lives were measured than the answer needs."""
    if not judgement.arms or judgement.complete >= max(judgement.wanted, protocol.lives):
        return []
    done = f"{judgement.complete} of {max(judgement.wanted, protocol.lives)} fresh lives of the finalists were measured"
    if judgement.complete < protocol.lives:
        return [f"{done}: the answer is of one engine life, and that of the best of many candidates is too high"]
    return [f"{done}: the answer is that of the first {protocol.lives} or more"]


def _final_arms(
    trials: Sequence[Trial], load_points: Sequence[LoadPoint], judgement: Judgement, goal: Goal
) -> tuple[TrialFigures, ...]:
    """Return the figures of the fresh lives that the answer rests on; of all there are, where it rests on none yet."""
    found = arms(trials)
    if judgement.rounds:
        found = tuple(kept for arm in found if (kept := only_rounds(arm, judgement.rounds)).lives)
    return tuple(final_figures(arm, load_points, confidence=judgement.confidence, metric=goal.metric) for arm in found)


def _drift(baselines: Mapping[Place, Sequence[Trial]], figures: Mapping[int, TrialFigures]) -> dict[str, Figure]:
    """Return the drift of each baseline that was measured twice or more, by "device args load-point"."""
    drift = {}
    for (device, args_key), lives in baselines.items():
        for load in figures[lives[0].record.number].loads:
            if "baseline_drift" in load.figures:
                drift[f"{device} {args_key} {load.load_point.key}"] = load.figures["baseline_drift"]
    return drift
