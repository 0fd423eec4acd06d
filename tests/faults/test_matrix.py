"""docs/faults.md is what the tests say."""

from __future__ import annotations

import subprocess
import sys

from tests.faults.__main__ import PAGE, ROOT
from tests.faults.matrix import Fault, Group, as_page

HINT = "write it anew with: python -m tests.faults"


def test_the_page_is_in_step_with_the_tests() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults", "--print"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == PAGE.read_text(), HINT


def test_a_row_names_its_test() -> None:
    page = as_page([Fault(Group.ENGINE, "crashes", "one failed trial", "the others", "tests/a.py::test_b")])
    assert "## An engine fails" in page
    assert "| crashes | one failed trial | the others | `tests/a.py::test_b` |" in page
