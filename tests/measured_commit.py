"""Which commit a kept benchmark result is of."""

from __future__ import annotations

import subprocess
from pathlib import Path


def measured_commit() -> str:
    """Return the short hash of the commit that is checked out, "unknown" outside a repository."""
    asked = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip() or "unknown"
