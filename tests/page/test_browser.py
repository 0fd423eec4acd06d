"""The page in a real browser, where there is one: Debian's chromium or chromium-headless-shell, or $CHROMIUM."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.page.page_building import categorised, given, trials
from tuner.page.build import page_view
from tuner.page.english import ENGLISH
from tuner.page.render import page_html

BROWSER = os.environ.get("CHROMIUM") or next(
    (found for name in ("chromium-headless-shell", "chromium", "google-chrome") if (found := shutil.which(name))), None
)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")

# What a person does and sees, tried from within; the policy would refuse this script, so it is taken out for it.
LOOK = """<script>
const count = (query) => Array.from(document.querySelectorAll(query)).filter((e) => e.getClientRects().length).length;
const said = {};
said.wide = document.documentElement.scrollWidth - innerWidth;
said.figures = count("figure");
const load = document.getElementById("load");
load.selectedIndex = 1; load.dispatchEvent(new Event("change"));
said.chosen = count("figure");
const mark = document.querySelectorAll("[data-tip]")[2];
mark.dispatchEvent(new PointerEvent("pointerover", {bubbles: true}));
said.tip = document.getElementById("tip").textContent;
const theme = document.getElementById("theme");
for (const name of ["light", "dark"]) {
  theme.value = name; theme.dispatchEvent(new Event("change"));
  said[name] = getComputedStyle(document.body).backgroundColor;
}
document.title = JSON.stringify(said);
</script>"""


@pytest.fixture(scope="module")
def html() -> str:
    return page_html(page_view(given([categorised(trial) for trial in trials()])), ENGLISH, "1.2.3")


def run(page: Path, *options: str, width: int = 1280) -> subprocess.CompletedProcess[str]:
    command: Sequence[str] = [
        str(BROWSER),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={page.parent / 'profile'}",
        f"--window-size={width},900",
        "--enable-logging=stderr",
        "--v=0",
        "--virtual-time-budget=2000",
        *options,
        page.as_uri(),
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)


def complaints(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stderr.splitlines() if "CONSOLE" in line or "Refused" in line]


def test_the_console_stays_silent_on_screen_and_on_paper(tmp_path: Path, html: str) -> None:
    page = tmp_path / "report.html"
    page.write_text(html, encoding="utf-8")
    assert not complaints(run(page, f"--screenshot={tmp_path / 'page.png'}"))
    assert (tmp_path / "page.png").stat().st_size > 20_000
    assert not complaints(run(page, f"--print-to-pdf={tmp_path / 'page.pdf'}"))
    assert (tmp_path / "page.pdf").stat().st_size > 20_000


def test_what_the_policy_refuses_is_heard(tmp_path: Path, html: str) -> None:
    page = tmp_path / "report.html"
    page.write_text(html.replace("</body>", '<p style="color: red" onclick="x()">a</p></body>'), encoding="utf-8")
    assert complaints(run(page, f"--screenshot={tmp_path / 'page.png'}"))


@pytest.mark.parametrize("width", [360, 1280])
def test_it_can_be_used_on_a_phone_and_on_a_desk(tmp_path: Path, html: str, width: int) -> None:
    page = tmp_path / "report.html"
    page.write_text(re.sub(r"<meta http-equiv[^>]*>", "", html).replace("</body>", f"{LOOK}</body>"), encoding="utf-8")
    done = run(page, "--dump-dom", width=width)
    title = re.search(r"<title>(\{.*?\})</title>", done.stdout)
    assert title, done.stdout[:300]
    said = json.loads(title[1])
    assert said["wide"] <= 0  # nothing makes the page scroll sideways
    assert (said["figures"], said["chosen"]) == (6, 2)  # curves and acceptance, at three load points and at one
    assert said["tip"].startswith("good K=3: 1.70x")
    assert said["light"] != said["dark"]
