"""Draft and target timed apart, each served alone; and what verification costs, seen through n-gram.

Not from the slope of the step time in K: there a draft's passes and a longer verification both grow with K, and cannot
be told apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tuner.analysis.life import load_view
from tuner.analysis.metrics import counter_figures
from tuner.analysis.paired import allowance, baseline_spread, drift_estimate, widened
from tuner.analysis.screening import compared_baselines, place_of
from tuner.analysis.statistics import (
    Column,
    Estimate,
    Spread,
    combined,
    mean_estimate,
    mean_over_lives,
    ratio_figure,
    undefined,
)
from tuner.records import Candidate, Figure, LoadPoint, Role, Trial

RULES = (5.0, 10.0)
"""Rules of thumb: a draft should be 5x, better 10x, faster than its target."""
ALONE = "geometric mean over prompts of medians over repeats, served alone"
RATIO = "ratio of the two geometric means; not paired, the two models answer with different texts"
STEP = "TPOT x effective tokens per step"
GROWTH = "TPOT x effective tokens per step, over the baseline's TPOT"
NGRAM = ("ngram", "ngram_gpu")


@dataclass(frozen=True)
class DraftApart:
    """One draft against its target at one load point.  ratio: target / draft, how many times faster the draft is.

    rules: for each of RULES whether the ratio reaches it; None where the interval leaves it open.
    """

    draft: str
    load_point: LoadPoint
    draft_tpot: Figure
    target_tpot: Figure
    ratio: Figure
    rules: tuple[bool | None, ...]


@dataclass(frozen=True)
class Verification:
    """One n-gram candidate at one load point: a step that proposes without a draft model, over a plain one.

    step: seconds.  growth: step / plain step.  coverage: share of the steps that had anything to verify; the others
    are plain ones, so that a step with a draft grew by more.
    """

    candidate: Candidate
    load_point: LoadPoint
    step: Figure
    growth: Figure
    coverage: Figure


@dataclass(frozen=True)
class Apart:
    """failed: draft -> why it could not be served alone."""

    drafts: tuple[DraftApart, ...]
    verification: tuple[Verification, ...]
    failed: dict[str, str]


def apart(trials: Sequence[Trial], load_points: Sequence[LoadPoint]) -> Apart:
    """Return the figures of every draft that was served alone, and of n-gram, at each load point.

    Each is compared with the geometric mean of the lives of the baseline on its own device with its own engine
    arguments, as speedups are, and widened by their drift as speedups are (see paired).
    """
    failed = {t.record.served: t.record.failure.message for t in trials if t.record.served and t.record.failure}
    worked = [trial for trial in trials if trial.record.ok]
    baselines = compared_baselines(trials)
    drafts, verification = [], []
    for trial in worked:
        record, plain = trial.record, baselines.get(place_of(trial), ())
        spec = record.candidate.speculation
        for point in load_points:
            if record.role is Role.DRAFT_ALONE:
                drafts += _draft(trial, plain, point)
            elif record.role is Role.CANDIDATE and spec and spec.method in NGRAM:
                verification += _verification(trial, plain, point)
    served = {row.draft for row in drafts}
    return Apart(tuple(drafts), tuple(verification), {d: why for d, why in failed.items() if d not in served})


def _draft(trial: Trial, plain: Sequence[Trial], point: LoadPoint) -> list[DraftApart]:
    draft, target = _estimate([trial], point), _estimate(plain, point)
    if draft is None or target is None:
        return []
    ratio = _ratio(target, draft)
    return [
        DraftApart(
            draft=trial.record.served,
            load_point=point,
            draft_tpot=ratio_figure(draft, ALONE, unit="s"),
            target_tpot=ratio_figure(target, ALONE, unit="s"),
            ratio=ratio_figure(ratio, RATIO),
            rules=tuple(_reaches(ratio, rule) for rule in RULES),
        )
    ]


def _verification(trial: Trial, plain: Sequence[Trial], point: LoadPoint) -> list[Verification]:
    view, own, base = load_view(trial, point.key), _estimate([trial], point), _estimate(plain, point)
    if view is None or own is None or base is None:
        return []
    counts = counter_figures(view.repeats)
    tokens = counts["effective_tokens_per_step"].value
    if not tokens:
        step, growth = undefined("s", STEP, "no decode steps"), undefined("x", GROWTH, "no decode steps")
    else:
        step = ratio_figure(_plus(own, math.log(tokens)), STEP, unit="s")
        growth = ratio_figure(_plus(_ratio(own, base), math.log(tokens)), GROWTH)
    return [Verification(trial.record.candidate, point, step, growth, counts["draft_coverage"])]


def _estimate(lives: Sequence[Trial], point: LoadPoint) -> Estimate | None:
    """Return the mean log TPOT of some lives of one engine with the standard error over prompts and repeats."""
    views = [view for life in lives if (view := load_view(life, point.key)) is not None and view.tpot_by_prompt]
    if not views:
        return None
    logs = {p: math.log(seconds) for p, seconds in mean_over_lives([view.tpot_by_prompt for view in views]).items()}
    drift = drift_estimate(views)
    mean = mean_estimate([Column(logs, spreads=(baseline_spread(views),))])
    return widened(mean, allowance(drift.mean if drift else None))


def _ratio(top: Estimate, bottom: Estimate) -> Estimate:
    """Return the difference of two independent means: variances add up, Welch-Satterthwaite."""
    mean, n, drift = top.mean - bottom.mean, min(top.n, bottom.n), top.allowance + bottom.allowance
    if top.se is None or bottom.se is None:
        return Estimate(mean, None, 0.0, n)
    both = combined([Spread(top.se**2, top.df), Spread(bottom.se**2, bottom.df)])
    return Estimate(mean, math.sqrt(both.variance), both.df, n, drift)


def _plus(estimate: Estimate, shift: float) -> Estimate:
    return replace(estimate, mean=estimate.mean + shift)


def _reaches(ratio: Estimate, rule: float) -> bool | None:
    if ratio.above(math.log(rule)):
        return True
    return False if ratio.below(math.log(rule)) else None
