"""Answers at temperature 0 against a baseline's, by token id: which are equal, and where the others part."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tuner.records import REFERENCE_REPEAT, Divergence, LoadPoint, RequestSample, Trial

NEAR_TIE_NATS = 0.25
"""A gap up to which rounding can exchange two tokens.

bfloat16 has 8 significant bits: logits from 16 to 32, where the largest ones of a language model usually lie, come in
steps of 2^-3 = 0.125. Both logits are rounded, each by up to a step between two ways of computing the same sum, so two
steps are within reach. A limit below one step would admit exact ties only.
"""
CLEAR_NATS = 1.0
"""A gap that rounding does not bridge: eight such steps."""
_PRECISION_NATS = 1e-4  # Gaps are differences of float32 log probabilities.


@dataclass(frozen=True)
class Answer:
    """Token ids of one answer.

    cut: it ended at its limit, not by itself.  gaps: of the reference pass, per token, nats; else empty.
    """

    token_ids: tuple[int, ...]
    cut: bool
    gaps: tuple[float, ...] = ()


@dataclass(frozen=True)
class Arm:
    """Answers compared with a baseline's: how many of them by prompt, and where the unequal ones part from it."""

    counts: Mapping[str, int]
    unequal: tuple[Divergence, ...]

    @property
    def compared(self) -> int:
        """How many answers."""
        return sum(self.counts.values())

    @property
    def equal(self) -> int:
        """How many of them equal one of the baseline's."""
        return self.compared - len(self.unequal)

    @property
    def unexplained(self) -> tuple[Divergence, ...]:
        """Those that part where there is no near-tie, or where the gap is not known."""
        return tuple(d for d in self.unequal if d.gap is None or d.gap > NEAR_TIE_NATS + _PRECISION_NATS)

    @property
    def clear(self) -> tuple[Divergence, ...]:
        """Those that part where the baseline clearly prefers its own token."""
        return tuple(d for d in self.unequal if d.gap is not None and d.gap > CLEAR_NATS)

    @property
    def unexplained_prompts(self) -> float:
        """Sum over prompts of the share of answers that are unexplained."""
        return math.fsum(1 / self.counts[divergence.prompt_id] for divergence in self.unexplained)


def reference_groups(load_points: Sequence[LoadPoint]) -> tuple[tuple[LoadPoint, ...], ...]:
    """Return the load points at temperature 0 in groups that differ in nothing that decides an answer.

    One reference pass serves a group. In each the lowest concurrency comes first.
    """
    groups: dict[LoadPoint, list[LoadPoint]] = {}
    for load_point in load_points:
        if load_point.sampling.temperature == 0.0:
            groups.setdefault(replace(load_point, concurrency=1, weight=1.0), []).append(load_point)
    return tuple(tuple(sorted(group, key=lambda load: load.concurrency)) for group in groups.values())


def timed_answers(trials: Iterable[Trial], load_point: LoadPoint) -> dict[str, tuple[Answer, ...]]:
    """Return the answers with token ids by prompt, from valid repeats at a load point."""
    found: dict[str, list[Answer]] = {}
    for trial in trials:
        valid = {
            repeat.index
            for load in trial.record.loads
            if load.load_point.key == load_point.key
            for repeat in load.repeats
            if not repeat.problems
        }
        for sample in trial.samples:
            if sample.load_point == load_point.key and sample.repeat in valid and sample.ok and sample.token_ids:
                found.setdefault(sample.prompt_id, []).append(_answer(sample))
    return {prompt: tuple(answers) for prompt, answers in found.items()}


def reference_answers(lives: Iterable[Trial], load_point: LoadPoint) -> dict[str, Answer]:
    """Return the reference pass by prompt, from the first life that has one for this load point's group."""
    for life in lives:
        groups = reference_groups([load.load_point for load in life.record.loads])
        keys = {load.key for group in groups if load_point.key in {x.key for x in group} for load in group}
        found = {
            sample.prompt_id: _answer(sample)
            for sample in life.samples
            if sample.repeat == REFERENCE_REPEAT and sample.load_point in keys and sample.ok and sample.top2_gaps
        }
        if found:
            return found
    return {}


def _answer(sample: RequestSample) -> Answer:
    return Answer(sample.token_ids, sample.finish_reason == "length", sample.top2_gaps)


def against_baseline(
    answers: Mapping[str, Sequence[Answer]],
    baseline: Mapping[str, Sequence[Answer]],
    references: Mapping[str, Answer],
) -> Arm:
    """Compare each answer with all that the baseline gave to the same prompt."""
    return _arm(
        ((prompt, answer, baseline.get(prompt, ())) for prompt in answers for answer in answers[prompt]), references
    )


def against_itself(baseline: Mapping[str, Sequence[Answer]], references: Mapping[str, Answer]) -> Arm:
    """Compare each answer of the baseline with all its other answers to the same prompt (leave one out)."""
    return _arm(
        (
            (prompt, answer, [*answers[:i], *answers[i + 1 :]])
            for prompt, answers in baseline.items()
            for i, answer in enumerate(answers)
        ),
        references,
    )


def _arm(comparisons: Iterable[tuple[str, Answer, Sequence[Answer]]], references: Mapping[str, Answer]) -> Arm:
    """Compare each answer with those given for it and the reference pass's; one without any is left out."""
    counts: dict[str, int] = {}
    unequal: list[Divergence] = []
    for prompt, answer, given in comparisons:
        reference = references.get(prompt)
        others = [*given, *([reference] if reference else [])]
        if not others:
            continue
        counts[prompt] = counts.get(prompt, 0) + 1
        position = _parting(answer, others)
        if position is not None:
            unequal.append(Divergence(prompt, position, _gap(answer, position, reference)))
    return Arm(counts, tuple(unequal))


def _parting(answer: Answer, others: Iterable[Answer]) -> int | None:
    """Return the last position at which the answer parts from one of the others, None where it is equal to one.

    Looks no further than the first equal one: with many devices a prompt has hundreds of others.
    """
    last = 0
    for other in others:
        at = first_difference(answer.token_ids, other.token_ids, answer.cut and other.cut)
        if at is None:
            return None
        last = max(last, at)
    return last


def first_difference(answer: tuple[int, ...], other: tuple[int, ...], both_cut: bool) -> int | None:
    """Return the first position at which two answers differ, None where they are equal.

    both_cut: both ended at their limit. Then the shorter one says nothing about what would have followed, and they are
    compared up to its length; otherwise an answer that ends earlier is another answer.
    """
    length = min(len(answer), len(other))
    if answer[:length] != other[:length]:  # most are equal, and this is the quickest way to know
        return next(position for position, (one, its) in enumerate(zip(answer, other, strict=False)) if one != its)
    return None if both_cut or len(answer) == len(other) else length


def _gap(answer: Answer, position: int, reference: Answer | None) -> float | None:
    """Return the gap at a position; unknown where the reference pass had other tokens before it."""
    if reference is None or position >= len(reference.gaps):
        return None
    if reference.token_ids[:position] != answer.token_ids[:position]:
        return None
    return reference.gaps[position]
