"""Pages of recorded runs: how large they are, how long they take, and whether they are whole."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

import tuner.report
from tests.page.reading_html import read
from tuner.cli.report import report
from tuner.page import pages
from tuner.page.given import Given

RECORDED = Path(__file__).parents[1] / "data"
LARGEST = 1_500_000
LONGEST_S = 2.0


@pytest.fixture
def no_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuner.report, "save_plots", lambda *_, **__: ())


@pytest.mark.usefixtures("no_plots")
@pytest.mark.parametrize("name", ["h200-14b", "h200-7b-lives"])
def test_a_recorded_run_has_a_small_page_in_no_time(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    took: list[float] = []

    def timed(given: Given) -> dict[str, str]:
        began = time.process_time()
        found = pages.pages(given)
        took.append(time.process_time() - began)
        return found

    monkeypatch.setattr(tuner.report, "pages", timed)
    run = shutil.copytree(RECORDED / name, tmp_path / "run")
    tuner.report.write_report(run)
    html = (run / pages.PAGE).read_text(encoding="utf-8")
    assert len(html.encode()) < LARGEST
    assert took[0] < LONGEST_S
    page = read(html)
    assert len(page.every("figure")) >= 4
    assert "NVIDIA H200" in page.every("header")[0].words()


@pytest.mark.usefixtures("no_plots")
def test_the_command_prints_what_is_asked_for_and_writes_all(tmp_path: Path) -> None:
    run = shutil.copytree(RECORDED / "h200-7b-ngram-gpu", tmp_path / "run")
    first = {"html": "<!doctype html>", "md": "# Speculative decoding", "pr": "### Speculative decoding"}
    for printed, begins in first.items():
        done = CliRunner().invoke(report, [str(run), "--format", printed])
        assert done.exit_code == 0, done.output
        assert done.output.startswith(begins)
    done = CliRunner().invoke(report, [str(run)])
    assert f"page: {run / pages.PAGE}" in done.output
    for name in (pages.PAGE, pages.PULL_REQUEST, "report.md"):
        assert (run / name).is_file()
