"""Tokens per step at every K up to the one that ran, told from one trial: which estimator its records allow."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from tuner.analysis.growth import (
    Places,
    Steps,
    depends_on_place,
    expected_steps,
    matches,
    places,
    reach,
    replayed_steps,
    unknown_match_rates,
)
from tuner.analysis.life import LoadView, load_view
from tuner.analysis.statistics import median
from tuner.records import Counters, Growth, GrowthSource, LoadPoint, Repeat, RequestSample, Trial

TOLERANCE = 0.005
"""Share of a repeat's drafts by which its chunks may differ from the engine's counters and still be single steps."""
FULL_PROPOSALS = 0.99
"""Share of K x drafts that a chain drafter must have proposed: a shorter proposal's end is no rejection."""
PARTIAL_COVERAGE = frozenset({"ngram", "ngram_gpu"})
TOKEN_BY_TOKEN = frozenset({"strict", "probabilistic", "standard", "block"})

StepsAt = Callable[[str, Steps, int], float]
"""From prompt, answer and K: the expected steps of that answer at that K."""


@dataclass(frozen=True)
class _Seen:
    """The answers whose single steps are visible, by prompt.  note: where they were seen, if not at the load point."""

    answers: Mapping[str, Sequence[Steps]]
    note: str = ""


def growth(trial: Trial, load: LoadPoint, *, chain: bool, k: int) -> Growth:
    """Return tokens per step at K = 1 ... k at `load`, told from a trial that ran at K = k.

    For a prompt it is (completion tokens - 1) / decode steps, its last step counted as a whole, so that mean log
    TPOT(K) = log t(K) - logs[K-1] with one step time t; per prompt the median over its requests, as for TPOT.
    chain: whether a draft token never depends on how many follow (draft_model, eagle, eagle3, mtp).

    The estimator is the surest that the records allow (see GrowthSource):
    REPLAY at temperature 0, where each stream chunk is one step, as the engine's counters confirm, and a token's
    acceptance does not depend on its place in the step; PROMPTS where chunks are steps, by the chance of each prompt
    that a step accepts at least i tokens; POOLED by that chance over all prompts, A_i/D, times coverage D/S where
    not every step has a proposal (n-gram). Chunks of another concurrency with the same requests serve as well:
    acceptance does not depend on who else is in the batch. NONE, with a note, where K = 1 ... k - 1 do not follow.
    """
    spec, view = trial.record.candidate.speculation, load_view(trial, load.key)
    if spec is None or k < 1:
        return Growth()
    if view is None or not view.repeats:
        return Growth(note="nothing was measured")
    counters = [repeat.counters for repeat in view.repeats]
    if not chain:
        if spec.method in PARTIAL_COVERAGE:
            return _pooled(view, counters, k, "n-gram: by coverage and acceptance over all prompts")
        return Growth(note=f"with {spec.method} acceptance at a smaller K does not follow from a larger one")
    if missing := _missing_proposals(counters, k):
        return Growth(note=missing)
    seen = _visible(trial, load, k)
    if seen is None:
        return _pooled(view, counters, k, "stream chunks are not single steps; underestimates mixtures of prompts")
    by_prompt = {prompt: places(set(answers), k) for prompt, answers in seen.answers.items()}
    doubt = _doubt_about_replay(load, spec.options.get("rejection_sample_method", "standard"), by_prompt)
    if doubt:
        everyone = places((steps for answers in seen.answers.values() for steps in answers), k)
        return _by_prompt(seen, k, everyone, doubt)
    return _replayed(seen, by_prompt, k)


def visible_steps(trial: Trial, load: LoadPoint, k: int) -> Mapping[str, Sequence[Steps]]:
    """Return the tokens of each decode step of each answer, by prompt; {} where stream chunks are not single steps."""
    seen = _visible(trial, load, k)
    return seen.answers if seen else {}


# --- estimators -------------------------------------------------------------------------------------------------------


def _replayed(seen: _Seen, by_prompt: Mapping[str, Places], k: int) -> Growth:
    unknown = unknown_match_rates(by_prompt)

    def steps_at(prompt: str, steps: Steps, smaller: int) -> float:
        return replayed_steps(matches(steps, k), smaller, unknown[prompt])

    return Growth(_logs(seen.answers, k, steps_at), GrowthSource.REPLAY, len(seen.answers), seen.note)


def _by_prompt(seen: _Seen, k: int, everyone: Places, doubt: str) -> Growth:
    reached = {prompt: reach(places(answers, k), everyone) for prompt, answers in seen.answers.items()}

    @cache
    def expected(prompt: str, tokens: int, smaller: int) -> float:
        return expected_steps(reached[prompt][:smaller], tokens)

    def steps_at(prompt: str, steps: Steps, smaller: int) -> float:
        return expected(prompt, sum(steps), smaller)

    note = "; ".join(part for part in (doubt, seen.note) if part)
    return Growth(_logs(seen.answers, k, steps_at), GrowthSource.PROMPTS, len(seen.answers), note)


