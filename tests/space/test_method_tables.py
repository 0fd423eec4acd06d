from __future__ import annotations

from pathlib import Path

import pytest

from tuner.space.method_tables import TABLES, default, domain, filled, markdown, method_releases, releases
from tuner.space.methods import METHODS
from tuner.space.options import Kind, Option

PAGE = Path(__file__).parents[2] / "docs" / "methods.md"


def test_the_page_says_what_the_code_says() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert all(f"<!-- table: {name} -->" in page for name in TABLES)
    assert filled(page) == page, "Run: .venv/bin/python -m tuner.space.method_tables docs/methods.md"


def test_a_page_that_lags_behind_is_written_again() -> None:
    page = "before\n<!-- table: versions -->\n| old |\n<!-- end -->\nafter\n"
    again = filled(page)
    assert "| old |" not in again and "| 0.8.5 |" in again
    assert again.startswith("before\n") and again.endswith("<!-- end -->\nafter\n")
    assert filled(again) == again


def test_an_unknown_table_is_an_error() -> None:
    with pytest.raises(KeyError, match="nothing"):
        filled("<!-- table: nothing -->\n<!-- end -->")


@pytest.mark.parametrize("name", TABLES)
def test_every_row_has_every_column(name: str) -> None:
    head, *rows = TABLES[name]()
    assert rows
    assert {len(row) for row in rows} == {len(head)}
    assert all(cell.strip() for row in rows for cell in row)


def test_a_cell_cannot_break_its_table() -> None:
    assert markdown([("a",), ("x|y",)]) == "| a |\n| --- |\n| x\\|y |\n"


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("draft_model", "0.8.5 on, not 0.10.0 to 0.14.1; CPU builds not 0.10.0 to 0.19.1"),
        ("ngram_gpu", "0.18.0 on; no CPU build"),
        ("mtp", "0.11.0 on; CPU builds not 0.11.0 to 0.19.1"),
        ("custom_class", "0.22.0 on"),
        ("medusa", "0.8.5 to 0.32.0; CPU builds not 0.9.1 to 0.19.1"),
    ],
)
def test_words_for_the_releases_of_a_method(method: str, words: str) -> None:
    assert method_releases(METHODS[method]) == words


@pytest.mark.parametrize(
    ("option", "values", "unset"),
    [
        (Option(Kind.INT, 24, low=1), "an integer, 1 or more", "24"),
        (Option(Kind.FLOAT, 0.1, low=0, high=1), "a number, 0 to 1", "0.1"),
        (Option(Kind.BOOL, False), "true or false", "false"),
        (Option(Kind.TEXT, "a", choices=("a", "b")), "a, b", "a"),
        (Option(Kind.TEXT), "text", "-"),
    ],
)
def test_words_for_the_values_of_an_option(option: Option, values: str, unset: str) -> None:
    assert (domain(option), default(option)) == (values, unset)


def test_words_for_a_span() -> None:
    assert [releases("1", None), releases("1", "2"), releases("1", None, ("3", "4"))] == [
        "1 on",
        "1 to 2",
        "1 on, not 3 to 4",
    ]
