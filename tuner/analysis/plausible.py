"""Whether a speculating engine's counters can be those of its draft: no drafts at all, or none that was ever wrong."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence

from tuner.analysis.life import LoadView, load_view
from tuner.analysis.metrics import acceptance_by_position, counter_figures
from tuner.analysis.sanity import LEVEL, bars_of, repeats_itself
from tuner.records import SCHEDULE, Bar, BarKind, LoadPoint, Trial

TOO_GOOD = 0.995
"""Acceptance rate from which it is asked whether the draft is another model at all.

Real drafts stay below: the highest that was measured here is 0.91, at K = 1 with a draft made from the target itself.
"""
REJECTED_AT_LEAST = 0.01
"""Share of its tokens, outside repeating text, that another model than the target is expected to get wrong."""
FLAT = 0.99
"""Ratio of acceptance at the last and at the first position from which it does not fall."""
FLAT_FROM_K = 4
FLAT_FROM_DRAFTS = 200

_MAY_NOT_DRAFT = frozenset({"ngram", "ngram_gpu", "suffix", "custom_class"})


def counter_bars(trial: Trial, load_points: Sequence[LoadPoint]) -> tuple[Bar, ...]:
    """Return what bars a speculating trial because of its drafts and their acceptance; nothing for a baseline."""
    level = LEVEL / max(len(load_points), 1)
    return bars_of(
        {
            BarKind.SPECULATION_INACTIVE: _without_drafts(trial, load_points, may=False),
            BarKind.ACCEPTANCE_IMPLAUSIBLE: [
                text for view in _external(trial, load_points) for text in _too_good(view, level)
            ],
        }
    )


def counter_doubts(trial: Trial, load_points: Sequence[LoadPoint]) -> tuple[str, ...]:
    """Return what is odd about a speculating trial's drafts and bars nothing, each with its load point."""
    flat = [text for view in _external(trial, load_points) for text in _flat(view)]
    return (*_without_drafts(trial, load_points, may=True), *flat)


def _without_drafts(trial: Trial, load_points: Sequence[LoadPoint], *, may: bool) -> list[str]:
    """Return the load points at which the engine decoded and did not draft, for methods that may do so or may not.

    n-gram and suffix draft only where they find a match, and a schedule can set K to 0 at a batch size.
    """
    spec = trial.record.candidate.speculation
    if spec is None or may is not (spec.method in _MAY_NOT_DRAFT or SCHEDULE in spec.options):
        return []
    texts = []
    for load in load_points:
        view = load_view(trial, load.key)
        counters = [repeat.counters for repeat in view.repeats] if view else []
        # An answer of one token comes from the prompt's own step: there is nothing to draft.
        decoded = any(c.generation_tokens > c.requests for c in counters)
        if decoded and not any(c.drafts for c in counters):
            texts.append(f"{load.label}: not one draft in {sum(c.generation_tokens for c in counters)} output tokens")
    return texts


def _external(trial: Trial, load_points: Sequence[LoadPoint]) -> list[LoadView]:
    """Return the load points of a trial whose draft is a model of its own, other than the target."""
    spec = trial.record.candidate.speculation
    if spec is None or spec.draft is None or spec.method in _MAY_NOT_DRAFT or draft_is_target(trial):
        return []
    views = (load_view(trial, load.key) for load in load_points)
    return [view for view in views if view is not None]


def draft_is_target(trial: Trial) -> bool:
    """Whether the engine was started with one and the same model as target and as draft, by its command."""
    command = trial.record.engine.command if trial.record.engine else ()
    given = dict(itertools.pairwise(command))
    config = given.get("--speculative-config", "")
    return bool(config) and json.loads(config).get("model") == given.get("--model", "")


def _too_good(view: LoadView, level: float) -> list[str]:
    """Say where the draft is right more often than another model can be.

    Not only the rate is looked at, but how much it rests on: with n tokens proposed outside repeating text in one pass
    over the prompts (a prompt asked again gives the same tokens) and r rejected, P(X <= r) for X ~ Binomial(n, 0.01)
    has to be below `level`. 459 tokens without a rejection are as few as are enough at 1 %.
    """
    rate = counter_figures(view.repeats)["acceptance_rate"]
    if rate.value is None or rate.value <= TOO_GOOD or not view.samples:
        return []
    passes = len(view.samples) / len({sample.prompt_id for sample in view.samples})
    looping = sum(map(repeats_itself, view.samples)) / len(view.samples)
    n = math.floor(rate.n / passes * (1 - looping))
    rejected = math.ceil((1 - rate.value) * rate.n / passes - 1e-9)
    if binomial_at_most(rejected, n, REJECTED_AT_LEAST) >= level:
        return []
    return [
        f"{view.measurement.load_point.label}: {rate.value:.1%} of {rate.n} draft tokens were accepted, more than a "
        f"model other than the target can be right"
    ]


def binomial_at_most(most: int, n: int, p: float) -> float:
    """Return P(X <= most) for X ~ Binomial(n, p), 0 < p < 1."""
    # Logarithms: (1 - p)^n underflows from some 70,000 tokens on.
    logs = (
        math.lgamma(n + 1) - math.lgamma(x + 1) - math.lgamma(n - x + 1) + x * math.log(p) + (n - x) * math.log1p(-p)
        for x in range(min(most, n) + 1)
    )
    return min(1.0, math.fsum(math.exp(term) for term in logs))


def _flat(view: LoadView) -> list[str]:
    positions = acceptance_by_position(view.repeats)
    if len(positions) < FLAT_FROM_K or positions[0].n < FLAT_FROM_DRAFTS:
        return []
    first, last = positions[0].value, positions[-1].value
    if not first or last is None or last / first < FLAT:
        return []
    return [
        f"{view.measurement.load_point.label}: acceptance does not fall with the position ({first:.3f} at the first, "
        f"{last:.3f} at position {len(positions)}, {positions[0].n} drafts), as it does where each token of a draft "
        f"rests on those before it"
    ]
