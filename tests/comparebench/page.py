"""The table of docs/comparing.md, made from the result; the prose around it is written by hand."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "comparing.md"
BEGIN, END = "<!-- bench -->\n", "<!-- end of bench -->"
NOISE_WORDS = {
    "both_0.5": "0.5 %, all engines",
    "speculating_1": "1 %, speculating engines",
    "both_1": "1 %, all engines",
}
PLANT_WORDS = {
    "nothing": "nothing",
    "acceptance": "acceptance length -10 %",
    "engine": "engine 10 % faster",
    "both": "both",
}


def write_page(result: Mapping[str, Any], page: Path = PAGE) -> None:
    """Put the table between the page's markers. ValueError: a marker is missing."""
    page.write_text(filled(page.read_text(encoding="utf-8"), result), encoding="utf-8")


def filled(text: str, result: Mapping[str, Any]) -> str:
    """Return the page with its table made anew. ValueError: a marker is missing."""
    before, opened, rest = text.partition(BEGIN)
    _, closed, after = rest.partition(END)
    if not opened or not closed:
        raise ValueError("the page has no place for the table")
    return "".join([before, BEGIN, *(f"{line}\n" for line in table(result)), END, after])


def table(result: Mapping[str, Any]) -> list[str]:
    """Return the lines of the table."""
    columns = ("life to life", "planted", "named rightly", "false alarms", "better", "same", "worse", "cannot tell")
    lines = [f"| {' | '.join(columns)} |", "|---|---|---:|---:|---:|---:|---:|---:|"]
    for noise, by_plant in result["noises"].items():
        for name, rates in by_plant.items():
            shares = [rates[outcome] for outcome in ("better", "same", "worse", "cannot tell")]
            alarms = f"{100 * rates['false_alarms']:.0f} %" if "false_alarms" in rates else ""
            cells = [NOISE_WORDS[noise], PLANT_WORDS[name], f"{100 * rates['named']:.0f} %", alarms]
            lines.append(f"| {' | '.join([*cells, *(f'{100 * share:.0f} %' for share in shares)])} |")
    return lines
