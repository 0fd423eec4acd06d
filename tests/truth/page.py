"""docs/bench-truth.md from a kept result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

COLUMNS = (
    ("covers the truth", "coverage"),
    ("covers, prompts like these", "coverage_similar_prompts"),
    ("calls a difference where there is none", "aa_false_rate"),
    ("misses an effect", "missed_rate"),
    ("reverses one", "reversed_rate"),
    ("smallest effect (median)", "mde_median"),
)
BARS = {
    "coverage": "coverage",
    "aa_false_rate": "differences where there are none",
    "missed_rate": "missed effects",
    "reversed_rate": "reversed effects",
    "slowdown_recommended_rate": "slowdowns recommended",
    "lower_bound": "recommendations with a lower bound of 1 or less",
}
BEGIN, END = "<!-- result: written by --keep -->", "<!-- /result -->"


def page(old: str, result: Mapping[str, Any]) -> str:
    """Return the page with the part between its two marks made new from `result`.  Raises ValueError without marks."""
    before, _, rest = old.partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        raise ValueError(f"the page has no part between {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{result_text(result)}\n{END}{after}"


def result_text(result: Mapping[str, Any]) -> str:
    """Return the table, what random surfaces led to, and which bars were missed."""
    regimes = {name: scores for name, scores in result["regimes"].items() if name != "surfaces"}
    header = ["noise", *(words for words, _ in COLUMNS), "lives (median)", "sweeps"]
    lines = [
        f"Commit {result['commit']}, seed {result['seed']}:",
        "",
        f"| {' | '.join(header)} |",
        f"|---|{'---:|' * (len(header) - 1)}",
    ]
    for name, scores in regimes.items():
        cells = [name, *(_percent(scores.get(key)) for _, key in COLUMNS)]
        lines.append(f"| {' | '.join([*cells, format(scores['lives_median'], 'g'), str(scores['sweeps'])])} |")
    return "\n".join([*lines, "", *_surfaces(result["regimes"].get("surfaces")), *_missed(result["bars"])])


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}".replace("%", " %")


def _surfaces(scores: Mapping[str, Any] | None) -> list[str]:
    if scores is None:
        return []
    return [
        f"Of {scores['sweeps']} sweeps of random surfaces {_percent(scores['slowdown_recommended_rate'])} recommended "
        f"a candidate that is truly slower by more than 1 %, and "
        f"{scores['recommended_at_a_lower_bound_of_1_or_less']} recommended one with a lower bound of 1 or less.",
        "",
    ]


def _missed(bars: Mapping[str, Mapping[str, bool]]) -> list[str]:
    missed = [
        f"{BARS[bar]} under `{name}`" for name, of_one in bars.items() for bar, good in of_one.items() if not good
    ]
    return [f"Outside the bars: {', '.join(missed)}." if missed else "All bars are met."]
