"""From single searches to the figures of the result, and the bars that they must meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

import numpy as np

from tests.searchbench.replay import Told

Figures = dict[str, float | int | None]
By = Mapping[str, Sequence[Told]]
"""Searches by strategy."""
Grid = Mapping[tuple[str, float], Told]
"""What the grid took, by surface and life SD."""

REGRET_MEDIAN, REGRET_P95 = 0.5, 2.0
"""Per cent."""
STARTS_PER_DRAFT = 4.0
SECONDS_VS_GRID = 0.45
GROWTH_ERROR, SPEEDUP_ERROR = 3.0, 5.0
"""Per cent of the true value, at K that guided did not measure; the median and the p95 are held against it each."""
ERRORS = ("growth_errors", "speedup_errors", "rough_errors")
TOLD_AS_FIGURES, RANGES_HOLD = 0.8, 0.95
"""Least share of the predicted speedups that is told as a figure, and of the ranges that hold the truth."""
CONFIDENT_WRONG = 0.005
"""Of all searches, at any noise."""


def percent(regrets: Sequence[float], share: float) -> float:
    """Return a percentile of differences of logs, in per cent of the TPOT."""
    return round(100.0 * float(np.percentile(regrets, share)), 3)


def figures(told: Sequence[Told], grid: Grid) -> Figures:
    """Return the figures of one strategy.  grid: what grid took, by surface and life SD."""
    found: Figures = {"searches": len(told)}
    for name in ("regret", "regret_equal", "regret_confirmed"):
        regrets = [getattr(one, name) for one in told]
        found |= {
            f"{name}_median": percent(regrets, 50),
            f"{name}_mean": round(100.0 * fmean(regrets), 3),
            f"{name}_p95": percent(regrets, 95),
        }
    found |= {
        "starts_mean": round(fmean(one.starts for one in told), 2),
        "starts_per_draft_mean": round(fmean(one.starts / one.drafts for one in told), 2),
        "starts_confirm_mean": round(fmean(one.confirm_starts for one in told), 2),
        **_seconds(told, grid),
        "slowdown_claims": sum(one.slowdown for one in told),
        "behind_claims": sum(one.behind for one in told),
    }
    return found | _of_predictions(told)


def _seconds(told: Sequence[Told], grid: Grid) -> Figures:
    """Return the engine-seconds in parts of the grid's: to locate, and with confirming on both sides."""
    pairs = [(one, grid[at]) for one in told if (at := (one.surface, one.life_sd)) in grid]
    if not pairs:
        return {"engine_seconds_vs_grid": None, "engine_seconds_vs_grid_confirmed": None}
    located = fmean(one.locate_s / whole.locate_s for one, whole in pairs)
    confirmed = fmean((one.locate_s + one.confirm_s) / (whole.locate_s + whole.confirm_s) for one, whole in pairs)
    return {
        "engine_seconds_vs_grid": round(located, 3),
        "engine_seconds_vs_grid_confirmed": round(confirmed, 3),
    }


def _of_predictions(told: Sequence[Told]) -> Figures:
    """Return how far predictions were off: of all speedups, of those told as figures, and of those told as ranges."""
    found: Figures = {}
    every = {name: [error for one in told for error in getattr(one, name)] for name in ERRORS}
    every["all_errors"] = every["speedup_errors"] + every["rough_errors"]
    for name, errors in every.items():
        if errors:
            found |= {f"{name}_median": percent(errors, 50), f"{name}_p95": percent(errors, 95)}
    if every["all_errors"]:
        found["told_as_figures"] = round(len(every["speedup_errors"]) / len(every["all_errors"]), 3)
    if every["rough_errors"]:
        missed = sum(one.ranges_missed for one in told)
        found["ranges_hold"] = round(1.0 - missed / len(every["rough_errors"]), 3)
    return found


def all_figures(by: By) -> dict[str, Figures]:
    """Return the figures of each strategy."""
    grid = {(one.surface, one.life_sd): one for one in by.get("grid", ())}
    return {name: figures(told, grid) for name, told in by.items() if told}


def bars(by: By, every: By | None = None) -> dict[str, bool]:
    """Return which bars guided meets on these searches, by name; nothing where guided took no part.

    every: searches at any noise, for the bar on confident wrong answers; None for the same ones.

    Another strategy is beaten where guided's mean regret on the same surfaces, at guided's starts, is smaller.
    """
    if not by.get("guided"):
        return {}
    guided = all_figures(by)["guided"]
    met = {
        "regret_median": _at_most(guided["regret_median"], REGRET_MEDIAN),
        "regret_p95": _at_most(guided["regret_p95"], REGRET_P95),
        "starts_per_draft": _at_most(guided["starts_per_draft_mean"], STARTS_PER_DRAFT),
        "engine_seconds_vs_grid_confirmed": _at_most(guided["engine_seconds_vs_grid_confirmed"], SECONDS_VS_GRID),
        "growth_error_median": _at_most(guided.get("growth_errors_median"), GROWTH_ERROR),
        "growth_error_p95": _at_most(guided.get("growth_errors_p95"), GROWTH_ERROR),
        "speedup_error_median": _at_most(guided.get("speedup_errors_median"), SPEEDUP_ERROR),
        "speedup_error_p95": _at_most(guided.get("speedup_errors_p95"), SPEEDUP_ERROR),
        "told_as_figures": _at_least(guided.get("told_as_figures"), TOLD_AS_FIGURES),
        "ranges_hold": "rough_errors_p95" not in guided or _at_least(guided.get("ranges_hold"), RANGES_HOLD),
    }
    wrong = [one.slowdown or one.behind for one in (every or by)["guided"]]
    met["confident_wrong_answers"] = fmean(wrong) <= CONFIDENT_WRONG
    for name, told in by.items():
        if name != "guided" and told:
            ours, theirs = paired_regrets(by["guided"], told)
            met[f"beats_{name}"] = ours < theirs
    return met


def paired_regrets(guided: Sequence[Told], other: Sequence[Told]) -> tuple[float, float]:
    """Return guided's and another strategy's mean regret at equal budget, on the searches that both made."""
    ours = {(one.surface, one.life_sd): one.regret for one in guided}
    both = [(ours[at], one.regret_equal) for one in other if (at := (one.surface, one.life_sd)) in ours]
    return fmean(mine for mine, _ in both), fmean(theirs for _, theirs in both)


def by_tag(by: By) -> dict[str, dict[str, Figures]]:
    """Return for each tag of a surface the regrets of each strategy: where does it lose?"""
    every = {one.tags for told in by.values() for one in told}
    tags = [tag for place in zip(*every, strict=True) for tag in sorted(set(place))]
    grid = {(one.surface, one.life_sd): one for one in by.get("grid", ())}
    return {tag: {name: _regrets(tag, told, grid) for name, told in by.items() if told} for tag in tags}


def _regrets(tag: str, told: Sequence[Told], grid: Grid) -> Figures:
    those = [one for one in told if tag in one.tags]
    if not those:
        return {"searches": 0}
    return {
        "searches": len(those),
        "regret_mean": round(100.0 * fmean(one.regret for one in those), 3),
        "regret_p95": percent([one.regret for one in those], 95),
        "regret_equal_mean": round(100.0 * fmean(one.regret_equal for one in those), 3),
        "starts_per_draft_mean": round(fmean(one.starts / one.drafts for one in those), 2),
        **_seconds(those, grid),
    }


def _at_least(value: float | None, least: float) -> bool:
    return value is not None and value >= least


def _at_most(value: float | None, most: float) -> bool:
    return value is not None and value <= most
