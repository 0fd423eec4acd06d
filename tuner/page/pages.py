"""The pages of a run, as files."""

from __future__ import annotations

from tuner.page.build import page_view
from tuner.page.given import Given
from tuner.page.pull_request import pull_request_markdown
from tuner.page.render import page_html

PAGE = "report.html"
PULL_REQUEST = "pull_request.md"


def pages(given: Given) -> dict[str, str]:
    """Return file name -> text."""
    return {
        PAGE: page_html(page_view(given), given.words, given.manifest.tuner_version),
        PULL_REQUEST: pull_request_markdown(given),
    }
