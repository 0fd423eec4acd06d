"""A sweep of the past as plain data: what `tuner history --json` and the service tell."""

from __future__ import annotations

from dataclasses import asdict

from tuner.artifact.model import Answer
from tuner.records import Json
from tuner.registry.history import Past


def past_json(past: Past) -> dict[str, Json]:
    """Return one sweep: when, with what, its answers, and what changed since the one before (None for the first)."""
    config = past.config
    return {
        "stamp": past.entry.stamp,
        "kept_at": past.entry.kept_at.isoformat(),
        "url": past.entry.url,
        "tuner_version": config.tuner_version,
        "engine": config.measured_on.engine.model_dump(mode="json"),
        "devices": list(config.measured_on.devices),
        "verdict": config.verdict.value,
        "answers": [answer_json(answer) for answer in config.answers],
        "changed": None if past.changed is None else [asdict(difference) for difference in past.changed],
    }


def answer_json(answer: Answer) -> dict[str, Json]:
    """Return the answer at one temperature in short."""
    speedup, (draft, k) = answer.measured.expected_speedup, chosen(answer)
    return {
        "temperature": answer.temperature,
        "verdict": answer.verdict.value,
        "draft": draft,
        "k": k,
        "up_to_concurrency": answer.recommended.limit.up_to_concurrency if answer.recommended.limit else None,
        "speedup": speedup.model_dump(mode="json"),
        "mean_acceptance_length": [*acceptance_lengths(answer)],
    }


def chosen(answer: Answer) -> tuple[str | None, int]:
    """Return draft (or method, without a model) and K of the setting that the answer is about; K = 0 for none."""
    limit = answer.recommended.limit
    speculation = limit.speculation if limit else answer.recommended.speculation
    if speculation is None:
        return None, 0
    draft = speculation.draft.rstrip("/").rpartition("/")[2] if speculation.draft else speculation.method
    return draft, speculation.num_speculative_tokens


def acceptance_lengths(answer: Answer) -> list[dict[str, Json]]:
    """Return the mean acceptance length at each load point, tokens per step with the bonus token."""
    loads = ((load.label, load.figures.get("mean_acceptance_length")) for load in answer.measured.load_points)
    return [
        {"load_point": label, "value": figure.value, "low": figure.low, "high": figure.high}
        for label, figure in loads
        if figure is not None and figure.value is not None
    ]
