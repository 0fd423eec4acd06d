"""best_config.yaml: what to deploy, what it is expected to bring, and what that rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import yaml

from tuner.analysis.metrics import worst_category
from tuner.analysis.rounds import round_speedups
from tuner.export.schedule import deployed, schedule_json, schedule_words
from tuner.export.serve import serve_env, serve_yaml
from tuner.export.surface import by_concurrency_json, crossover_json, traffic_json
from tuner.export.values import figure_json, optional_figure, plain_mapping, plain_value
from tuner.records import (
    ARTIFACT_VERSION,
    Answer,
    Barred,
    Candidate,
    Findings,
    Json,
    KCurve,
    LoadFigures,
    Losslessness,
    Resolution,
)

BEST_CONFIG = "best_config.yaml"
SERVE_ENV = "serve.env"
SERVE_BASELINE = "serve.baseline.yaml"
_STATIC = ".static.yaml"


class _Plain(yaml.SafeDumper):
    """Writes equal values out each time: an alias (&id001) is one more thing that a reader has to know."""

    def ignore_aliases(self, data: object) -> bool:
        return True


@dataclass(frozen=True)
class RunContext:
    """What the artifact says about its run beside the findings.

    target, drafts: as the user wrote them.  fingerprint, measured_on: see tuner.provenance.
    protocol: repeats, warm-up and what was reduced.
    """

    target: str
    env: Mapping[str, str]
    fingerprint: Mapping[str, Json]
    measured_on: Mapping[str, Json]
    protocol: Mapping[str, Json]
    tuner_version: str


def artifact_files(findings: Findings, context: RunContext) -> dict[str, str]:
    """Return file name -> text of everything that deployment may read."""
    first = findings.answers[0]
    files = {
        BEST_CONFIG: best_config_yaml(findings, context),
        SERVE_ENV: serve_env(context.env, "Environment that the engine was measured with."),
        SERVE_BASELINE: serve_yaml(
            context.target,
            first.best.baseline,
            f"The same engine without speculation: the way back.\n{_start(SERVE_BASELINE)}",
        ),
    }
    for answer in findings.answers:
        best = deployed(findings, answer)
        files[serve_name(findings, answer)] = serve_yaml(context.target, best, _about(findings, answer))
        if best != answer.best:
            about = f"The same draft at one K, without the K schedule.\n{_start(static_name(findings, answer))}"
            files[static_name(findings, answer)] = serve_yaml(context.target, answer.best, about)
    return files


def serve_name(findings: Findings, answer: Answer) -> str:
    """Return the file that deploys `answer`: serve.yaml for the first temperature, serve-tX.yaml for others."""
    return "serve.yaml" if answer is findings.answers[0] else f"serve-t{answer.temperature:g}.yaml"


def static_name(findings: Findings, answer: Answer) -> str:
    """Return the file that deploys `answer` at one K, where that other file has a K schedule."""
    return serve_name(findings, answer).removesuffix(".yaml") + _STATIC


def _about(findings: Findings, answer: Answer) -> str:
    return (
        f"Written by tuner from {BEST_CONFIG}: {answer.verdict.value} at temperature {answer.temperature:g}.\n"
        f"{answer.why}\n"
        f"{schedule_words(findings, answer)}"
        f"{_start(serve_name(findings, answer))}"
    )


def _start(config: str) -> str:
    return (
        f"Start: set -a; . ./{SERVE_ENV}; set +a; python -m vllm.entrypoints.openai.api_server --config {config}"
        f"   (or vllm serve --config {config})"
    )


def best_config_yaml(findings: Findings, context: RunContext) -> str:
    """Return the artifact's text."""
    first = findings.answers[0]
    document: dict[str, Json] = {
        "schema_version": ARTIFACT_VERSION,
        "tuner_version": context.tuner_version,
        "target": context.target,
        "verdict": first.verdict.value,
        "why": first.why,
        "finished": findings.finished,
        "objective": {"metric": findings.goal.metric.value, "limits": _limits(findings)},
        "answers": [_answer(findings, answer) for answer in findings.answers],
        "warnings": list(findings.warnings),
        "failed": dict(findings.failed),
        "barred": [_barred(barred) for barred in findings.barred],
        "drift": {name: figure_json(figure) for name, figure in findings.drift.items()},
        "floor": {name: figure_json(figure) for name, figure in findings.floor.items()},
        "protocol": dict(context.protocol),
        "measured_on": dict(context.measured_on),
        "fingerprint": {
            **context.fingerprint,
            "devices": context.measured_on["devices"],
            "tuner_version": context.tuner_version,
        },
    }
    return yaml.dump(document, Dumper=_Plain, sort_keys=False, width=120, allow_unicode=True)


