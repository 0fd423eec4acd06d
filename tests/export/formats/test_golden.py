"""Each format as it was agreed, and the page that shows it. Both are written by tests.export.formats.examples."""

from __future__ import annotations

import re

import pytest

from tests.export.formats.examples import GOLDEN, PAGE, golden, page
from tuner.cli.export import export
from tuner.export.formats import FORMATS


@pytest.mark.parametrize("name", golden())
def test_it_is_written_as_agreed(name: str) -> None:
    assert golden()[name] == (GOLDEN / name).read_text(encoding="utf-8")


def test_no_golden_file_is_left_over() -> None:
    assert {path.name for path in GOLDEN.iterdir()} == set(golden())


def test_the_page_shows_every_format_as_it_is_now() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page(text) == text, "run: python -m tests.export.formats.examples"
    assert re.findall(r"<!-- ([\w-]+) -->", text) == list(FORMATS)


def test_the_page_names_every_option_and_no_other() -> None:
    text = PAGE.read_text(encoding="utf-8")
    options = {option for parameter in export.params for option in parameter.opts if option.startswith("--")}
    rows = [line for line in text.splitlines() if line.startswith("| `--")]
    assert set(re.findall(r"`(--[\w-]+)", "".join(row.split(" | ")[0] for row in rows))) == options
