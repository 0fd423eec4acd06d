"""docs/artifact.md tells the versions; its fields are in docs/reference/artifact.md (tests/reference)."""

from __future__ import annotations

import re
from pathlib import Path

from tuner.artifact.model import SCHEMA_VERSION

PAGE = (Path(__file__).parents[2] / "docs" / "artifact.md").read_text(encoding="utf-8")


def test_every_version_is_on_the_page() -> None:
    assert f"`schema_version` is {SCHEMA_VERSION}." in PAGE
    assert [int(row) for row in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)] == list(range(1, SCHEMA_VERSION + 1))
