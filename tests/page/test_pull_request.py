"""The comment for a pull request."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tests.conftest import build_trial
from tests.page.page_building import CAUSE, LOADS, given, trials
from tuner.page.pull_request import markdown_text, pull_request_markdown

GOLDEN = Path(__file__).parents[1] / "golden" / "pull_request.md"
LIMIT = 65_536
"""Characters that GitHub takes for a comment."""


def test_the_comment_is_as_agreed() -> None:
    causes = tuple(replace(CAUSE, what=f"Cause {i}.") for i in range(5))
    found = given(change=lambda f: replace(f, diagnoses=causes, warnings=("mind this",)), env={"A": "1"})
    assert pull_request_markdown(found) == GOLDEN.read_text(encoding="utf-8")


def test_without_a_recommendation_there_is_no_table_of_it() -> None:
    slow = given([build_trial(0, loads=LOADS, tpot=0.02), build_trial(1, k=3, loads=LOADS, tpot=0.03)])
    text = pull_request_markdown(slow)
    assert "| load point |" not in text
    assert "vllm serve --config serve.yaml" in text


def test_many_load_points_and_warnings_stay_within_the_limit() -> None:
    loads = tuple(replace(LOADS[0], concurrency=c) for c in range(1, 31))
    many = [build_trial(0, loads=loads, tpot=0.02), build_trial(1, k=3, loads=loads, tpot=0.01)]
    text = pull_request_markdown(given(many, loads))
    assert "18 more load points in the report." in text
    assert len(text) < LIMIT


@pytest.mark.parametrize(
    "text",
    [
        "a | b",
        "<img src=x>",
        "`x` **y** _z_",
        "[a](http://b.c)",
        "# head",
        "- item",
        "a & b &lt;",
        "x\n\n## y",
        "~~no~~",
    ],
)
def test_text_formats_nothing(text: str) -> None:
    html = MarkdownIt("gfm-like", {"linkify": False}).render(f"{markdown_text(text)}\n")
    assert html.startswith("<p>") and html.count("<") == 2
    shown = html.replace("<p>", "").replace("</p>\n", "").replace("\u200b", "")
    plain = shown.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"').replace("&amp;", "&")
    assert plain == " ".join(text.split())


def test_nobody_is_called_and_nothing_is_linked_to() -> None:
    assert markdown_text("@octocat and #12") == "@\u200boctocat and \\#\u200b12"


def test_hostile_names_stay_in_their_cells() -> None:
    text = pull_request_markdown(given(trials("a|b<b>")))
    rows = [line for line in text.splitlines() if line.startswith("| chat")]
    assert {row.replace("\\|", "").count("|") for row in rows} == {7}
    assert "<b>" not in text.replace("\\<b", "")
