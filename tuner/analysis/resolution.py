"""What limits an answer, how small an effect it could have shown, and how much more measuring would settle it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tuner.analysis.comparison import load_figures, speedup_estimate
from tuner.analysis.power import lives_needed, noncentrality, smallest_effect
from tuner.analysis.statistics import CONFIDENCE, Estimate, Spread, combined, exp
from tuner.records import Limit, LoadPoint, Protocol, Resolution, TrialFigures

RESOLVE = Protocol.resolve
MOST = 10_000
"""Largest number of repeats or prompts worth naming."""


def resolution(
    trial: TrialFigures, loads: Sequence[LoadPoint], resolve: float, confidence: float = CONFIDENCE
) -> Resolution | None:
    """Return what limits the speedup of `trial` over these load points; None where it has no interval.

    resolve: the smallest effect worth knowing, as a fraction. "Settled" is the measured effect or that one, whichever
    is larger, seen with probability POWER.
    """
    estimate = speedup_estimate(trial, loads)
    if estimate is None or estimate.se is None or estimate.df <= 0:
        return None
    effect = max(abs(estimate.mean), math.log1p(resolve))
    repeats = repeat_spread(trial, loads)
    if estimate.lives > 1:
        return _over_lives(trial, loads, estimate, repeats, effect, confidence)
    return _within_one_life(trial, loads, estimate, repeats, effect, confidence)


def repeat_spread(trial: TrialFigures, loads: Sequence[LoadPoint]) -> Spread:
    """Return the part of the variance of one life's log speedup that comes from its repeats and its baseline's."""
    total = math.fsum(load.weight for load in loads)
    parts = []
    for load in loads:
        figures = load_figures(trial, load)
        if figures is not None:
            share = (load.weight / total) ** 2
            parts.append(Spread(share * figures.repeat_variance, figures.repeat_df))
            parts.append(Spread(share * figures.baseline_repeat_variance, figures.baseline_repeat_df))
    return combined(parts)


def _fraction(log_ratio: float) -> float:
    """Return e^x - 1, kept finite: with one degree of freedom an effect would have to be astronomically large."""
    return exp(log_ratio) - 1 if log_ratio > 1 else math.expm1(log_ratio)


def _over_lives(
    trial: TrialFigures,
    loads: Sequence[LoadPoint],
    estimate: Estimate,
    repeats: Spread,
    effect: float,
    confidence: float,
) -> Resolution:
    variance = (estimate.se or 0.0) ** 2 * estimate.lives
    within = min(repeats.variance, variance)
    least = math.sqrt(variance - within)
    smallest = smallest_effect(math.sqrt(variance), estimate.lives, confidence)
    enough = {
        "smallest_effect": _fraction(smallest),
        "effect": _fraction(effect),
        "life_sd": least,
        "repeat_sd": math.sqrt(within),
    }
    if within > variance / 2 and smallest_effect(least, estimate.lives, confidence) < effect:
        per_life = _repeats_per_life(trial, loads, estimate.lives)
        # smallest_effect is proportional to the standard deviation of a round.
        allowed = variance * (effect / smallest) ** 2 if smallest > 0 else math.inf
        times = within / (allowed - least**2) if allowed > least**2 else math.inf
        needed = max(per_life, min(MOST, math.ceil(per_life * times))) if math.isfinite(times) else MOST
        return Resolution(limited_by=Limit.REPEATS, needed=needed, **enough)
    return Resolution(limited_by=Limit.LIVES, needed=lives_needed(math.sqrt(variance), effect, confidence), **enough)


def _repeats_per_life(trial: TrialFigures, loads: Sequence[LoadPoint], lives: int) -> int:
    figures = [load_figures(trial, load) for load in loads]
    return max(1, *(round(f.repeat_df / lives) + 1 for f in figures if f is not None))


def _within_one_life(
    trial: TrialFigures,
    loads: Sequence[LoadPoint],
    estimate: Estimate,
    repeats: Spread,
    effect: float,
    confidence: float,
) -> Resolution:
    se = estimate.se or 0.0
    sampling = noncentrality(confidence, estimate.df) * se
    common = {
        "smallest_effect": _fraction(sampling + estimate.allowance),
        "effect": _fraction(effect),
        "repeat_sd": math.sqrt(repeats.variance),
    }
    if estimate.allowance >= effect or estimate.allowance > sampling:
        return Resolution(limited_by=Limit.DRIFT, needed=None, **common)
    times = (sampling / (effect - estimate.allowance)) ** 2
    if repeats.variance > se * se / 2:
        per_life = _repeats_per_life(trial, loads, 1)
        return Resolution(limited_by=Limit.REPEATS, needed=min(MOST, max(1, math.ceil(per_life * times))), **common)
    return Resolution(limited_by=Limit.PROMPTS, needed=min(MOST, max(2, math.ceil(estimate.n * times))), **common)