def _pooled(view: LoadView, counters: Sequence[Counters], k: int, note: str) -> Growth:
    drafts = _sum(c.drafts for c in counters)
    steps = _sum(c.decode_steps for c in counters)
    accepted = [_sum(_at(c, i) for c in counters) for i in range(k)]
    if not drafts or any(count is None for count in accepted):
        return Growth(note="the engine counted no drafts")
    covered = min(1.0, drafts / steps) if steps else 1.0
    reached = [covered * (count or 0) / drafts for count in accepted]

    @cache
    def expected(tokens: int, smaller: int) -> float:
        return expected_steps(reached[:smaller], tokens)

    def steps_at(_prompt: str, one: Steps, smaller: int) -> float:
        return expected(sum(one), smaller)

    lengths: dict[str, list[Steps]] = {}
    for sample in view.samples:
        if (sample.completion_tokens or 0) > 1:
            lengths.setdefault(sample.prompt_id, []).append(((sample.completion_tokens or 0) - 1,))
    if not lengths:
        return Growth(note="no answer has a second token")
    return Growth(_logs(lengths, k, steps_at), GrowthSource.POOLED, len(lengths), note)


def _logs(answers: Mapping[str, Sequence[Steps]], k: int, steps_at: StepsAt) -> tuple[float, ...]:
    """Return the mean over prompts of log(tokens per step) at 1 ... k; per prompt the median over answers."""
    sums = [0.0] * k
    for prompt, of_prompt in answers.items():
        for smaller in range(1, k + 1):
            known = {steps: steps_at(prompt, steps, smaller) / sum(steps) for steps in set(of_prompt)}
            sums[smaller - 1] -= math.log(median([known[steps] for steps in of_prompt]))
    return tuple(value / len(answers) for value in sums)


# --- what the records allow -------------------------------------------------------------------------------------------


def _doubt_about_replay(load: LoadPoint, rejection: object, by_prompt: Mapping[str, Places]) -> str:
    if load.sampling.temperature > 0:
        return "above temperature 0 another K gives other answers: by each prompt's acceptance"
    if rejection not in TOKEN_BY_TOKEN:
        return f"{rejection} does not accept token by token: by each prompt's acceptance"
    if depends_on_place(by_prompt):
        return "acceptance depends on the place in the step: by each prompt's acceptance"
    return ""


def _missing_proposals(counters: Sequence[Counters], k: int) -> str:
    drafts, proposed = _sum(c.drafts for c in counters), _sum(c.draft_tokens for c in counters)
    if not drafts or proposed is None:
        return "the engine counted no drafts"
    if proposed < FULL_PROPOSALS * k * drafts:
        return "the engine proposed fewer than K tokens in some steps, and where a proposal ends nothing was rejected"
    return ""


def _visible(trial: Trial, load: LoadPoint, k: int) -> _Seen | None:
    """Return single steps, of the load point itself or of the lowest concurrency that sends the same requests."""
    own = _answers(load_view(trial, load.key), k)
    if own:
        return _Seen(own)
    others = [measured.load_point for measured in trial.record.loads]
    same = [o for o in others if replace(o, concurrency=load.concurrency, weight=load.weight) == load and o != load]
    for other in sorted(same, key=lambda point: point.concurrency):
        if answers := _answers(load_view(trial, other.key), k):
            return _Seen(answers, f"chunks are not single steps here: told from concurrency {other.concurrency}")
    return None


def _answers(view: LoadView | None, k: int) -> dict[str, list[Steps]]:
    """Return the steps of each answer by prompt, from the repeats in which the engine's counters confirm them."""
    found: dict[str, list[Steps]] = {}
    for repeat in view.repeats if view else ():
        samples = [sample for sample in view.samples if sample.repeat == repeat.index] if view else []
        if _confirmed(repeat, samples, k):
            for sample in samples:
                if steps := _steps(sample):
                    found.setdefault(sample.prompt_id, []).append(steps)
    return found


def _steps(sample: RequestSample) -> Steps:
    """Return what came after the first chunk, which is the prefill's one token."""
    return tuple(count for count in sample.chunk_tokens if count)[1:]


def _confirmed(repeat: Repeat, samples: Sequence[RequestSample], k: int) -> bool:
    """Whether each chunk was one step, by the engine's own count of drafts and of runs of at least 1 ... k tokens.

    The engine counts the last run of an answer in full, even where the answer's end cut it off.
    """
    drafts, by_place = repeat.counters.drafts, repeat.counters.accepted_per_pos
    if drafts is None or by_place is None or len(by_place) < k:
        return False
    whole = all(
        sum(s.chunk_tokens) == s.completion_tokens and next(filter(None, s.chunk_tokens), 0) == 1 for s in samples
    )
    answers = [steps for steps in map(_steps, samples) if steps]
    runs = [delivered - 1 for steps in answers for delivered in steps]
    if not whole or not runs or max(runs) > k:
        return False
    slack = TOLERANCE * drafts
    cut = [steps[-1] - 1 for steps in answers]
    for i in range(k):
        least = sum(run > i for run in runs)
        most = least + sum(run <= i for run in cut)
        if not least - slack <= by_place[i] <= most + slack:
            return False
    return abs(len(runs) - drafts) <= slack


def _at(counters: Counters, place: int) -> int | None:
    row = counters.accepted_per_pos
    return None if row is None else row[place] if place < len(row) else 0


def _sum(values: Iterable[int | None]) -> int | None:
    known = list(values)
    return None if None in known else sum(value or 0 for value in known)
