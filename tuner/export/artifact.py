"""best_config.yaml and the files beside it: what to deploy, what it is expected to bring, and what that rests on."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from tuner.artifact import BestConfig, dump_best_config, model
from tuner.artifact.beside import ChosenBy
from tuner.artifact.model import BEST_CONFIG, SCHEMA_VERSION
from tuner.export.artifact_alert import acceptance_alert
from tuner.export.artifact_beside import capacity, drags_along, lives_of, lossless, validity
from tuner.export.artifact_measured import measurements
from tuner.export.artifact_recommended import (
    SERVE_BASELINE,
    files_of,
    limit_advice,
    recommended,
    served,
    speculating,
)
from tuner.export.artifact_requests import request_features
from tuner.export.artifact_rules import alert_rules
from tuner.export.artifact_text import Cleaner
from tuner.export.schedule import schedule_words
from tuner.export.serve import serve_env, serve_yaml
from tuner.export.values import measured_figures, plain_mapping
from tuner.records import Answer, Candidate, Findings, Json, Trial, Verdict

SERVE_ENV = "serve.env"
_WRITTEN = re.compile(r"(?:serve|alerts)(?:-t[\d.e+-]+?)?(?:\.(?:static|speculate|baseline))?\.yaml")


@dataclass(frozen=True)
class RunContext:
    """What the artifact says about its run beside the findings.

    target: as the user wrote it.  env: variables that the engine was measured with.  fingerprint: see tuner.provenance.
    protocol: repeats, warm-up and what was reduced.  trials: those that the findings rest on.  target_revision,
    draft_revisions: of the hub, by the draft's name.
    """

    target: str
    env: Mapping[str, str]
    fingerprint: Mapping[str, Json]
    measured_on: model.MeasuredOn
    protocol: Mapping[str, Json]
    tuner_version: str
    trials: Sequence[Trial] = ()
    target_revision: str | None = None
    draft_revisions: Mapping[str, str] = field(default_factory=dict)


def artifact_files(findings: Findings, context: RunContext) -> dict[str, str]:
    """Return file name -> text of everything that deployment may read."""
    config = best_config(findings, context)
    files = {
        BEST_CONFIG: dump_best_config(config),
        SERVE_ENV: serve_env(context.env, "Environment that the engine was measured with."),
    }
    cleaner = _cleaner(findings, context)
    for answer, known in zip(findings.answers, config.answers, strict=True):
        files |= _serve_files(findings, answer, context.target, cleaner)
        candidate = speculating(findings, answer)
        if known.alert is not None and candidate is not None:
            starts = known.recommended.serve_config
            if known.recommended.speculation is None and known.recommended.limit is not None:
                starts = known.recommended.limit.serve_config
            files[known.alert.rules_file] = alert_rules(
                known.alert, context.target, candidate, starts, known.recommended.baseline_serve_config
            )
    return files


def may_be_written(name: str) -> bool:
    """Whether artifact_files names some file so: where it does not now, such a file is of an earlier answer."""
    return _WRITTEN.fullmatch(name) is not None


def _serve_files(findings: Findings, answer: Answer, target: str, cleaner: Cleaner) -> dict[str, str]:
    names = files_of(findings, answer)
    best, chosen_by = served(findings, answer)
    files = {
        names.baseline: _serve(
            target, answer.best.baseline, "The same engine without speculation: the way back.", names.baseline
        ),
        names.serve: _serve(target, best, cleaner.text(_about(findings, answer, best, chosen_by)), names.serve),
    }
    if chosen_by is ChosenBy.SCHEDULE:
        about = "The same draft at one K, without the K schedule."
        files[names.static] = _serve(target, answer.best, about, names.static)
    if answer.verdict is Verdict.SPECULATE_BELOW:
        about = "\n".join((f"What pays up to concurrency {answer.up_to}.", *limit_advice(findings, answer)))
        files[names.speculate] = _serve(target, answer.best, about, names.speculate)
    return files


def _serve(target: str, candidate: Candidate, about: str, name: str) -> str:
    start = (
        f"Start, with the Python that has vLLM: set -a; . ./{SERVE_ENV}; set +a; "
        f"python -m vllm.entrypoints.openai.api_server --config {name}   (or vllm serve --config {name})"
    )
    return serve_yaml(target, candidate, f"{about}\n{start}")


def _about(findings: Findings, answer: Answer, best: Candidate, chosen_by: ChosenBy) -> str:
    lines = [
        f"Written by tuner from {BEST_CONFIG}: {answer.verdict.value} at temperature {answer.temperature:g}.",
        answer.why,
    ]
    if chosen_by is ChosenBy.TRAFFIC:
        lines.append(f"Over the traffic as a whole, {best.label} is the best single setting: this file starts it.")
    lines += [line for line in schedule_words(findings, answer).splitlines() if chosen_by is ChosenBy.SCHEDULE]
    return "\n".join((*lines, *limit_advice(findings, answer)))


def best_config(findings: Findings, context: RunContext) -> BestConfig:
    """Return the artifact, its texts without what belongs to the run alone."""
    whole = _whole(findings, context).model_dump(mode="json")
    return BestConfig.model_validate(_cleaner(findings, context).document(whole))


def _whole(findings: Findings, context: RunContext) -> BestConfig:
    first = findings.answers[0]
    return BestConfig(
        schema_version=SCHEMA_VERSION,
        tuner_version=context.tuner_version,
        target=context.target,
        verdict=first.verdict,
        why=first.why,
        finished=findings.finished,
        objective=model.Objective(metric=findings.goal.metric, limits=_limits(findings)),
        environment=dict(context.env),
        identity=_identity(findings, context),
        answers=tuple(_answer(findings, answer, context) for answer in findings.answers),
        diagnoses=tuple(model.Diagnosis.model_validate(asdict(found)) for found in findings.diagnoses),
        changed_settings=tuple(
            model.ChangedSettings(candidates=one.candidates, lines=one.lines, everywhere=one.everywhere)
            for one in findings.changed_settings
        ),
        warnings=findings.warnings,
        failed=_failed(findings, context),
        barred=tuple(
            model.Barred(
                candidate=barred.candidate.label,
                engine_args=dict(barred.candidate.engine_args),
                temperature=barred.temperature,
                kind=barred.bar.kind.value,
                text=barred.bar.text,
            )
            for barred in findings.barred
        ),
        drift=measured_figures(findings.drift),
        floor=measured_figures(findings.floor),
        protocol=plain_mapping(context.protocol),
        measured_on=context.measured_on,
        fingerprint={
            **context.fingerprint,
            "devices": list(context.measured_on.devices),
            "tuner_version": context.tuner_version,
        },
    )


def _answer(findings: Findings, answer: Answer, context: RunContext) -> model.Answer:
    candidate = speculating(findings, answer)
    lives = lives_of(context.trials, answer, candidate)
    version = context.measured_on.engine.version
    return model.Answer(
        temperature=answer.temperature,
        verdict=answer.verdict,
        why=answer.why,
        recommended=recommended(findings, answer),
        validity=validity(answer, lives),
        capacity=capacity(lives),
        lossless=lossless(findings, answer, candidate),
        drags_along=drags_along(lives, version),
        request_features=request_features(candidate.speculation if candidate else None, version),
        alert=acceptance_alert(lives, files_of(findings, answer).alerts),
        measured=measurements(findings, answer),
    )


def _limits(findings: Findings) -> dict[str, float]:
    """Return the limits on latencies under their names in the space, seconds."""
    return {name: limit for name, limit in asdict(findings.goal).items() if name != "metric" and limit is not None}


def _cleaner(findings: Findings, context: RunContext) -> Cleaner:
    names = {trial.record.name: trial.record.label for trial in context.trials}
    drafts = [t.candidate.speculation.draft for t in findings.trials if t.candidate.speculation]
    eval_sets = [load.load_point.eval_set for trial in findings.trials for load in trial.loads]
    return Cleaner(names, tuple(dict.fromkeys((context.target, *filter(None, drafts), *eval_sets))))


def _failed(findings: Findings, context: RunContext) -> tuple[model.Failed, ...]:
    records = {trial.record.name: trial.record for trial in context.trials}
    return tuple(
        model.Failed(
            candidate=record.label,
            role=record.role.value,
            why=why,
            kind=record.failure.kind.value if record.failure else None,
            code=(record.failure.code or None) if record.failure else None,
        )
        for name, why in findings.failed.items()
        if (record := records.get(name))
    )


def _identity(findings: Findings, context: RunContext) -> model.Identity:
    """Return which models these were: from the fingerprint, with the names that the user gave."""
    known: Mapping[str, Any] = context.fingerprint
    specs = [trial.candidate.speculation for trial in findings.trials if trial.candidate.speculation]
    refs = {spec.draft_name: spec.draft for spec in specs if spec.draft}
    hashes = {**{name: {} for name in refs}, **known.get("drafts", {})}
    revisions = context.draft_revisions
    return model.Identity(
        target=_model(context.target, known.get("target", {}), context.target_revision),
        drafts={name: _model(refs.get(name, name), hashes[name], revisions.get(name)) for name in sorted(hashes)},
    )


def _model(ref: str, known: Mapping[str, Any], revision: str | None) -> model.ModelIdentity:
    kept = {name: value for name, value in known.items() if name in model.ModelIdentity.model_fields}
    return model.ModelIdentity.model_validate({"hash": None, "of": None, **kept, "id": ref, "revision": revision})


__all__ = [
    "BEST_CONFIG",
    "SERVE_BASELINE",
    "SERVE_ENV",
    "RunContext",
    "artifact_files",
    "best_config",
    "may_be_written",
]