def _answer(findings: Findings, answer: Answer) -> dict[str, Json]:
    return {
        "temperature": answer.temperature,
        "verdict": answer.verdict.value,
        "why": answer.why,
        "recommended": _recommended(findings, answer),
        "engine_lives": answer.lives,
        "expected_speedup": figure_json(answer.objective),
        "expected_speedup_similar_prompts": optional_figure(answer.similar_prompts),
        "speedup_before_selection": optional_figure(answer.screened),
        "resolution": _resolution(answer.resolution),
        "runner_up": answer.runner_up.label if answer.runner_up else None,
        "by_concurrency": by_concurrency_json(answer),
        "crossover": crossover_json(answer),
        "traffic": traffic_json(findings, answer),
        "load_points": [_load(load) for load in answer.loads],
        "curves": [_curve(findings, curve) for curve in answer.curves],
        "schedule": schedule_json(findings, answer),
    }


def _limits(findings: Findings) -> dict[str, Json]:
    """Return the limits on latencies under their names in the space, seconds."""
    return {name: limit for name, limit in asdict(findings.goal).items() if name != "metric" and limit is not None}


def _resolution(resolution: Resolution | None) -> Json:
    return None if resolution is None else plain_mapping(asdict(resolution))


def _barred(barred: Barred) -> dict[str, Json]:
    return {
        "candidate": barred.candidate.label,
        "engine_args": dict(barred.candidate.engine_args),
        "temperature": barred.temperature,
        "kind": barred.bar.kind.value,
        "text": barred.bar.text,
    }


def _recommended(findings: Findings, answer: Answer) -> dict[str, Json]:
    best = deployed(findings, answer)
    return {
        "serve_config": serve_name(findings, answer),
        "static_serve_config": static_name(findings, answer) if best != answer.best else None,
        "speculation": _speculation(best),
        "engine_args": dict(answer.best.engine_args),
        "up_to_concurrency": answer.up_to,
        "slower_at_concurrency": answer.below,
    }


def _speculation(candidate: Candidate) -> Json:
    spec = candidate.speculation
    if spec is None:
        return None
    return {
        "method": spec.method,
        "draft": spec.draft,
        "num_speculative_tokens": spec.num_speculative_tokens,
        "options": dict(spec.options),
    }


def _load(load: LoadFigures) -> dict[str, Json]:
    worst = worst_category(load)
    return {
        "label": load.load_point.label,
        "load_point": plain_mapping(asdict(load.load_point)),
        "figures": {name: figure_json(figure) for name, figure in load.figures.items()},
        "acceptance_by_position": [figure_json(figure) for figure in load.acceptance_by_position],
        "conditional_acceptance_by_position": [figure_json(figure) for figure in load.conditional_by_position],
        "categories": {name: figure_json(figure) for name, figure in load.categories.items()},
        "worst_category": worst[0] if worst else None,
        "same_output": _same_output(load.sameness),
        "speedup_by_round": {str(number): plain_value(speedup) for number, speedup in round_speedups(load).items()},
    }


def _same_output(same: Losslessness | None) -> Json:
    if same is None:
        return None
    return plain_mapping({name: value for name, value in asdict(same).items() if value not in (None, "", ())})


def _curve(findings: Findings, curve: KCurve) -> dict[str, Json]:
    inflection = curve.inflection
    engine_args = next((t.candidate.engine_args for t in findings.trials if t.candidate.args_key == curve.args_key), {})
    return {
        "draft": curve.draft_name,
        "method": curve.method,
        "engine_args": dict(engine_args),
        "load_point": curve.load_point.label,
        "best_k": curve.best_k,
        "inflection": {
            "k": inflection.k,
            "not_excluded": list(inflection.candidates),
            "threshold": inflection.threshold,
            "note": inflection.note,
        },
        "points": [
            {
                "k": point.k,
                "speedup": figure_json(point.speedup),
                "tpot_s": figure_json(point.tpot),
                "mean_acceptance_length": figure_json(point.acceptance_length),
                "marginal_gain": figure_json(point.marginal_gain) if point.marginal_gain else None,
            }
            for point in curve.points
        ],
    }
