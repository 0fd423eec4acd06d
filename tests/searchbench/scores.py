"""From single searches to the figures of the result, and the bars that they must meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

import numpy as np

from tests.searchbench.replay import CONFIRM_STARTS, Told

Figures = dict[str, float | int | None]
By = Mapping[str, Sequence[Told]]
"""Searches by strategy."""

REGRET_MEDIAN, REGRET_P95 = 0.5, 2.0
"""Per cent."""
STARTS_PER_DRAFT = 4.0
SECONDS_VS_GRID = 0.45
GROWTH_ERROR, SPEEDUP_ERROR = 3.0, 5.0
"""Per cent of the true value, at K that guided did not measure; the median and the p95 are held against it each."""
CONFIDENT_WRONG = 0.005
"""Of all searches, at any noise."""


def percent(regrets: Sequence[float], share: float) -> float:
    """Return a percentile of differences of logs, in per cent of the TPOT."""
    return round(100.0 * float(np.percentile(regrets, share)), 3)


def figures(told: Sequence[Told], grid: Mapping[tuple[str, float], Told]) -> Figures:
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
        "starts_confirm_mean": CONFIRM_STARTS,
        "engine_seconds_vs_grid": None,
        "engine_seconds_vs_grid_confirmed": None,
        "slowdown_claims": sum(one.slowdown for one in told),
        "behind_claims": sum(one.behind for one in told),
    }
    pairs = [(one, grid[at]) for one in told if (at := (one.surface, one.life_sd)) in grid]
    if pairs:
        found["engine_seconds_vs_grid"] = round(fmean(one.locate_s / all_.locate_s for one, all_ in pairs), 3)
        found["engine_seconds_vs_grid_confirmed"] = round(
            fmean((one.locate_s + one.confirm_s) / (all_.locate_s + all_.confirm_s) for one, all_ in pairs), 3
        )
    for name in ("growth_errors", "speedup_errors", "dropped_errors"):
        errors = [error for one in told for error in getattr(one, name)]
        if errors:
            found |= {f"{name}_median": percent(errors, 50), f"{name}_p95": percent(errors, 95)}
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
    return {tag: {name: _regrets(tag, told) for name, told in by.items() if told} for tag in tags}


def _regrets(tag: str, told: Sequence[Told]) -> Figures:
    those = [one for one in told if tag in one.tags]
    if not those:
        return {"searches": 0}
    return {
        "searches": len(those),
        "regret_mean": round(100.0 * fmean(one.regret for one in those), 3),
        "regret_p95": percent([one.regret for one in those], 95),
        "regret_equal_mean": round(100.0 * fmean(one.regret_equal for one in those), 3),
        "starts_per_draft_mean": round(fmean(one.starts / one.drafts for one in those), 2),
    }


def _at_most(value: float | None, most: float) -> bool:
    return value is not None and value <= most
