"""What an answer rests on, as the artifact has it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from tuner.analysis.metrics import worst_category
from tuner.analysis.rounds import round_speedups
from tuner.artifact import measured
from tuner.artifact.figures import Outputs, Resolution
from tuner.export.schedule import schedule
from tuner.export.surface import by_concurrency, crossovers, traffic
from tuner.export.values import measured_figure, measured_figures, optional_figure, plain_mapping, rounded
from tuner.records import Answer, Findings, KCurve, LoadFigures, LoadPoint, TrialFigures
from tuner.records import Losslessness as Sameness
from tuner.records import Resolution as Resolved


def measurements(findings: Findings, answer: Answer) -> measured.Measured:
    """Return everything measured that the answer rests on."""
    return measured.Measured(
        engine_lives=answer.lives,
        expected_speedup=measured_figure(answer.objective),
        expected_speedup_similar_prompts=optional_figure(answer.similar_prompts),
        speedup_before_selection=optional_figure(answer.screened),
        resolution=_resolution(answer.resolution),
        runner_up=answer.runner_up.label if answer.runner_up else None,
        by_concurrency=by_concurrency(answer),
        crossover=crossovers(answer),
        traffic=traffic(findings, answer),
        load_points=tuple(_load(load) for load in answer.loads),
        baseline_load_points=tuple(_load(load) for load in _baseline_loads(findings, answer)),
        curves=tuple(_curve(findings, curve) for curve in answer.curves),
        schedule=schedule(findings, answer),
    )


def _baseline_loads(findings: Findings, answer: Answer) -> Iterator[LoadFigures]:
    """Yield the figures of the engine without speculation, in lives of the kind that the answer rests on."""
    kinds = (findings.finals, findings.trials) if answer.lives > 1 else (findings.trials,)
    device = next((t.device_key for arms in kinds for t in arms if t.loads and _of(t, answer)), None)
    for arms in kinds:
        plain = [t for t in arms if not t.candidate.k and t.candidate.args_key == answer.best.args_key]
        arm = next((t for t in plain if t.device_key == device), plain[0] if plain else None)
        if arm is not None:
            yield from (load for load in arm.loads if load.load_point.sampling.temperature == answer.temperature)
            return


def _of(arm: TrialFigures, answer: Answer) -> bool:
    return arm.candidate == answer.best and any(load in answer.loads for load in arm.loads)


def _resolution(resolution: Resolved | None) -> Resolution | None:
    return None if resolution is None else Resolution.model_validate(plain_mapping(asdict(resolution)))


def _load(load: LoadFigures) -> measured.LoadResult:
    worst = worst_category(load)
    return measured.LoadResult(
        label=load.load_point.label,
        load_point=_load_point(load.load_point),
        figures=measured_figures(load.figures),
        acceptance_by_position=tuple(measured_figure(figure) for figure in load.acceptance_by_position),
        conditional_acceptance_by_position=tuple(measured_figure(figure) for figure in load.conditional_by_position),
        categories=measured_figures(load.categories),
        worst_category=worst[0] if worst else None,
        same_output=_outputs(load.sameness),
        speedup_by_round={str(number): rounded(speedup) for number, speedup in round_speedups(load).items()},
    )


def _load_point(point: LoadPoint) -> measured.LoadPoint:
    return measured.LoadPoint.model_validate(plain_mapping(asdict(point)))


def _outputs(same: Sameness | None) -> Outputs | None:
    return None if same is None else Outputs.model_validate(plain_mapping(asdict(same)))


def _curve(findings: Findings, curve: KCurve) -> measured.Curve:
    inflection = curve.inflection
    engine_args = next((t.candidate.engine_args for t in findings.trials if t.candidate.args_key == curve.args_key), {})
    return measured.Curve(
        draft=curve.draft_name,
        method=curve.method,
        engine_args=dict(engine_args),
        load_point=curve.load_point.label,
        best_k=curve.best_k,
        inflection=measured.Inflection(
            k=inflection.k,
            not_excluded=inflection.candidates,
            threshold=inflection.threshold,
            note=inflection.note,
        ),
        points=tuple(
            measured.CurvePoint(
                k=point.k,
                speedup=measured_figure(point.speedup),
                tpot_s=measured_figure(point.tpot),
                mean_acceptance_length=measured_figure(point.acceptance_length),
                marginal_gain=optional_figure(point.marginal_gain),
            )
            for point in curve.points
        ),
    )
