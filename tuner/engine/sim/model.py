"""The simulated engine's cost and acceptance, as pure functions: what the truth is.

A step of a batch takes the draft's passes and one pass of the target over batch + proposed tokens; every request in
the batch then gets its accepted tokens and one more. A benchmark that knows the truth uses these functions in
process; the server uses the same ones.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Protocol, TypeVar, cast

from tuner.engine.sim.draws import generator
from tuner.engine.sim.profile import DraftModel, Profile, PromptKind, TargetModel
from tuner.errors import EngineNotFound
from tuner.records import Speculation

SCHEDULE = "num_speculative_tokens_per_batch_size"
ORDINARY = PromptKind(name="ordinary")


class _Matched(Protocol):
    @property
    def match(self) -> str: ...


M = TypeVar("M", bound=_Matched)


def name_matches(pattern: str, name: str) -> bool:
    """Whether a glob fits a model's name: the whole name if it holds a slash, else the last part of the path."""
    return fnmatchcase(name if "/" in pattern else name.rstrip("/").rsplit("/", 1)[-1], pattern)


def _first_match(entries: Iterable[M], name: str) -> M | None:
    return next((entry for entry in entries if name_matches(entry.match, name)), None)


def target_model(profile: Profile, target: str) -> TargetModel:
    """Return the profile's entry for a target. Raises EngineNotFound if there is none."""
    found = _first_match(profile.targets, target)
    if found is None:
        raise EngineNotFound(f"the profile has no target for {target!r}", "Add one with match: '*'.")
    return found


def draft_model(profile: Profile, speculation: Speculation) -> DraftModel:
    """Return the profile's entry for a draft, by model name, or by method where there is no model.

    Raises EngineNotFound if there is none.
    """
    name = speculation.draft or speculation.method
    found = _first_match(profile.drafts, name)
    if found is None:
        raise EngineNotFound(f"the profile has no draft for {name!r}", "Add one with match: '*'.")
    return found


def effective_k(speculation: Speculation | None, batch: int) -> int:
    """Return the tokens proposed per step at a batch size: K, or what the K schedule says (0 is off).

    Batch sizes in no range of the schedule take the range before them, as in vLLM.
    """
    if speculation is None:
        return 0
    k = speculation.num_speculative_tokens
    schedule = cast("Sequence[Sequence[int]] | None", speculation.options.get(SCHEDULE))
    for start, _end, scheduled in reversed(schedule or ()):
        if batch >= start:
            return min(scheduled, k)
    return k


def forward_s(target: TargetModel, tokens: int) -> float:
    """Return the time of one pass of the target over `tokens` tokens (1 or more), seconds, before time_scale."""
    slot = bisect.bisect_left(target.pad_to, tokens)
    n = target.pad_to[slot] if slot < len(target.pad_to) else tokens
    bend = target.bend_tokens or n
    return target.step_s + target.token_s * (min(n, bend) - 1) + target.bent_token_s * max(0, n - bend)


def propose_s(draft: DraftModel, k: int, batch: int) -> float:
    """Return the time to propose k tokens for each of `batch` requests, seconds, before time_scale."""
    passes = min(k, 1) if draft.parallel else k
    return passes * (draft.step_s + draft.token_s * max(0, batch - 1)) + (draft.overhead_s if k else 0.0)


def step_time_s(
    profile: Profile,
    speculation: Speculation | None,
    batch: int,
    proposing: int | None = None,
    target: str = "target",
) -> float:
    """Return the time of one step of `batch` requests without noise, seconds.

    proposing: how many of them have a proposal (None: all); matters for n-gram.
    """
    entry = target_model(profile, target)
    if speculation is None:
        return profile.time_scale * forward_s(entry, batch)
    k = effective_k(speculation, batch)
    drafted = k * (batch if proposing is None else proposing)
    time_s = forward_s(entry, batch + drafted) + entry.speculative_overhead_s
    if drafted:
        time_s += propose_s(draft_model(profile, speculation), k, batch)
    if SCHEDULE in speculation.options:
        time_s += entry.schedule_overhead_s
    return profile.time_scale * time_s


def prefill_s(profile: Profile, prompt_tokens: int) -> float:
    """Return the time from arrival to the first token in an idle engine, seconds."""
    return profile.time_scale * (profile.prefill.base_s + profile.prefill.token_s * prompt_tokens)


def prompt_kind(profile: Profile, prompt: str) -> PromptKind:
    """Return the category that a prompt's text falls into."""
    for kind in profile.prompt_kinds:
        if any(part in prompt for part in kind.contains):
            return kind
    draw = generator(profile.seed, "kind", prompt).random()
    for kind in profile.prompt_kinds:
        if not kind.contains:
            draw -= kind.share
            if draw < 0:
                return kind
    return ORDINARY


