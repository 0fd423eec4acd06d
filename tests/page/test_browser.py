"""Every page in a real browser, where there is one: Debian's chromium or chromium-headless-shell, or $CHROMIUM."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from tests.compare.sides import at_concurrencies, built_side, trials_of
from tests.page.page_building import categorised, given, trials
from tests.page.test_past import build_config, judged, over
from tuner.compare import Read, compare
from tuner.page.build import page_view
from tuner.page.compared.build import comparison_html
from tuner.page.languages import LANGUAGES
from tuner.page.past.build import history_html
from tuner.page.render import page_html
from tuner.page.words import Words
from tuner.records import Verdict

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

BROWSER = os.environ.get("CHROMIUM") or next(
    (found for name in ("chromium-headless-shell", "chromium", "google-chrome") if (found := shutil.which(name))), None
)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")

LOOK = (Path(__file__).parent / "looking.js").read_text(encoding="utf-8")
NO_COMPLAINT = {
    "sideways": 0,
    "pale": [],
    "crossing": [],
    "cut": [],
    "silent": [],
    "nameless": [],
    "columns": [],
}
REACHED_BY_TAB = "a[href], button, select, summary, [tabindex='0']"
MOST_TABS = 400


def report_page(words: Words, root: Path) -> str:
    of = given([categorised(trial) for trial in trials()])
    return page_html(page_view(of), words, "1.2.3")


def comparison_page(words: Words, root: Path) -> str:
    loads = at_concurrencies(1, 8)
    old, new = (
        Read(built_side(name, loads=loads, speedup=speedup), tuple(trials_of(loads=loads, speedup=speedup)))
        for name, speedup in (("old", 1.5), ("new", 1.2))
    )
    return comparison_html(compare(old.side, new.side), old, new, words)


def history_page(words: Words, root: Path) -> str:
    releases = [build_config(), build_config("0.27.0"), judged(Verdict.INCONCLUSIVE, "0.28.0"), build_config("0.29.0")]
    return history_html(over(root / "registry", releases).found, words)


PAGES: Mapping[str, Callable[[Words, Path], str]] = {
    "report": report_page,
    "comparison": comparison_page,
    "history": history_page,
}
EACH = [(name, language) for name in PAGES for language in LANGUAGES]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Path]:
    found = {}
    for name, language in EACH:
        root = tmp_path_factory.mktemp(f"{name}-{language}")
        found[name, language] = root / "page.html"
        found[name, language].write_text(PAGES[name](LANGUAGES[language], root), encoding="utf-8")
    return found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with driver.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def heard() -> list[str]:
    """What the console said and what was asked of any network."""
    return []


@pytest.fixture
def opened(browser: Browser, heard: list[str]) -> Iterator[Callable[..., Page]]:
    """Yield a function that opens a page in a theme at a width."""
    contexts = []

    def open_page(file: Path, theme: Literal["light", "dark"] = "light", width: int = 1200) -> Page:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda said: heard.append(said.text))
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.on(
            "request", lambda asked: heard.append(asked.url) if asked.url not in (file.as_uri(), "data:,") else None
        )
        page.goto(file.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()


Opened = Callable[..., "Page"]
Written = Mapping[tuple[str, str], Path]


@pytest.mark.parametrize("width", [360, 1200])
@pytest.mark.parametrize(("name", "language"), EACH)
def test_it_can_be_read(
    written: Written, opened: Opened, heard: list[str], name: str, language: str, width: int
) -> None:
    """In both themes: nothing pale, cut or over other text, no sideways scroll, no word to the console or a network."""
    for theme in ("light", "dark"):
        page = opened(written[name, language], theme, width)
        page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
        assert page.evaluate(LOOK) == NO_COMPLAINT, theme
    assert not heard


@pytest.mark.parametrize("name", PAGES)
def test_every_control_is_reached_by_the_keyboard_and_seen_there(written: Written, opened: Opened, name: str) -> None:
    page = opened(written[name, "en"])
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    wanted = page.evaluate(
        f"""[...document.querySelectorAll("{REACHED_BY_TAB}")].filter((one) => one.getClientRects().length
        || one.className === "skip").map((one, i) => {{ one.dataset.number = i; return i; }})"""
    )
    reached = []
    for _ in range(min(len(wanted) + 2, MOST_TABS)):
        page.keyboard.press("Tab")
        number, ring = page.evaluate(
            "[document.activeElement.dataset.number, getComputedStyle(document.activeElement).outlineStyle]"
        )
        if number is None:
            break
        assert ring != "none", number
        reached.append(int(number))
    assert sorted(reached) == wanted
    assert reached == sorted(reached)  # in the order in which they stand


@pytest.mark.parametrize("name", PAGES)
def test_it_prints_whole(written: Written, opened: Opened, heard: list[str], name: str) -> None:
    page = opened(written[name, "en"], "dark")
    assert len(page.pdf()) > 20_000
    page.emulate_media(media="print")
    hidden = page.evaluate(
        "[...document.querySelectorAll('header select, nav')].filter((e) => e.getClientRects().length)"
    )
    assert not hidden
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not heard


@pytest.mark.parametrize("width", [360, 1200])
def test_a_load_point_and_a_theme_can_be_chosen_and_a_mark_asked(written: Written, opened: Opened, width: int) -> None:
    page = opened(written["report", "en"], width=width)
    shown = "[...document.querySelectorAll('figure')].filter((e) => e.getClientRects().length).length"
    assert page.evaluate(shown) == 6  # curves and acceptance, at three load points
    page.select_option("#load", index=1)
    assert page.evaluate(shown) == 2
    page.locator("[data-tip]").nth(2).hover()
    assert (page.text_content("#tip") or "").startswith("good K=3: 1.70x")
    grounds = []
    for theme in ("light", "dark"):
        page.select_option("#theme", theme)
        grounds.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert grounds[0] != grounds[1]


def test_what_the_policy_refuses_is_heard(written: Written, opened: Opened, heard: list[str], tmp_path: Path) -> None:
    broken = tmp_path / "page.html"
    html = written["report", "en"].read_text(encoding="utf-8")
    broken.write_text(html.replace("</body>", '<p style="color: red" onclick="x()">a</p></body>'), encoding="utf-8")
    opened(broken)
    assert heard


def test_what_cannot_be_read_is_seen(written: Written, opened: Opened, tmp_path: Path) -> None:
    """The look itself: a pale text, a drawing that says nothing, a wide block and a button without a name."""
    broken = tmp_path / "page.html"
    html = re.sub(r"<meta http-equiv[^>]*>", "", written["report", "en"].read_text(encoding="utf-8"))
    bad = '<div style="color: #bbb; width: 3000px">pale</div><svg></svg><button></button></body>'
    broken.write_text(html.replace("</body>", bad), encoding="utf-8")
    seen = opened(broken).evaluate(LOOK)
    assert seen["sideways"] > 0
    assert [text for text in seen["pale"] if text.endswith("pale")]
    assert len(seen["silent"]) == len(seen["nameless"]) == 1
