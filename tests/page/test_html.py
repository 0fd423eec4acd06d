"""The page as a browser and a screen reader get it."""

from __future__ import annotations

import base64
import hashlib
import itertools
import re
from dataclasses import replace

import pytest

from tests.conftest import build_trial
from tests.page.page_building import CAUSE, LOADS, categorised, given, trials
from tests.page.reading_html import Element, read
from tuner.page.build import page_view
from tuner.page.english import ENGLISH
from tuner.page.given import Given
from tuner.page.markdown import markdown_html
from tuner.page.render import page_html

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&amp;"


def html_of(of: Given) -> str:
    return page_html(page_view(of), ENGLISH, "1.2.3")


@pytest.fixture(scope="module")
def html() -> str:
    failing = build_trial(9, k=7, loads=LOADS, failure="no memory")
    changed = trials(changed_settings=("Disabling X.",))
    return html_of(given([categorised(trial) for trial in [*changed, failing]]))


@pytest.fixture(scope="module")
def page(html: str) -> Element:
    return read(html)


def test_the_document_is_whole(page: Element, html: str) -> None:
    assert html.startswith("<!doctype html>\n")
    (document,) = page.children
    assert document.attrs["lang"] == "en"
    assert [child.tag for child in document.children] == ["head", "body"]
    ids = [element.attrs["id"] for element in page.walk() if "id" in element.attrs]
    assert len(ids) == len(set(ids))
    for link in page.every("a"):
        assert link.attrs["href"].removeprefix("#") in ids
    for element in page.walk():
        for name in ("aria-labelledby", "for"):
            assert name not in element.attrs or element.attrs[name] in ids


def test_two_pages_of_one_run_are_equal(html: str) -> None:
    failing = build_trial(9, k=7, loads=LOADS, failure="no memory")
    again = given([categorised(trial) for trial in [*trials(changed_settings=("Disabling X.",)), failing]])
    assert html_of(again) == html


def test_nothing_is_loaded_from_anywhere(page: Element, html: str) -> None:
    loading = {"src", "srcset", "action", "data", "poster", "background", "xlink:href"}
    for element in page.walk():
        assert not loading & set(element.attrs), element
        assert element.tag not in {"img", "iframe", "object", "embed", "form", "base", "audio", "video", "use"}
        if "href" in element.attrs:
            assert element.attrs["href"].startswith(("#", "data:,"))
    assert not re.findall(r"(?:https?:)?//[a-z]", re.sub(r"(?m)//[ ].*$", "", html))
    assert not re.findall(r"url\(|@import", html)


def test_the_policy_allows_what_is_there_and_nothing_else(page: Element) -> None:
    (policy,) = [
        m.attrs["content"] for m in page.every("meta") if m.attrs.get("http-equiv") == "Content-Security-Policy"
    ]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    for tag, rule in (("style", "style-src"), ("script", "script-src")):
        (element,) = page.every(tag)
        digest = base64.b64encode(hashlib.sha256(element.text.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"
    for element in page.walk():  # the policy would refuse them, and the console would say so
        assert "style" not in element.attrs, element
        assert not [name for name in element.attrs if name.startswith("on")], element


def test_what_is_drawn_is_said_too(page: Element) -> None:
    drawn = page.every("svg")
    assert len(drawn) > 10
    for svg in drawn:
        if svg.attrs.get("role") == "img":
            assert len(svg.attrs["aria-label"]) > 40
        else:
            assert svg.attrs["aria-hidden"] == "true"
    for figure in page.every("figure"):
        assert figure.every("figcaption")[0].words()
        assert [svg for svg in figure.every("svg") if svg.attrs.get("role") == "img"]
    for table in page.every("table"):
        assert all(head.attrs.get("scope") for head in table.every("th"))
        group = table.parent
        assert group is not None
        assert (group.attrs["role"], group.attrs["tabindex"]) == ("group", "0")
        assert group.attrs["aria-label"]


def test_everything_to_operate_has_a_name(page: Element) -> None:
    labelled = {label.attrs["for"] for label in page.every("label")}
    for select in page.every("select"):
        assert select.attrs["id"] in labelled
    names = [button.attrs["aria-label"] for button in page.every("button")]
    assert names and len(names) == len(set(names))
    for tag in ("a", "summary", "option", "h1", "h2", "h3", "h4"):
        assert all(element.words().strip() for element in page.every(tag)), tag


def test_headings_go_down_by_one(page: Element) -> None:
    levels = [int(element.tag[1]) for element in page.walk() if re.fullmatch(r"h[1-6]", element.tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


def test_hostile_names_are_text() -> None:
    measured = [
        replace(trial, record=replace(trial.record, worker=replace(trial.record.worker, device=HOSTILE)))
        for trial in [*trials(HOSTILE, changed_settings=(HOSTILE,)), build_trial(9, k=7, loads=LOADS, failure=HOSTILE)]
    ]
    hostile = replace(CAUSE, what=HOSTILE, subject=HOSTILE, evidence=(HOSTILE,), next_step=HOSTILE)
    of = given(
        [categorised(trial, (HOSTILE, "b")) for trial in measured],
        change=lambda found: replace(found, diagnoses=(hostile,), warnings=(HOSTILE,)),
        target=HOSTILE,
        space_source=HOSTILE,
        env={"A": HOSTILE},
        repeat_with=(HOSTILE,),
    )
    of = replace(of, subtitle=HOSTILE, files={**of.files, "serve.yaml": HOSTILE}, explained=(f"- {HOSTILE}",))
    html = html_of(of)
    page = read(html)
    assert len(page.every("script")) == 1
    assert not page.every("img")
    assert HOSTILE in page.words()
    assert html.lower().count("<script") == 1
    assert not [e for e in page.walk() if [name for name in e.attrs if name.startswith("on")]]


def test_markdown_reads_the_reports_own_marks_alone() -> None:
    html = markdown_html(
        ["## Head", "", "| a | b |", "|---|---:|", "| `x` | **1** |", "", "[l](http://a.b) ![i](c.png) <b> http://d.e"],
        "table",
    )
    assert "<h3>Head</h3>" in html
    assert '<td class="n"><strong>1</strong></td>' in html
    assert '<th scope="col">a</th>' in html
    assert "<code>x</code>" in html
    assert "[l](http://a.b) ![i](c.png) &lt;b&gt; http://d.e" in html
    assert "style=" not in html


def test_the_reader_sees_broken_pages() -> None:
    for broken in ("<p><div></div></p>", "<ul><li>a</ul>", "<td></td>", "<p>a", '<p id="a" id="b"></p>'):
        with pytest.raises(AssertionError):
            read(broken)
