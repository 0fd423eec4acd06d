"""The plan against what engines said: recorded ones always, a real one with `make test-real`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.memory.__main__ import PAGE, page_with
from tests.memory.held import FRESH, Held, held
from tuner.preflight.memory_plan import Verdict

TOLERANCE = 0.10
CLOSE = 0.03
"""What the plan reaches on recorded engines: a change that makes it worse shows here before it matters."""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[Held]:
    return held(tmp_path_factory.mktemp("models") / "m")


def test_weights_are_within_a_tenth_of_what_engines_logged(found: list[Held]) -> None:
    errors = {one.case.name: one.weights_error for one in found if one.weights_error is not None}
    assert len(errors) >= 5
    assert {name: error for name, error in errors.items() if abs(error) > TOLERANCE} == {}
    assert max(map(abs, errors.values())) < 0.005


def test_the_kv_cache_is_within_a_tenth_of_what_engines_logged(found: list[Held]) -> None:
    errors = [(one.case.name, one.kv_error) for one in found if one.kv_error is not None]
    assert len(errors) >= 25
    assert [(name, error) for name, error in errors if abs(error) > TOLERANCE] == []
    assert max(abs(error) for _, error in errors) < CLOSE


def test_an_engine_that_no_constant_was_fitted_to(found: list[Held]) -> None:
    fresh = [one for one in found if one.case.kind == FRESH]
    assert fresh
    assert all(one.kv_error is not None and abs(one.kv_error) < TOLERANCE for one in fresh)


def test_graphs_are_of_the_right_size(found: list[Held]) -> None:
    for one in found:
        if one.case.graphs:
            (graphs,) = (part.size for part in one.plan.parts if part.name == "CUDA graphs")
            assert graphs == pytest.approx(one.case.graphs, rel=0.4), one.case.name


def test_what_was_measured_had_room(found: list[Held]) -> None:
    assert {one.case.name: one.plan.verdict for one in found if one.plan.verdict is not Verdict.FITS} == {}


def test_the_page_has_this_table(found: list[Held]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page_with(text, found) == text, "write it with: python -m tests.memory"


def test_models_are_written_once(tmp_path: Path) -> None:
    assert held(tmp_path / "m")
