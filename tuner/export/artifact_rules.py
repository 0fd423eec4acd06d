"""alerts.yaml: Prometheus rules that watch what the acceptance length should keep to."""

from __future__ import annotations

import json

from tuner.analysis.k_schedule import schedule_of
from tuner.artifact.beside import AcceptanceAlert
from tuner.export.plain_yaml import yaml_text
from tuner.records import SCHEDULE, Candidate, Json
from tuner.space.model_refs import resolve_model

RECORDED = "instance:vllm_spec_decode_acceptance_length:ratio_rate{window}"
_BY = "instance, model_name"
_ACCEPTED = "vllm:spec_decode_num_accepted_tokens_total"
_DRAFTS = "vllm:spec_decode_num_drafts_total"
_GENERATED = "vllm:generation_tokens_total"


def alert_rules(alert: AcceptanceAlert, target: str, candidate: Candidate, config: str, baseline: str) -> str:
    """Return the text of a Prometheus rule file for engines that `config` starts.

    candidate: what it starts. Where its K schedule turns speculation off at some batch sizes, no drafts at all is no
    reason for an alert.  baseline: the file without speculation.
    """
    served = resolve_model(target)
    recorded = RECORDED.format(window=alert.window)
    few = f"increase({_of(_DRAFTS, served)}[{alert.window}])"
    enough = f"and on ({_BY}) sum by ({_BY}) ({few}) >= {alert.least_drafts}"
    rules: list[Json] = [
        {
            "record": recorded,
            "expr": f"1 + {_rate(_ACCEPTED, served, alert.window)} / {_rate(_DRAFTS, served, alert.window)}",
        },
        _alert(
            "SpeculationAcceptanceLow",
            f"{_picked(recorded, served)} < {alert.low:g} {enough}",
            "A draft brings {{ $value | humanize }} tokens, less than the "
            + f"{alert.low:g} to {alert.high:g} expected",
            "Speculation brings less than was measured: harder prompts for the draft, or another target, draft or "
            f"engine version. Measure again; {baseline} is the way back.",
            alert.window,
        ),
        _alert(
            "SpeculationAcceptanceHigh",
            f"{_picked(recorded, served)} > {alert.high:g} {enough}",
            "A draft brings {{ $value | humanize }} tokens, more than the "
            + f"{alert.low:g} to {alert.high:g} expected",
            "Easier or repeated prompts, or another engine: a larger K may pay. Measure again.",
            alert.window,
        ),
    ]
    if not _may_be_off(candidate):
        rules.append(
            _alert(
                "SpeculationInactive",
                f"{_rate(_GENERATED, served, alert.window)} > 0 unless {_rate(_DRAFTS, served, alert.window)} > 0",
                "Tokens are generated and none are drafted",
                f"The engine was not started with {config}, or switched speculation off: see its log.",
                alert.window,
            )
        )
    document = {"groups": [{"name": "speculation", "rules": rules}]}
    header = (
        f"# Prometheus rules for engines started with {config}: acceptance length {alert.low:g} to {alert.high:g},\n"
        f"# {alert.why}.\n"
        f"# model_name is what vLLM serves the model as: with --served-model-name, write that name here.\n"
    )
    return header + yaml_text(document)


def _alert(name: str, expr: str, summary: str, description: str, lasting: str) -> Json:
    return {
        "alert": name,
        "expr": expr,
        "for": lasting,
        "labels": {"severity": "warning"},
        "annotations": {"summary": summary, "description": description},
    }


def _rate(metric: str, served: str, window: str) -> str:
    return f"sum by ({_BY}) (rate({_of(metric, served)}[{window}]))"


def _picked(recorded: str, served: str) -> str:
    return _of(recorded, served)


def _of(metric: str, served: str) -> str:
    """Return a selector; a PromQL string in double quotes escapes as JSON does."""
    return f"{metric}{{model_name={json.dumps(served, ensure_ascii=False)}}}"


def _may_be_off(candidate: Candidate) -> bool:
    spec = candidate.speculation
    return spec is not None and SCHEDULE in spec.options and any(k == 0 for _, _, k in schedule_of(candidate))
