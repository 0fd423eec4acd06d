"""The tables of docs/bench-search.md, made from the result; the prose around them is written by hand."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "bench-search.md"
Result = Mapping[str, Any]
NAMES = {
    "guided": "guided",
    "grid": "grid (all K)",
    "random": "random",
    "tpe": "TPE",
    "gp": "GP",
    "binary": "binary search on K",
    "goodput": "goodput interpolation",
    "median_mad": "median - MAD (all K)",
}


def write_page(result: Result, page: Path = PAGE) -> None:
    """Put the result's tables between the page's markers. ValueError: a marker is missing."""
    page.write_text(filled(page.read_text(encoding="utf-8"), result), encoding="utf-8")


def filled(text: str, result: Result) -> str:
    """Return the page with its tables made anew. ValueError: a marker is missing."""
    for name, lines in tables(result).items():
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        before, opened, rest = text.partition(begin)
        _, closed, after = rest.partition(end)
        if not opened or not closed:
            raise ValueError(f"the page has no place for {name}")
        text = "".join([before, begin, *(f"{line}\n" for line in lines), end, after])
    return text


def tables(result: Result) -> dict[str, list[str]]:
    """Return the lines of each table by the name of its place."""
    return {
        "run": [_run(result)],
        "strategies": _strategies(result["strategies"]),
        "noise": _noise(result["by_life_sd_percent"]),
        "predictions": _predictions(result["strategies"]["guided"]),
        "bars": _bars(result["bars"]),
        "kinds": _kinds(result["by_kind"]),
        "rough": _strategies(result["rough"]["strategies"]),
        "published": _published(result["published"]),
        "recorded": _recorded(result["recorded"]),
    }


def _run(result: Result) -> str:
    tables, runs = result["published"]["surfaces"], len(result["recorded"]["surfaces"])
    return (
        f"{result['surfaces']} simulated surfaces, {result['rough']['surfaces']} rough ones, {tables} published "
        f"and {runs} recorded ones; seed {result['seed']}, "
        f"commit {result.get('commit', 'unknown')}, {result['wall_s']:.0f} s."
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    align = ["---", *["---:"] * (len(head) - 1)]
    return [f"| {' | '.join(cells)} |" for cells in (head, align, *rows)]


def _strategies(figures: Result) -> list[str]:
    head = (
        "strategy",
        "regret: median",
        "mean",
        "p95",
        "at guided's starts: mean",
        "p95",
        "after fresh lives: mean",
        "p95",
        "starts to locate, per draft",
        "in all",
        "starts to confirm",
        "engine-seconds of the grid's",
        "with confirming",
        "surfaces x noise",
    )
    return _table(head, [[NAMES[name], *_row(of)] for name, of in figures.items()])


def _row(of: Result) -> list[str]:
    regrets = [
        f"{of[key]:.2f} %"
        for key in (
            "regret_median",
            "regret_mean",
            "regret_p95",
            "regret_equal_mean",
            "regret_equal_p95",
            "regret_confirmed_mean",
            "regret_confirmed_p95",
        )
    ]
    starts = [f"{of['starts_per_draft_mean']:.2f}", f"{of['starts_mean']:.1f}", f"{of['starts_confirm_mean']:.1f}"]
    shares = [
        f"{100 * of[key]:.0f} %" if of[key] is not None else "-"
        for key in ("engine_seconds_vs_grid", "engine_seconds_vs_grid_confirmed")
    ]
    return [*regrets, *starts, *shares, str(of["searches"])]


def _noise(levels: Result) -> list[str]:
    head = ["strategy", *(f"life SD {level} %: mean, p95" for level in levels), "confident wrong answers"]
    names = next(iter(levels.values()))
    rows = []
    for name in names:
        cells = [_pair(of[name]) if name in of else "-" for of in levels.values()]
        wrong = sum(of[name]["slowdown_claims"] + of[name]["behind_claims"] for of in levels.values() if name in of)
        count = sum(of[name]["searches"] for of in levels.values() if name in of)
        rows.append([NAMES[name], *cells, f"{wrong} of {count}"])
    return _table(head, rows)


def _pair(of: Result) -> str:
    return f"{of['regret_mean']:.2f} %, {of['regret_p95']:.1f} %"


def _predictions(guided: Result) -> list[str]:
    told = guided.get("told_as_figures", 1.0)
    rows = {
        "growth_errors": ("tokens per step", "-", "-"),
        "speedup_errors": ("speedup, told as a figure", f"{100 * told:.0f} %", "-"),
        "rough_errors": (
            "speedup, told as a range",
            f"{100 * (1 - told):.0f} %",
            f"{100 * guided.get('ranges_hold', 1.0):.1f} %",
        ),
        "all_errors": ("speedup, all", "100 %", "-"),
    }
    found = [
        [words, share, f"{guided[f'{key}_median']:.2f} %", f"{guided[f'{key}_p95']:.2f} %", held]
        for key, (words, share, held) in rows.items()
        if f"{key}_median" in guided
    ]
    head = ("predicted at K that were not measured", "share", "median error", "p95", "the truth is in the range")
    return _table(head, found)


def _bars(bars: Mapping[str, bool]) -> list[str]:
    met = [name for name, good in bars.items() if good]
    missed = [name for name, good in bars.items() if not good]
    return [f"- Met: {', '.join(met) or 'none'}.", f"- Not met: {', '.join(missed) or 'none'}."]


def _kinds(kinds: Mapping[str, Result]) -> list[str]:
    rows = []
    for kind, by_name in kinds.items():
        guided, grid = by_name["guided"], by_name["grid"]
        own = {n: of["regret_mean"] for n, of in by_name.items() if n not in ("guided", "grid", "median_mad")}
        rival = min((name for name in own if by_name[name]["searches"]), key=lambda name: own[name])
        rows.append(
            [
                kind,
                _pair(guided),
                f"{guided['starts_per_draft_mean']:.2f}",
                f"{100 * guided['engine_seconds_vs_grid_confirmed']:.0f} %",
                _pair(grid),
                f"{NAMES[rival]}: {_pair(by_name[rival])}, {by_name[rival]['starts_per_draft_mean']:.2f}",
            ]
        )
    head = (
        "surfaces",
        "guided: mean, p95",
        "starts per draft",
        "engine-seconds of the grid's, with confirming",
        "grid",
        "best of those between, its starts",
    )
    losing = [
        f"{kind} ({', '.join(ahead)})"
        for kind, by_name in kinds.items()
        if (ahead := [NAMES[n] for n, of in by_name.items() if of["regret_mean"] < by_name["guided"]["regret_mean"]])
    ]
    return [
        *_table(head, rows),
        "",
        f"A smaller mean regret than guided's, with more starts: {'; '.join(losing) or 'none'}.",
    ]


def _published(published: Result) -> list[str]:
    rows = [
        [NAMES[name], _pair(of), f"{of['starts_per_draft_mean']:.2f}"] for name, of in published["strategies"].items()
    ]
    sources = [f"- {name}: {source}" for name, source in published["sources"].items()]
    return [*_table(("strategy", "regret: mean, p95", "starts per draft"), rows), "", *sources]


def _recorded(recorded: Result) -> list[str]:
    rows = [
        [
            one["surface"].removeprefix("recorded-"),
            f"{one['draft']} K={one['k']}",
            str(one["concurrency"]),
            f"{_times(one['predicted'])} (SD {100 * one['sd']:.0f} %)",
            f"{_times(one['measured'])}",
            "-" if one["growth_error"] is None else f"{100 * one['growth_error']:.1f} %",
        ]
        for one in recorded["held_out"]
    ]
    head = ("run", "held out", "concurrency", "predicted speedup", "measured", "error of tokens per step")
    searches = [
        f"{NAMES[name]} {of['regret_mean']:.2f} % ({of['starts_per_draft_mean']:.1f})"
        for name, of in recorded["strategies"].items()
    ]
    return [*_table(head, rows), "", f"Mean regret in replay (starts per draft): {', '.join(searches)}."]


def _times(log: float) -> str:
    return f"{math.exp(log):.2f}x"
