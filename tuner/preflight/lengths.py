"""Judges prompt lengths against the context. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from tuner.errors import EvalSetError
from tuner.records import EvalSet, LoadPoint, Prompt


@dataclass(frozen=True)
class PromptLengths:
    """Lengths of the prompts of one eval set that load points send.

    unit: "tokens", or "words" for the simulated engine.  max_model_len: tokens, the smallest among the candidates; None
    if no limit is known.
    """

    prompts: int
    shortest: int
    median: float
    longest: int
    unit: str
    max_model_len: int | None


def prompts_in_use(eval_sets: Mapping[str, EvalSet], load_points: Sequence[LoadPoint]) -> dict[str, tuple[Prompt, ...]]:
    """Return, by eval set, the prompts that at least one load point sends.

    Raises EvalSetError for an eval set that was not loaded or has no prompt.
    """
    in_use: dict[str, tuple[Prompt, ...]] = {}
    for point in load_points:
        if point.eval_set not in eval_sets:
            raise EvalSetError(f"load point {point.label!r}: no eval set {point.eval_set!r}", "Check its name.")
        prompts = eval_sets[point.eval_set].prompts[: point.num_prompts]
        if not prompts:
            raise EvalSetError(f"eval set {point.eval_set!r} is empty", "Give an eval set with prompts.")
        in_use[point.eval_set] = max(in_use.get(point.eval_set, ()), prompts, key=len)
    return in_use


def summarise(counts: Sequence[int], unit: str, max_model_len: int | None) -> PromptLengths:
    """Return the summary of at least one length."""
    return PromptLengths(len(counts), min(counts), float(median(counts)), max(counts), unit, max_model_len)


def check_fit(point: LoadPoint, prompts: Sequence[Prompt], counts: Sequence[int], limit: int, unit: str) -> None:
    """Raise EvalSetError if a prompt and its answer cannot fit `limit` tokens together.

    prompts, counts: of the point's eval set from its first prompt on.
    """
    sent = list(zip(prompts, counts, strict=True))[: point.num_prompts]
    needs = [(count + point.answer_limit(prompt), count, prompt) for prompt, count in sent]
    too_long = [need for need in needs if need[0] > limit]
    if not too_long:
        return
    need, count, prompt = max(too_long, key=lambda item: item[0])
    others = f" ({len(too_long) - 1} more prompt(s) do not fit either)" if len(too_long) > 1 else ""
    raise EvalSetError(
        f"prompt {prompt.id!r} of eval set {point.eval_set!r} has {count} {unit}; with max_tokens {need - count} it"
        f" does not fit max_model_len {limit}{others}",
        f"Raise max_model_len to {need}, lower max_tokens, or leave the prompt out.",
    )
