"""The pages: whole documents whose links lead somewhere; a real browser, where there is one, does not complain."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from matplotlib.image import imread

from tests.page.page_building import given
from tests.page.reading_html import Element, read
from tests.page.test_browser import BROWSER
from tests.recording_view import RecordingView
from tests.service.browser import browsing
from tests.service.conftest import ORDER, READ, SLUG, Served
from tests.service.running import Server
from tuner.page.build import page_view
from tuner.page.english import ENGLISH
from tuner.page.render import page_html
from tuner.progress import Progress, WorkerProgress
from tuner.service.allowed import Order
from tuner.service.pages.reports import report_policy
from tuner.service.queue.sweeps import Outcome, SweepState
from tuner.service.queue.waiting import Waiting
from tuner.status import KeepingStatus
from tuner.store import RunStore
from tuner.store.reading import RUN_FILE

KEEP = os.environ.get("TUNER_SCREENSHOTS")
"""A directory for the pictures, to look at."""


@pytest.fixture(scope="module")
def report() -> str:
    return page_html(page_view(given()), ENGLISH, "1.2.3")


@pytest.fixture
def pages(setup: dict[str, Any], report: str) -> list[str]:
    """Fill queue and runs; return the paths of pages of every kind."""
    queue = Waiting(setup["state"])
    ended, waits = (queue.add(Order(**{**ORDER, "space": name}), "both")[0] for name in ("two", "tiny"))
    error = Outcome(exit_code=3, error="no baseline succeeded", next_step="Look into the logs.")
    queue.ended(ended.id, SweepState.FAILED, error)
    queue.change(waits.id, state=SweepState.CANCELLED)
    queue.add(Order(**ORDER), "both")
    queue.close()
    run = Path(setup["runs"]) / "org-model" / "default"
    run.mkdir(parents=True)
    (run / RUN_FILE).write_text("{}")
    (run / "report.html").write_text(report, encoding="utf-8")
    return ["/", f"/targets/{SLUG}", "/sweeps", f"/sweeps/{ended.id}", "/sweeps?refresh=true"]


def links(page: Element) -> list[str]:
    return [link.attrs["href"] for link in page.every("a")]


def test_every_page_is_whole_and_every_link_leads_somewhere(
    serve: Callable[..., Served], setup: dict[str, Any], pages: list[str]
) -> None:
    served, seen = serve(setup), set(pages)
    queue = [*pages]
    while queue:
        answer = served.ask("GET", path := queue.pop(), READ)
        assert answer.status_code == 200, path
        if path.endswith("/report"):
            continue
        page = read(answer.text)
        ids = [element.attrs["id"] for element in page.walk() if "id" in element.attrs]
        assert len(ids) == len(set(ids)), path
        for element in page.walk():
            for name in ("aria-labelledby", "for"):
                assert name not in element.attrs or element.attrs[name] in ids
            assert not {"style", "onclick", "src"} & set(element.attrs)
        assert {link[1:] for link in links(page) if link.startswith("#")} <= set(ids)
        new = {link for link in links(page) if link.startswith("/")} - seen
        seen |= new
        queue += new
    assert any(path.endswith("/report") for path in seen)


def test_a_running_sweep_says_how_long_it_may_take(serve: Callable[..., Served], setup: dict[str, Any]) -> None:
    run = Path(setup["runs"]) / "org-model" / "default"
    left = Progress(7, 1, 0, 90.0, 240.0, "good K=4 1.50x", (WorkerProgress("CPU", "good K=4"),), (200.0, 300.0))
    with RunStore.open(run, {"engine": "sim"}, {"target": "t"}):
        KeepingStatus(RecordingView(), run).update(left)
        served = serve(setup)
        (sweep,) = served.ask("GET", "/v1/sweeps").json()["sweeps"]
        assert sweep["progress"]["left_between_s"] == [200.0, 300.0]
        assert "3 min 20 s to 5 min 00 s, then the report" in read(served.ask("GET", "/sweeps").text).words()


def test_a_page_asks_again_only_where_a_reader_wants_that(served: Served) -> None:
    assert "refresh" not in served.ask("GET", "/sweeps").headers
    assert served.ask("GET", "/sweeps?refresh=true").headers["refresh"] == "5"


def test_a_person_is_told_in_a_page_what_went_wrong_and_a_script_in_json(served: Served) -> None:
    wanted = {"Accept": "text/html,*/*;q=0.8"}
    page = served.ask("GET", "/targets/nope", headers=wanted)
    assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "There is no such target." in read(page.text).words()
    assert served.ask("GET", "/v1/targets/nope/history", headers=wanted).json()["status"] == 404


def test_an_empty_registry_says_how_to_fill_it(
    serve: Callable[..., Served], setup: dict[str, Any], tmp_path: Path
) -> None:
    served = serve(setup, registry=str(tmp_path / "nothing"))
    assert "The registry is empty" in served.ask("GET", "/").text


def test_a_report_of_ours_keeps_its_script_and_no_other_does(report: str) -> None:
    policy = report_policy(report.encode())
    assert "script-src 'sha256-" in policy and policy.endswith("sandbox allow-scripts")
    for change in ("'unsafe-inline'", "'self'", "https://evil.example"):
        other = report.replace("script-src &#39;sha256-", f"script-src {change.replace(chr(39), '&#39;')} &#39;sha256-")
        assert other != report
        assert "script-src" not in report_policy(other.encode())


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_the_browser_has_nothing_to_complain_of(setup: dict[str, Any], pages: list[str], tmp_path: Path) -> None:
    server = Server({**setup, "engine": "sim"}, tmp_path / "serve.log")
    try:
        asyncio.run(looked_at(server, pages, Path(KEEP) if KEEP else tmp_path))
    finally:
        server.end()


async def looked_at(server: Server, pages: list[str], out: Path) -> None:
    other = next(one["id"] for one in server.json("/v1/sweeps")["sweeps"] if one["report"])
    assert BROWSER is not None
    async with browsing(BROWSER, out / "profile") as browser:
        for number, path in enumerate([*pages[:4], f"/sweeps/{other}/report"]):
            for theme, width in (("light", 1280), ("dark", 360)):
                await browser.look(f"http://127.0.0.1:{server.port}{path}", theme=theme, width=width, token=READ)
                picture = out / f"{number}-{theme}.png"
                await browser.screenshot(picture)
                assert browser.complaints == [], path
                assert await browser.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, path
                assert bool(imread(picture)[..., :3].mean() > 0.5) is (theme == "light"), path
        await browser.evaluate("document.body.append(Object.assign(document.createElement('script'), {text: 'x'}))")
        await browser.call("Page.enable")
        assert browser.complaints  # what the policy refuses is heard
