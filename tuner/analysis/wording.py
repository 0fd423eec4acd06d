"""Sentences for a person, with the evidence in them."""

from __future__ import annotations

from collections.abc import Sequence

from tuner.analysis.comparison import log_drift, speedup_estimate
from tuner.analysis.statistics import CONFIDENCE, Estimate, exp, student_t
from tuner.records import LoadPoint, TrialFigures


def describe(trial: TrialFigures, loads: Sequence[LoadPoint]) -> str:
    """Return e.g. "good K=4 runs at 1.62x of no speculation (95 % 1.55-1.70, 24 prompts, within this engine life)"."""
    estimate = speedup_estimate(trial, loads)
    if estimate is None:
        return f"{trial.candidate.label} has no speedup"
    evidence = f"{_spread(estimate)}, {estimate.n} prompts, within this engine life"
    return f"{trial.candidate.label} runs at {exp(estimate.mean):.2f}x of no speculation ({evidence})"


def in_short(trial: TrialFigures, loads: Sequence[LoadPoint]) -> str:
    """Return e.g. "1.62x, 95 % 1.55-1.70"."""
    estimate = speedup_estimate(trial, loads)
    return f"{exp(estimate.mean):.2f}x, {_spread(estimate)}" if estimate else "no speedup"


def _spread(estimate: Estimate) -> str:
    interval = estimate.interval()
    return f"95 % {exp(interval[0]):.2f}-{exp(interval[1]):.2f}" if interval else "no interval"


def what_limits(trial: TrialFigures, loads: Sequence[LoadPoint], confidence: float, candidates: int) -> str:
    """Return why this speedup cannot be told from 1, and the smallest effect that could have been."""
    estimate = speedup_estimate(trial, loads)
    if estimate is None or estimate.se is None:
        return "one prompt gives no interval, more prompts are needed"
    sampling = student_t(confidence, estimate.df) * estimate.se
    smallest = f"this sweep could have seen no less than {exp(sampling + estimate.allowance) - 1:.1%}"
    if not estimate.above(0.0) and not estimate.below(0.0) and estimate.allowance > sampling:
        drift = exp(log_drift(trial, loads) or 0.0) - 1
        return f"the baseline itself drifted by {drift:.1%} between its two lives; {smallest}"
    if estimate.above(0.0) and confidence > CONFIDENCE:
        return f"not enough to be sure with {candidates} candidates to choose from; {smallest}"
    return f"too little to tell from no speculation with {estimate.n} prompts; {smallest}"