def temperature_factor(draft: DraftModel, temperature: float) -> float:
    """Return the factor on acceptance at a temperature, linear between the profile's points, flat beyond them."""
    points = sorted(draft.by_temperature.items())
    if not points:
        return 1.0
    slot = bisect.bisect_left(points, (temperature, -math.inf))
    if slot == 0:
        return points[0][1]
    if slot == len(points):
        return points[-1][1]
    (t0, f0), (t1, f1) = points[slot - 1], points[slot]
    return f0 + (f1 - f0) * (temperature - t0) / (t1 - t0)


def _shifted(probability: float, shift: float) -> float:
    if probability <= 0.0 or probability >= 1.0:
        return min(1.0, max(0.0, probability))
    return 1.0 / (1.0 + math.exp(-shift) * (1.0 - probability) / probability)


def acceptance(
    profile: Profile, draft: DraftModel, k: int, temperature: float = 0.0, prompt: str | None = None
) -> tuple[float, ...]:
    """Return the chance that each of k positions is accepted given that the ones before it were.

    prompt: its own difficulty counts; None for a prompt of ordinary difficulty.
    """
    shift = 0.0
    if prompt is not None:
        spread = draft.prompt_sd * generator(profile.seed, "difficulty", prompt).gauss(0.0, 1.0)
        shift = spread + prompt_kind(profile, prompt).logit_shift
    factor = temperature_factor(draft, temperature)
    given = draft.acceptance[:k] + draft.acceptance[-1:] * (k - len(draft.acceptance))
    return tuple(_shifted(factor * p, shift) for p in given)


def coverage(profile: Profile, draft: DraftModel, prompt: str | None = None) -> float:
    """Return the share of a prompt's steps that have a proposal."""
    kind = ORDINARY if prompt is None else prompt_kind(profile, prompt)
    return min(1.0, draft.coverage * kind.coverage_factor)


def tokens_per_step(conditional: Sequence[float], covered: float = 1.0) -> tuple[float, ...]:
    """Return the chances of a step giving 1, 2, ... K + 1 tokens.

    conditional: as from `acceptance`. covered: share of steps with a proposal; the others give one token.
    """
    chances, reached = [], 1.0
    for p in conditional:
        chances.append(covered * reached * (1.0 - p))
        reached *= p
    chances.append(covered * reached)
    chances[0] += 1.0 - covered
    return tuple(chances)


def mean_tokens(chances: Sequence[float]) -> float:
    """Return the expected tokens per step."""
    return sum(n * chance for n, chance in enumerate(chances, start=1))


def expected_steps(chances: Sequence[float], tokens: int) -> float:
    """Return the expected number of steps until at least `tokens` tokens are there.

    Renewal equation: steps(n) = 1 + sum over j of chance(j) steps(n - j), steps(n <= 0) = 0.
    """
    steps = [0.0]
    for n in range(1, tokens + 1):
        steps.append(1.0 + sum(p * steps[n - j] for j, p in enumerate(chances, start=1) if j < n))
    return steps[tokens]


def true_tpot_s(
    profile: Profile,
    speculation: Speculation | None,
    concurrency: int,
    *,
    temperature: float = 0.0,
    prompt: str | None = None,
    answer_tokens: int | None = None,
    target: str = "target",
) -> float:
    """Return the time per output token after the first in a batch that stays at `concurrency`, seconds.

    Without noise (its median) and without prefills that stall the batch. prompt: all requests are as hard as this one;
    None for ordinary difficulty. answer_tokens: exact for answers of this length (the last step may give more tokens
    than are wanted); None for long answers. n-gram: the mean over how many of the batch have a proposal.
    """
    k = effective_k(speculation, concurrency)
    if speculation is None or k == 0:
        return step_time_s(profile, speculation, concurrency, target=target)
    draft = draft_model(profile, speculation)
    covered = coverage(profile, draft, prompt)
    chances = tokens_per_step(acceptance(profile, draft, k, temperature, prompt), covered)
    time_s = sum(
        _binomial(concurrency, n, covered) * step_time_s(profile, speculation, concurrency, n, target)
        for n in range(concurrency + 1)
    )
    if answer_tokens is None:
        return time_s / mean_tokens(chances)
    return time_s * expected_steps(chances, answer_tokens - 1) / (answer_tokens - 1)


def _binomial(n: int, hits: int, p: float) -> float:
    return math.comb(n, hits) * p**hits * (1.0 - p) ** (n - hits)
