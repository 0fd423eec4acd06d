"""The comparison page: what it shows of two sweeps whose figures are known by construction."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.compare.sides import at_concurrencies, built_side, trials_of
from tests.page.reading_html import read
from tuner.compare import Outcome, Read, compare
from tuner.page.charts import LEFT
from tuner.page.compared.build import comparison_html, comparison_view
from tuner.page.compared.curves import curve_blocks
from tuner.page.compared.figures import figure_blocks
from tuner.page.compared.given import Compared
from tuner.page.compared.setups import room_blocks
from tuner.page.english import ENGLISH
from tuner.page.view import Charts, Code, Points, Table, Text
from tuner.page.view import Verdict as Card

LOADS = at_concurrencies(1, 8)


def sweep(where: str, *, files_alone: bool = False, **of_trials: Any) -> Read:
    side = built_side(where, loads=LOADS, records=not files_alone, **of_trials)
    return Read(side, () if files_alone else tuple(trials_of(loads=LOADS, **of_trials)))


def compared(old: Read, new: Read) -> Compared:
    return Compared(compare(old.side, new.side), old, new, ENGLISH)


@pytest.fixture(scope="module")
def slower() -> Compared:
    return compared(sweep("old"), sweep("new", speedup=1.2, acceptance=(0.6, 0.4)))


def block(of: Compared, section: str, kind: type) -> Any:
    return next(b for s in comparison_view(of).sections if s.name == section for b in s.blocks if isinstance(b, kind))


def test_the_card_says_worse_and_why(slower: Compared) -> None:
    card = block(slower, "answer", Card)
    assert (card.tone, card.headline) == ("no", "Worse")
    assert card.why.startswith("Speculation got worse (fewer tokens are accepted")
    tiles = {tile.label: tile for tile in card.tiles}
    assert tiles["OLD: speedup"].value == "1.50x"
    assert tiles["NEW: speedup"].value == "1.20x"
    assert tiles["OLD: speedup"].detail.startswith("95 % interval 1.")
    assert (tiles["Things that changed"].value, tiles["Figures that decide"].value) == ("0", "8 of 8")


@pytest.mark.parametrize(
    ("new", "outcome", "advice"),
    [
        ({"speedup": 1.2}, Outcome.WORSE, "Stay with OLD"),
        ({}, Outcome.SAME, "Deploy NEW: nothing that decides became worse"),
        ({"speedup": 2.0}, Outcome.BETTER, "Deploy what NEW recommends"),
        ({"wobble": (0.7, 1.0, 1.4)}, Outcome.CANNOT_TELL, "Neither an upgrade nor a way back"),
    ],
)
def test_each_outcome_has_its_advice(new: dict[str, Any], outcome: Outcome, advice: str) -> None:
    of = compared(sweep("old"), sweep("new", **new))
    assert of.found.outcome is outcome
    assert block(of, "do", Points).items[0].startswith(advice)


def test_what_would_tell_the_causes_apart_can_be_copied() -> None:
    of = compared(sweep("old"), sweep("new"))
    attribution = replace(of.found.attribution, sweeps=("engine as in NEW, draft as in OLD: tuner sweep target",))
    of = replace(of, found=replace(of.found, attribution=attribution))
    code = block(of, "do", Code)
    assert code.text == "tuner sweep target"
    assert "engine as in NEW, draft as in OLD" in code.label


def test_both_curves_are_in_one_chart_for_each_load_point(slower: Compared) -> None:
    charts = next(b for b in curve_blocks(slower) if isinstance(b, Charts))
    assert [chart.load for chart in charts.charts] == [load.key for load in LOADS]
    for chart in charts.charts:
        assert [words for _, words in chart.legend] == [
            "OLD, good: best K = 2 (1.50x)",
            "NEW, good: best K = 2 (1.20x)",
        ]
        old, new = (next(m for m in s.marks if "best" in m.rings) for s in chart.series)
        assert old.y < new.y  # faster is higher
        assert all(any("fresh" in mark.rings for mark in s.marks) for s in chart.series)
        assert chart.level is not None and old.y < chart.level
        assert "OLD, good: K = 2: 1.50x" in chart.label
        assert chart.figures is not None and chart.figures.rows[0][0].text == "2"
        assert min(mark.x for s in chart.series for mark in s.marks) > LEFT
    assert {name for name, _ in charts.keys} == {"interval", "level", "best", "fresh"}


def test_each_figure_is_drawn_with_its_interval_and_its_tolerance(slower: Compared) -> None:
    tables = [b for b in figure_blocks(slower) if isinstance(b, Table)]
    assert [table.load for table in tables] == [load.key for load in LOADS]
    by_name = {row[0].text: row for row in tables[0].rows}
    worse, same = by_name["speedup"], by_name["baseline's TPOT"]
    assert (worse[1].text, worse[1].small) == ("worse", "tolerance 5 %")
    assert worse[0].small == "good K=2"
    span = worse[-1].span
    assert span is not None and span.tone == "no"
    assert 0 <= span.low <= span.value <= span.high < span.band_low < 50 < span.band_high <= 100
    inside = same[-1].span
    assert inside is not None and inside.tone == "open"
    assert inside.band_low < inside.low <= inside.value <= inside.high < inside.band_high


def test_start_times_come_from_the_records_and_are_said_to_be_missing_without() -> None:
    of = compared(sweep("old"), sweep("new", files_alone=True))
    blocks = list(room_blocks(of))
    table = next(b for b in blocks if isinstance(b, Table))
    by_name = {row[0].text: [cell.text for cell in row[1:3]] for row in table.rows}
    lives = [t for t in of.old.trials if t.record.ok and not t.record.candidate.k]
    start = lives[0].record.phases.start_s
    assert by_name["OLD, no speculation"] == [f"{start:.1f} s", str(len(lives))]
    assert by_name["NEW, no speculation"] == ["", ""]
    said = [b.text for b in blocks if isinstance(b, Text)]
    assert [text for text in said if text.startswith("NEW has no records")]
    assert not [text for text in said if text.startswith("OLD has no records")]


def test_two_sweeps_that_advise_against_speculation_have_a_page() -> None:
    slow: dict[str, Any] = {"speedup": 0.8}
    page = comparison_view(compared(sweep("old", **slow), sweep("new", **slow)))
    assert {"answer", "do", "rows", "setups", "room"} <= {section.name for section in page.sections}
    assert "apart" not in {section.name for section in page.sections}


def test_the_page_is_whole_and_names_are_text() -> None:
    hostile = "<img src=x onerror=alert(1)>"
    old, new = sweep(f"{hostile}/old", draft=hostile), sweep("new", draft=hostile)
    html = comparison_html(compare(old.side, new.side), old, new, ENGLISH)
    page = read(html)
    assert not page.every("img")
    assert hostile in page.words()
    assert len(page.every("figure")) == len(LOADS)
    assert html == comparison_html(compare(old.side, new.side), old, new, ENGLISH)
