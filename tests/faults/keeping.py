"""Where the results of the long proofs are kept: one document with a part for each."""

from __future__ import annotations

import json
from pathlib import Path

from tuner.records import Json

DOCUMENT = Path(__file__).parents[2] / "docs" / "faults-kills.json"


def keep(part: str, result: dict[str, Json]) -> None:
    """Write one part; the others stay."""
    kept = json.loads(DOCUMENT.read_text()) if DOCUMENT.exists() else {}
    DOCUMENT.write_text(json.dumps({**kept, part: result}, indent=1, sort_keys=True) + "\n")
