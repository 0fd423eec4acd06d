"""Write docs/faults.md from the marks of the tests, or print it: `python -m tests.faults [--print]`."""

from __future__ import annotations

import contextlib
import io
import sys
from pathlib import Path

import pytest

from tests.faults.matrix import Collected, as_page

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "faults.md"


def with_faults() -> list[Path]:
    """Return the test files that mark faults: the others need not be imported."""
    return sorted(path for path in (ROOT / "tests").rglob("test_*.py") if "@fault(" in path.read_text())


def page() -> str:
    """Return the page of the tests as they are; RuntimeError where they cannot be collected."""
    collected = Collected()
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = pytest.main(
            ["--collect-only", "-q", "-p", "no:cacheprovider", f"--rootdir={ROOT}", *map(str, with_faults())],
            plugins=[collected],
        )
    if code != pytest.ExitCode.OK:
        raise RuntimeError(f"the tests cannot be collected:\n{said.getvalue()}")
    return as_page(collected.rows)


if __name__ == "__main__":
    if "--print" in sys.argv[1:]:
        sys.stdout.write(page())
    else:
        PAGE.write_text(page())
