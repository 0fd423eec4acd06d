"""One trial's figures: estimators over request samples and counters, each under its name.

Definitions (vLLM's words). With D drafts, T draft tokens, A accepted, A_i accepted at position i, C completion
tokens, R requests and S decode steps (all differences over the valid repeats):

    acceptance_rate A/T    mean_acceptance_length 1 + A/D    effective_tokens_per_step (C - R)/S
    draft_coverage D/S     mean_proposed_length T/D
    acceptance at position i: A_i/D, and conditional on the position before it: A_i/A_(i-1) with A_0 = D

TPOT = (E2E - TTFT) / (completion tokens - 1). Per prompt the median over repeats, then the geometric mean over
prompts, so that tpot_s of the baseline divided by tpot_s of the candidate is the speedup.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

from tuner.analysis.costs import COSTS, cost_spread, costs
from tuner.analysis.device_figures import device_figures
from tuner.analysis.life import LATENCIES, LoadView, load_view
from tuner.analysis.metric_table import COUNTED, LOAD, OWN, PERCENTILES, POSITION, Row
from tuner.analysis.paired import (
    baseline_spread,
    category_speedups,
    comparison_figures,
    drift_figure,
    speedup_by_prompt,
)
from tuner.analysis.statistics import Column, Spread, mean_estimate, median, percentile, ratio_figure, undefined
from tuner.records import Counters, Figure, LoadFigures, Metric, Repeat, RequestSample, Trial, TrialFigures


def trial_figures(
    trial: Trial, baseline: Trial | None, *later: Trial | None, metric: Metric = Metric.TPOT
) -> TrialFigures:
    """Return every figure of `trial`, with speedups against `baseline`.

    later: the same baseline measured again. Speedups are then against the mean of its lives, and every interval is
    widened by the largest difference between two of them (see paired.allowance). A life without a valid sample at a
    load point is left out there, and with one life left the drift is unknown there.
    With `baseline` None (the trial is a baseline) there are no speedups; the drift is that among `trial` and `later`.
    metric: what decides between trials, and what baseline_drift is of; all other figures are the same.
    """
    record = trial.record
    loads = []
    for measurement in record.loads:
        view = load_view(trial, measurement.load_point.key)
        if view is not None:
            lives = [load_view(life, measurement.load_point.key) for life in (baseline, *later) if life is not None]
            found = [life for life in lives if life is not None]
            found = [life for life in found if life.tpot_by_prompt] or found
            loads.append(_load_figures(view, found, bool(baseline), COSTS[metric]))
    return TrialFigures(record.number, record.candidate, record.worker.device_key, tuple(loads), metric=metric)


def _load_figures(view: LoadView, lives: Sequence[LoadView], compare: bool, cost: str) -> LoadFigures:
    figures = {**latency_figures(view), **one_life_counts(view), **device_figures(view.repeats)}
    figures["throughput_tok_s"] = throughput_figure(view.throughputs)
    drift = drift_figure(lives if compare else [view, *lives], cost)
    if drift is not None:
        figures["baseline_drift"] = drift
    speedups: dict[str, float] = {}
    categories: dict[str, Figure] = {}
    own, base = cost_spread(view, cost), Spread()
    if compare and lives:
        figures.update(comparison_figures(view, lives))
        speedups, base = speedup_by_prompt(view, lives, cost), baseline_spread(lives, cost)
        categories = category_speedups(view, lives)
    return LoadFigures(
        load_point=view.measurement.load_point,
        figures=figures,
        acceptance_by_position=acceptance_by_position(view.repeats),
        conditional_by_position=conditional_by_position(view.repeats),
        categories=categories,
        cost_by_prompt=costs(view, cost),
        speedup_by_prompt=speedups,
        repeat_variance=own.variance,
        repeat_df=int(own.df),
        baseline_repeat_variance=base.variance,
        baseline_repeat_df=base.df,
    )


# --- one life ---------------------------------------------------------------------------------------------------------


def latency_figures(view: LoadView) -> dict[str, Figure]:
    """Return tpot_s, ttft_s and e2e_s (seconds; geometric mean over prompts) and their p50, p95, p99 over requests."""
    figures = {}
    for name, metric in LATENCIES.items():
        logs = {prompt: math.log(value) for prompt, value in view.by_prompt(metric).items()}
        estimate = mean_estimate([Column(logs, spreads=(view.repeat_spread(metric),))])
        figures[name] = ratio_figure(estimate, OWN, unit="s", note="" if estimate else "no request worked")
        figures |= latency_percentiles(name, view.samples)
    return figures


def latency_percentiles(name: str, samples: Sequence[RequestSample]) -> dict[str, Figure]:
    """Return p50, p95, p99 over requests of a latency, seconds."""
    values = [value for value in map(LATENCIES[name], samples) if value is not None]
    return {f"{name}_p{percent}": percentile_figure(values, percent) for percent in PERCENTILES}


def percentile_figure(values: Sequence[float], percent: int) -> Figure:
    """Return a percentile over requests, saying so where it is no more than the largest few."""
    name = f"p{percent} over requests"
    if not values:
        return undefined("s", name, "no request worked", "requests")
    few = len(values) * (100 - percent) < 100
    note = f"{len(values)} requests are few for this percentile" if few else ""
    return Figure(percentile(values, percent), "s", name, len(values), "requests", note=note)


def throughput_figure(rates: Sequence[float]) -> Figure:
    """Return output tokens per second of wall time: the median over repeats."""
    row = LOAD["throughput_tok_s"]
    if not rates:
        return undefined(row.unit, row.estimator, "no valid repeat", "repeats")
    return Figure(median(rates), row.unit, row.estimator, len(rates), "repeats")


def one_life_counts(view: LoadView) -> dict[str, Figure]:
    """Return the figures that come from counting, without any clock: the engine's counters, requests, preemptions."""
    return {**counter_figures(view.repeats), **count_figures(view.measurement.repeats)}


