"""Every notebook runs from top to bottom on recorded runs, says why before each cell, and is kept without outputs."""

import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest

NOTEBOOKS = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))
Names = dict[str, Any]


def _speedup_by_hand(names: Names) -> None:
    assert names["speedup"][1] == pytest.approx(1.30, abs=0.01)


def _tokens_are_foretold(names: Names) -> None:
    told = names["told"].set_index(["concurrency", "k"])["tokens_per_step"]
    counted = names["curves"].query("k > 0").set_index(["concurrency", "k"])["acceptance_length"]
    assert (told / counted - 1).abs().max() < 0.05
    assert names["within"] > 0.5


def _good_pays_and_needs_less_than_it_has(names: Names) -> None:
    good = names["own"].loc["good"]
    assert good["has"] > good["needed"]
    assert names["parts"].loc[("good", 3), "speedup"] == pytest.approx(1.30, abs=0.01)
    at_breakeven = names["speedup"][50, 50]  # acceptance 0.5, a token costs half a step: K = 1 brings what it costs
    assert at_breakeven == pytest.approx(1.0, abs=0.01)


def _acceptance_falls(names: Names) -> None:
    first = names["longest"].query("position == 1").sort_values("temperature")["acceptance"]
    assert first.is_monotonic_decreasing and len(first) == 4


def _nothing_can_be_told(names: Names) -> None:
    assert set(names["rows"]["outcome"]) == {"cannot tell"}
    assert names["rows"].set_index("figure").loc["acceptance_length", "ratio"] == 1.0


SHOWS: dict[str, Callable[[Names], None]] = {
    "read_a_run": _speedup_by_hand,
    "k_curve": _tokens_are_foretold,
    "choose_a_draft": _good_pays_and_needs_less_than_it_has,
    "temperature": _acceptance_falls,
    "compare_an_upgrade": _nothing_can_be_told,
}
"""What each notebook says, held against its own values."""


def cells(path: Path) -> list[dict[str, Any]]:
    found = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert isinstance(found, list)
    return found


def code(path: Path) -> list[dict[str, Any]]:
    return [cell for cell in cells(path) if cell["cell_type"] == "code"]


@pytest.fixture
def no_window() -> Iterator[None]:
    import matplotlib.pyplot as plt

    mpl.use("Agg")
    yield
    plt.close("all")


def test_each_notebook_has_its_check() -> None:
    assert {path.stem for path in NOTEBOOKS} == SHOWS.keys()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs_and_shows_what_it_says(path: Path, monkeypatch: pytest.MonkeyPatch, no_window: None) -> None:
    monkeypatch.chdir(path.parent)
    names: Names = {}
    for cell in code(path):
        exec(compile("".join(cell["source"]), str(path), "exec"), names)
    SHOWS[path.stem](names)
    names["figure"].savefig("/dev/null", format="png")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_words_come_before_each_cell(path: Path) -> None:
    kinds = [cell["cell_type"] for cell in cells(path)]
    assert kinds[0] == "markdown"
    assert ("code", "code") not in set(pairwise(kinds))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_uses_public_functions_alone(path: Path) -> None:
    text = "".join(line for cell in code(path) for line in cell["source"])
    assert [
        line for line in text.splitlines() if "tuner" in line and "import" in line and "tuner.frames" not in line
    ] == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_kept_without_outputs(path: Path) -> None:
    for cell in code(path):
        assert cell["outputs"] == []
        assert cell["execution_count"] is None
