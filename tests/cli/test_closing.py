"""The closing table: every figure is whole, however narrow the terminal is."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tuner.cli.closing import closing_table
from tuner.records import ScheduleAnswer
from tuner.report import Report, analysed
from tuner.report_sections.schedule import schedule_section

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


def test_no_k_schedule_is_spoken_of_where_no_draft_is_recommended(report: Report) -> None:
    none = ScheduleAnswer(0.0, "No draft is recommended, so there is no K that a schedule could vary.")
    undecided = replace(report, findings=replace(report.findings, schedules=(none,)))
    assert "K schedule" not in closing_table(undecided, 200)
    assert list(schedule_section(undecided.findings)) == []
    (answer,) = report.findings.answers
    assert answer.runner_up is not None
    recommended = replace(undecided.findings, answers=(replace(answer, best=answer.runner_up),))
    assert any(none.why in line for line in schedule_section(recommended))