def count_figures(repeats: Sequence[Repeat]) -> dict[str, Figure]:
    """Return how many requests were sent, failed and were preempted, over all repeats."""
    preemptions = [r.counters.preemptions for r in repeats if r.counters.preemptions is not None]
    unknown = "" if preemptions else "the engine does not count them"
    counts = {
        "requests": (sum(r.requests for r in repeats), ""),
        "failed": (sum(r.failed for r in repeats), ""),
        "preemptions": (sum(preemptions) if preemptions else None, unknown),
    }
    return {
        name: Figure(value, LOAD[name].unit, LOAD[name].estimator, len(repeats), "repeats", note=note)
        for name, (value, note) in counts.items()
    }


# --- counters ---------------------------------------------------------------------------------------------------------


def _total(repeats: Sequence[Repeat], of: Callable[[Counters], int | None]) -> int | None:
    values = [of(repeat.counters) for repeat in repeats]
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def _quotient(row: Row, top: int | None, bottom: int | None, n_of: str, zero: str, plus: int = 0) -> Figure:
    """Return plus + top / bottom; 0/0 and missing counters are undefined, never 0 and never NaN."""
    if top is None or bottom is None:
        return undefined(row.unit, row.estimator, "the engine does not expose these counters", n_of)
    if bottom == 0:
        return undefined(row.unit, row.estimator, zero, n_of)
    return Figure(plus + top / bottom, row.unit, row.estimator, bottom, n_of)


def counter_figures(repeats: Sequence[Repeat]) -> dict[str, Figure]:
    """Return the figures that come from vLLM's counters, summed over the valid repeats before dividing."""
    drafts = _total(repeats, lambda c: c.drafts)
    proposed = _total(repeats, lambda c: c.draft_tokens)
    accepted = _total(repeats, lambda c: c.accepted_tokens)
    steps = _total(repeats, lambda c: c.decode_steps)
    emitted = _total(repeats, lambda c: c.generation_tokens - c.requests)
    none, idle = "no drafts", "no decode steps"
    quotients = {
        "acceptance_rate": (accepted, proposed, "draft tokens", none, 0),
        "mean_acceptance_length": (accepted, drafts, "drafts", none, 1),
        "mean_proposed_length": (proposed, drafts, "drafts", none, 0),
        "draft_coverage": (drafts, steps, "steps", idle, 0),
        "effective_tokens_per_step": (emitted, steps, "steps", idle, 0),
    }
    return {name: _quotient(COUNTED[name], *quotient) for name, quotient in quotients.items()}


def acceptance_by_position(repeats: Sequence[Repeat]) -> tuple[Figure, ...]:
    """Return A_i/D for i = 1, 2, ...: unconditional, so that 1 + their sum is the mean acceptance length."""
    drafts, *accepted = _reached(repeats) or (0,)
    row = POSITION["acceptance_by_position"]
    return tuple(_quotient(row, count, drafts, "drafts", "no drafts") for count in accepted)


def conditional_by_position(repeats: Sequence[Repeat]) -> tuple[Figure, ...]:
    """Return A_i/A_(i-1) for i = 1, 2, ... with A_0 = D: acceptance there, if everything before it was accepted.

    Their running product is A_i/D. Undefined from where nothing was accepted at the position before.
    """
    reached = _reached(repeats) or (0,)
    drafts = "no drafts"
    return tuple(
        _quotient(
            POSITION["conditional_by_position"],
            count,
            before,
            "drafts" if i == 0 else f"drafts accepted at position {i}",
            drafts if i == 0 or not reached[0] else f"nothing was accepted at position {i}",
        )
        for i, (before, count) in enumerate(itertools.pairwise(reached))
    )


def _reached(repeats: Sequence[Repeat]) -> tuple[int, ...] | None:
    """Return (D, A_1, A_2, ...) over all repeats; None where the engine does not expose them."""
    drafts = _total(repeats, lambda c: c.drafts)
    rows = [repeat.counters.accepted_per_pos for repeat in repeats]
    if drafts is None or not rows or any(row is None for row in rows):
        return None
    known = [row for row in rows if row is not None]
    width = max(len(row) for row in known)
    return drafts, *(sum(row[i] for row in known if i < len(row)) for i in range(width))


# --- categories -------------------------------------------------------------------------------------------------------


def worst_category(load: LoadFigures) -> tuple[str, Figure] | None:
    """Return the category of prompts with the lowest speedup; None where fewer than two have one."""
    known = [(figure.value, name) for name, figure in load.categories.items() if figure.value is not None]
    if len(known) < 2:
        return None
    name = min(known)[1]
    return name, load.categories[name]
