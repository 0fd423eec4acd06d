"""Speedup against K: the curve of one draft at one load point, its best K and its inflection point."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from tuner.analysis.comparison import advantage, counted, load_figures, speedup_estimate
from tuner.analysis.limits import checks
from tuner.analysis.statistics import Estimate, exp, undefined
from tuner.records import (
    Candidate,
    CurvePoint,
    Figure,
    Goal,
    Inflection,
    KCurve,
    LoadFigures,
    LoadPoint,
    Metric,
    TrialFigures,
)

GAIN = "paired ratio of speedups at this and the K before it, per token, minus 1"
SPEEDUP = "speedup over no speculation, 1 by definition"


def k_curves(
    trials: Sequence[TrialFigures],
    load_points: Sequence[LoadPoint],
    threshold: float = 0.01,
    failed: Sequence[tuple[Candidate, str]] = (),
    ks: Mapping[str, Sequence[int]] | None = None,
    goal: Goal | None = None,
) -> tuple[KCurve, ...]:
    """Return a curve for every (draft, engine arguments, load point) with at least one measured or failed K.

    trials: figures of baselines and candidates of one run; the first of several with the same K counts.
    failed: candidates that gave nothing, with the reason: they stay on the curve as points without a value.
    ks: K that the space has, by draft name; the inflection point may lie at one that was not measured.
    goal: the metric of `trials`, and limits that the best K keeps to; TPOT without limits if None.
    """
    goal = goal or Goal()
    groups: dict[tuple[str, str, str], dict[int, TrialFigures | str]] = {}
    outcomes: list[tuple[Candidate, TrialFigures | str]] = [*((t.candidate, t) for t in trials), *failed]
    for candidate, outcome in outcomes:
        if candidate.speculation is not None:
            key = (candidate.draft_name, candidate.speculation.method, candidate.args_key)
            groups.setdefault(key, {}).setdefault(candidate.k, outcome)
    curves = []
    for (draft, method, args_key), by_k in groups.items():
        baselines = [t for t in trials if t.candidate.k == 0 and t.candidate.args_key == args_key]
        for load in load_points:
            points = _points(by_k, baselines, load)
            if points:
                measured = [by_k[p.k] for p in points[1:] if p.speedup.value is not None]
                trials_here = [t for t in measured if isinstance(t, TrialFigures) and not _over(t, goal, load)]
                bend = inflection(points, threshold, (ks or {}).get(draft, ()))
                best = best_k(trials_here, [load])
                curves.append(KCurve(draft, method, args_key, load, points, bend, best, goal.metric))
    return tuple(curves)


def _over(trial: TrialFigures, goal: Goal, load: LoadPoint) -> bool:
    return any(check.broken for check in checks(trial, goal, [load]))


def _points(
    by_k: Mapping[int, TrialFigures | str], baselines: Sequence[TrialFigures], load: LoadPoint
) -> tuple[CurvePoint, ...]:
    points = [_zero(baselines, load)]
    before: TrialFigures | None = None
    before_k = 0
    for k in sorted(by_k):
        outcome = by_k[k]
        if isinstance(outcome, str):
            points.append(_failed_point(k, outcome))
            continue
        figures = load_figures(outcome, load)
        if figures is None or not figures.speedup_by_prompt:
            continue
        step = advantage(outcome, before, [load]) if before else speedup_estimate(outcome, [load])
        points.append(_point(k, figures, per_token(step, k - before_k, counted(outcome)), outcome.metric))
        before, before_k = outcome, k
    return tuple(points) if len(points) > 1 else ()


def _zero(baselines: Sequence[TrialFigures], load: LoadPoint) -> CurvePoint:
    one = Figure(1.0, "x", SPEEDUP, 0, "prompts", 1.0, 1.0)
    length = Figure(1.0, "tokens/draft", "no draft: one token a step", 0, "drafts")
    found = next((figures for t in baselines if (figures := load_figures(t, load))), None)
    tpot = found.figures["tpot_s"] if found else undefined("s", "tpot_s", "no baseline at this load point")
    return CurvePoint(0, one, tpot, length)


def _point(k: int, figures: LoadFigures, gain: Figure, metric: Metric) -> CurvePoint:
    named = figures.figures
    return CurvePoint(
        k,
        named[metric.speedup],
        named["tpot_s"],
        named["mean_acceptance_length"],
        figures.acceptance_by_position,
        gain,
    )


def _failed_point(k: int, reason: str) -> CurvePoint:
    note = f"failed: {reason}"
    return CurvePoint(
        k,
        undefined("x", SPEEDUP, note),
        undefined("s", "tpot_s", note),
        undefined("tokens/draft", "1 + A/D", note, "drafts"),
    )


def per_token(step: Estimate | None, tokens: int, n_of: str = "prompts") -> Figure:
    """Return the gain per token of a step of `tokens` tokens: ratio^(1/tokens) - 1, with its interval likewise."""
    if step is None:
        return undefined("fraction", GAIN, "no prompt was measured at both K")
    interval = step.interval()
    low, high = (None, None) if interval is None else (exp(bound / tokens) - 1 for bound in interval)
    note = "" if interval else f"one {n_of.removesuffix('s')} gives no interval"
    return Figure(math.expm1(step.mean / tokens), "fraction", GAIN, step.n, n_of, low, high, note)


def inflection(points: Sequence[CurvePoint], threshold: float, ks: Sequence[int] = ()) -> Inflection:
    """Return the first K from which the next token gains less than `threshold` by its upper bound.

    points: of one curve, K ascending; failed ones are skipped. Candidates are that K and every smaller one whose next
    gain noise leaves on either side of the threshold. What follows the largest K was not measured, so where no K
    qualifies, the largest is left open too and k is None.

    ks: K that could be deployed. Those between two measured ones, a < b, that were not measured are candidates too, and
    a with them: the gain per token from a to b is an average, and a curve need not be unimodal. Where that average is
    clearly below the threshold, the gain of at least one of the tokens a + 1 ... b is: the inflection is before b, and
    k is None because nobody knows where. Where it is not below, some token gains more than the average and any other
    may gain less: nothing is excluded. Those above the largest measured one are left open as it is.
    """
    measured = [p for p in points if p.speedup.value is not None]
    untried = sorted(set(ks) - {point.k for point in points})
    steps = [(p.k, after.k, after.marginal_gain) for p, after in pairwise(measured)]
    open_ks: list[int] = []
    for position, (k, next_k, gain) in enumerate(steps):
        between = [u for u in untried if k < u < next_k]
        if gain is not None and gain.high is not None and gain.high < threshold:
            if between:
                words = f"not resolved: at most K = {between[-1]}; {_not_measured(between, open_ks, untried)}"
                return Inflection(None, (*open_ks, k, *between), threshold, words)
            notes = (_not_measured((), open_ks, untried), _later_rise(steps[position + 1 :], threshold))
            return Inflection(k, (*open_ks, k), threshold, "; ".join(filter(None, notes)))
        if between or gain is None or gain.low is None or gain.low < threshold:
            open_ks += [k, *between]
    last = measured[-1].k if measured else 0
    beyond = [u for u in untried if u > last]
    if not open_ks:
        note = f"not reached: every token up to K = {last} gains {threshold * 100:g} % or more"
    else:
        note = f"not resolved: no K up to {last} is followed by a gain that is clearly below {threshold * 100:g} %"
    missing = _not_measured(beyond, open_ks, untried)
    return Inflection(None, (*open_ks, last, *beyond), threshold, "; ".join(filter(None, (note, missing))))


def _not_measured(found: Sequence[int], open_ks: Sequence[int], untried: Sequence[int]) -> str:
    """Return words for the candidates that were not measured: found, and those among `open_ks`."""
    missing = [str(k) for k in sorted({*found, *(k for k in open_ks if k in untried)})]
    if not missing:
        return ""
    return f"K = {', '.join(missing)} {'was' if len(missing) == 1 else 'were'} not measured"


def _later_rise(steps: Sequence[tuple[int, int, Figure | None]], threshold: float) -> str:
    for k, _, gain in steps:
        if gain is not None and gain.low is not None and gain.low > threshold:
            return f"the curve clearly rises again after K = {k}: see the best K"
    return ""


def best_k(trials: Sequence[TrialFigures], loads: Sequence[LoadPoint]) -> int:
    """Return the K with the highest speedup, or the smallest that noise does not separate from it.

    trials: one per K, of one draft and one baseline. 0 where no K is clearly faster than no speculation.
    """
    estimates = ((t, speedup_estimate(t, loads)) for t in trials)
    best = smallest_tied([t for t, estimate in estimates if estimate is not None and estimate.above(0.0)], loads)
    return best.candidate.k if best else 0


def smallest_tied(trials: Sequence[TrialFigures], loads: Sequence[LoadPoint]) -> TrialFigures | None:
    """Return the trial of smallest K that is not clearly slower than the fastest (paired differences)."""
    scored = [(estimate.mean, t) for t in trials if (estimate := speedup_estimate(t, loads)) is not None]
    if not scored:
        return None
    fastest = max(scored, key=lambda pair: (pair[0], -pair[1].candidate.k))[1]
    for trial in sorted((t for _, t in scored), key=lambda t: t.candidate.k):
        lead = advantage(fastest, trial, loads)
        if trial is fastest or lead is None or not lead.above(0.0):
            return trial
    return fastest
