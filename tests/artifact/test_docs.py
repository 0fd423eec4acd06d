"""docs/artifact.md names every field."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tuner.artifact.model import SCHEMA_VERSION
from tuner.artifact.schema import published_schema

PAGE = (Path(__file__).parents[2] / "docs" / "artifact.md").read_text(encoding="utf-8")


def test_every_field_is_on_the_page() -> None:
    schema = json.loads(published_schema())
    parts = [schema, *schema["$defs"].values()]
    fields = {name for part in parts for name in part.get("properties", {})}
    named = set(re.findall(r"`([a-z0-9_]+)[`:]|`[a-z_]+\.([a-z_]+)`", PAGE))
    on_page = {word for pair in named for word in pair} | set(re.findall(r"\.([a-z_]+)`", PAGE))
    assert fields - on_page == set()


def test_every_version_is_on_the_page() -> None:
    assert f"`schema_version` is {SCHEMA_VERSION}." in PAGE
    assert [int(row) for row in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)] == list(range(1, SCHEMA_VERSION + 1))
