"""Every notebook runs from top to bottom on the recorded run, and is kept without outputs."""

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest

NOTEBOOKS = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))


def cells(path: Path) -> list[dict[str, Any]]:
    found = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert isinstance(found, list)
    return [cell for cell in found if cell["cell_type"] == "code"]


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    mpl.use("Agg")
    names: dict[str, Any] = {}
    for cell in cells(path):
        exec(compile("".join(cell["source"]), str(path), "exec"), names)
    if path.stem == "read_a_run":
        assert names["speedup"][1] == pytest.approx(1.30, abs=0.01)
        names["figure"].savefig("/dev/null", format="png")
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_kept_without_outputs(path: Path) -> None:
    for cell in cells(path):
        assert cell["outputs"] == []
        assert cell["execution_count"] is None
