"""The closing table: every figure is whole, however narrow the terminal is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tuner.cli.closing import closing_table
from tuner.report import Report, analysed

DATA = Path(__file__).parents[1] / "data"


@pytest.fixture(scope="module")
def report() -> Report:
    found = analysed(DATA / "h200-7b-lives")
    return Report(Path("runs/x"), found.manifest, found.findings, frozenset(), found.explanation, found.records)


def figures(text: str) -> list[str]:
    """Return the speedups of the table with their intervals."""
    return re.findall(r"  +(\d\.\d\dx(?: \(\S+\))?)", text.partition("inconclusive")[0])


@pytest.mark.parametrize("width", [40, 60, 80])
def test_no_figure_and_no_name_is_cut_off(report: Report, width: int) -> None:
    text = closing_table(report, width)
    assert "…" not in text
    whole = ("runs/x", "  tuner sweep ")  # what is copied is not broken
    assert max(len(line) for line in text.splitlines() if not any(part in line for part in whole)) <= width
    assert figures(text) == figures(closing_table(report, 200))
    assert len(figures(text)) == 8
    assert "good K=5, 2 lives" in text


def test_a_wide_terminal_has_the_other_columns_too(report: Report) -> None:
    wide, narrow = closing_table(report, 80), closing_table(report, 40)
    assert all(column in wide and column not in narrow for column in ("TPOT  ", "acceptance  ", "length"))


@pytest.mark.parametrize("width", [40, 80])
def test_the_star_has_its_meaning_below_the_table(report: Report, width: int) -> None:
    text = closing_table(report, width)
    assert "* the answer" in text.splitlines()
