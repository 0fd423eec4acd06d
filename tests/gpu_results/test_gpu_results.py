"""The page of GPU results is what the recorded runs give."""

from __future__ import annotations

import pytest

from tests.gpu_results.__main__ import PAGE
from tests.gpu_results.page import DATA, RUNS, page, results

HINT = "write it anew with: python -m tests.gpu_results"


@pytest.fixture(scope="module")
def written() -> str:
    return page(results())


def test_the_page_is_in_step_with_the_records(written: str) -> None:
    assert PAGE.read_text(encoding="utf-8") == written, HINT


def test_every_recorded_gpu_run_is_on_it(written: str) -> None:
    recorded = {path.name for path in DATA.glob("h200-*")}
    assert recorded == {run.name for run in RUNS}
    assert all(f"## {name}\n" in written for name in recorded)


def test_an_engine_starts_faster_again_where_compiled_code_is_kept(written: str) -> None:
    (row,) = [line for line in written.splitlines() if line.startswith("| h200-14b-shallow | ") and "n = " in line][-1:]
    first, later = (float(cell.split(" ")[1].split(",")[0]) for cell in row.split("|")[2:4])
    assert later < first
