"""Which pages there are, and what writes each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from tests.reference.artifact_page import artifact_page
from tests.reference.cli_page import cli_page
from tests.reference.metrics_page import metrics_page
from tests.reference.space_page import space_page

DIRECTORY = Path(__file__).parents[2] / "docs" / "reference"
_NOTE = "\nWritten from the code by `python -m tests.reference`.\n"


def _noted(page: Callable[[], str]) -> Callable[[], str]:
    return lambda: page() + _NOTE


PAGES: Mapping[str, Callable[[], str]] = {
    "cli.md": _noted(cli_page),
    "space.md": _noted(space_page),
    "artifact.md": _noted(artifact_page),
    "metrics.md": _noted(metrics_page),
}
