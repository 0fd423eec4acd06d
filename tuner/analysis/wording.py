"""Sentences for a person, with the evidence in them."""

from __future__ import annotations

from collections.abc import Sequence

from tuner.analysis.comparison import counted, is_whole, load_figures, log_drift, speedup_estimate
from tuner.analysis.paired import lives_note
from tuner.analysis.resolution import RESOLVE, resolution
from tuner.analysis.statistics import CONFIDENCE, Estimate, exp
from tuner.records import Limit, LoadPoint, Resolution, TrialFigures

_ROUGH, _ASTRONOMICAL = 0.1, 10.0
"""Fractions from which an effect has no decimals, and from which its size means nothing any more."""


def describe(trial: TrialFigures, loads: Sequence[LoadPoint]) -> str:
    """Return e.g. "good K=4 runs at 1.62x of no speculation (TPOT, 95 % 1.55-1.70, 24 prompts, over 3 lives)"."""
    estimate = speedup_estimate(trial, loads)
    if estimate is None:
        return f"{trial.candidate.label} has no speedup"
    where = lives_note(estimate.lives) if trial.lives > 1 else "within this engine life"
    parts = [trial.metric.words, _spread(estimate), _count(trial, estimate), where]
    evidence = ", ".join(part for part in parts if part)
    return f"{trial.candidate.label} runs at {exp(estimate.mean):.2f}x of no speculation ({evidence})"


def _count(trial: TrialFigures, estimate: Estimate) -> str:
    """Return e.g. "24 prompts"; "" for rounds, which are the lives."""
    if is_whole(trial) and trial.lives > 1:
        return ""
    return f"{estimate.n} {counted(trial)}" if estimate.n != 1 else f"1 {counted(trial).removesuffix('s')}"


def in_short(trial: TrialFigures, loads: Sequence[LoadPoint]) -> str:
    """Return e.g. "1.62x, 95 % 1.55-1.70"."""
    estimate = speedup_estimate(trial, loads)
    return f"{exp(estimate.mean):.2f}x, {_spread(estimate)}" if estimate else "no speedup"


def between(up_to: int, below: int, steps: Sequence[int]) -> str:
    """Return what is known between the last concurrency that pays and the first that was measured slower."""
    measured = [str(step) for step in steps if up_to < step < below]
    if not measured:
        return f"Between {up_to} and {below} nothing was measured."
    return f"Between {up_to} and {below} the result is not clear (measured at {', '.join(measured)})."


def not_proven(trial: TrialFigures, low: Sequence[LoadPoint], up_to: int) -> str:
    """Return a sentence on a candidate that was faster up to a concurrency, and not slower above."""
    return (
        f" Up to concurrency {up_to} {trial.candidate.label} was measured faster ({in_short(trial, low)}), and not "
        f"slower above, but that it pays is not proven: measured more, it may be the answer at every concurrency."
    )


def _spread(estimate: Estimate) -> str:
    interval = estimate.interval()
    return f"95 % {exp(interval[0]):.2f}-{exp(interval[1]):.2f}" if interval else "no interval"


def what_limits(
    trial: TrialFigures, loads: Sequence[LoadPoint], confidence: float, candidates: int, resolve: float = RESOLVE
) -> str:
    """Return why this speedup cannot be told from 1, the smallest effect that could be, and what would settle it.

    resolve: the smallest effect worth knowing, as a fraction.
    """
    estimate = speedup_estimate(trial, loads)
    fine = resolution(trial, loads, resolve, confidence)
    if estimate is None or fine is None:
        what = "repeat" if is_whole(trial) else "prompt"
        return f"one {what} gives no interval, more {what}s are needed"
    effect = effect_words(fine.smallest_effect)
    at_least = effect if fine.smallest_effect >= _ASTRONOMICAL else f"{effect} or more"
    smallest = f"only an effect of {at_least} could have been seen"
    return f"{_why(trial, loads, estimate, fine, confidence, candidates)}; {smallest}{_remedy(fine)}"


def _why(
    trial: TrialFigures,
    loads: Sequence[LoadPoint],
    estimate: Estimate,
    fine: Resolution,
    confidence: float,
    candidates: int,
) -> str:
    undecided = not estimate.above(0.0) and not estimate.below(0.0)
    if fine.life_sd is not None and fine.repeat_sd is not None:
        level = "" if undecided else "not enough to be sure at the level that a sweep's claims share; "
        lives = f"{level}from one engine life to the next the speedup differs by {fine.life_sd:.1%} (SD)"
        return f"{lives}, and its repeats add {fine.repeat_sd:.1%}"
    if undecided and fine.limited_by is Limit.DRIFT:
        return f"the baseline itself drifted, {_drift_over(trial, loads)}"
    if estimate.above(0.0) and confidence > CONFIDENCE:
        return f"not enough to be sure with {candidates} candidates to choose from"
    return f"too little to tell from no speculation with {estimate.n} {counted(trial)}"


def _drift_over(trial: TrialFigures, loads: Sequence[LoadPoint]) -> str:
    """Return how the baseline's lives differ over the load points, with the slower one where it is the same at all."""
    size = log_drift(trial, loads) or 0.0
    found = [figures.figures["baseline_drift"].value or 1.0 for at in loads if (figures := load_figures(trial, at))]
    mean = "on average " if len(found) > 1 else ""
    if all(drift >= 1 for drift in found) or all(drift <= 1 for drift in found):
        return f"{mean}{drift_words(exp(size if found[0] >= 1 else -size))}"
    return f"{mean}two of its lives differ by {effect_words(exp(size) - 1)}, and which is slower differs too"


def drift_words(ratio: float) -> str:
    """Return "an earlier life was 38% slower than a later one".

    ratio: of a cost, later / earlier. The slower life is held against the faster one, whichever came first.
    """
    slower, faster = ("a later life", "an earlier one") if ratio > 1 else ("an earlier life", "a later one")
    return f"{slower} was {effect_words(max(ratio, 1 / ratio) - 1)} slower than {faster}"


def effect_words(fraction: float) -> str:
    """Return "5.9%", "139%", or "over 1000%" from where the number means no more than that."""
    if fraction >= _ASTRONOMICAL:
        return "over 1000%"
    return f"{fraction:.1%}" if fraction < _ROUGH else f"{fraction:.0%}"


_REMEDIES = {
    Limit.LIVES: "about {n} fresh engine lives",
    Limit.REPEATS: "about {n} repeats per engine life",
    Limit.PROMPTS: "about {n} prompts",
}


def _remedy(fine: Resolution) -> str:
    if fine.needed is None or fine.limited_by not in _REMEDIES:
        return ""
    return f", and {_REMEDIES[fine.limited_by].format(n=fine.needed)} would settle {effect_words(fine.effect)}"
