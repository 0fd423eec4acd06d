"""The reference pages are what the code says, and what they are written from names everything."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.reference.artifact_page import meanings
from tests.reference.pages import DIRECTORY, PAGES
from tests.reference.space_meanings import MEANINGS, SECTIONS
from tests.reference.space_page import every_key
from tests.reference.variables import VARIABLES
from tuner.analysis.metric_table import METRICS, POSITION, Row
from tuner.artifact.part import Part
from tuner.records import LoadFigures
from tuner.report import analysed
from tuner.space.file_model import PARTS

ROOT = Path(__file__).parents[2]
FIGURES = {name: row for rows in METRICS.values() for name, row in rows.items()}


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_in_step(name: str) -> None:
    written = (DIRECTORY / name).read_text(encoding="utf-8")
    assert written == PAGES[name](), "write it anew: python -m tests.reference"


def test_every_key_of_a_search_space_has_a_meaning_and_no_other() -> None:
    assert set(every_key()) == MEANINGS.keys()
    assert SECTIONS.keys() == PARTS.keys()


def test_a_docstring_says_what_its_fields_mean() -> None:
    class Sample(Part):
        """What it is.  More of it.

        one, two: of both.  three: a sentence
        that goes on: with a colon.  null: not known.
        """

        one: int
        two: int
        three: int | None

    head, fields = meanings(Sample)
    assert head == "What it is. More of it. null: not known."
    assert fields == {"one": "of both", "two": "of both", "three": "a sentence that goes on: with a colon"}


@pytest.mark.parametrize("run", ["h200-14b", "h200-7b-lives", "sim-temperatures"])
def test_every_figure_of_a_run_is_in_the_table_with_its_unit_and_formula(run: str) -> None:
    found = analysed(ROOT / "tests" / "data" / run).findings
    loads = [load for trial in found.trials for load in trial.loads]
    assert loads
    for name, row, unit, estimator in _figures(loads):
        assert (unit, estimator) == (row.unit, row.estimator), name


def _figures(loads: list[LoadFigures]) -> Iterator[tuple[str, Row, str, str]]:
    for load in loads:
        yield from ((name, FIGURES[name], one.unit, one.estimator) for name, one in load.figures.items())
        yield from (
            (name, row, one.unit, one.estimator) for name, row in POSITION.items() for one in getattr(load, name)
        )


def _is_environment(node: ast.expr) -> bool:
    return (isinstance(node, ast.Attribute) and node.attr == "environ") or (
        isinstance(node, ast.Name) and node.id in ("env", "environ")
    )


def read_by(source: str) -> set[str]:
    """Return the environment variables that a program reads by name, from os.environ or something called so."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        name: ast.expr | None = None
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and _is_environment(node.value):
            name = node.slice
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is_environment(node.func.value):
            name = node.args[0] if node.func.attr == "get" and node.args else None
        elif isinstance(node, ast.Compare) and _is_environment(node.comparators[0]):
            name = node.left
        elif isinstance(node, ast.keyword) and node.arg == "envvar":
            name = node.value
        if isinstance(name, ast.Constant) and isinstance(name.value, str):
            found.add(name.value)
    return found


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ('os.environ.get("A")', {"A"}),
        ('env["A"] or environ.get("B", "")', {"A", "B"}),
        ('"A" in os.environ', {"A"}),
        ('option(envvar="A")', {"A"}),
        ('os.environ["A"] = "1"; os.environ.setdefault("B", "1"); values.get("C")', set()),
    ],
)
def test_which_variables_a_program_reads(source: str, names: set[str]) -> None:
    assert read_by(source) == names


def test_every_variable_that_is_read_is_on_the_page() -> None:
    engines = {"scripts", "sim"}  # these run as an engine, or in one's Python: what they read the tuner gives them
    program = (path for path in (ROOT / "tuner").rglob("*.py") if not engines & set(path.parts))
    read = {name for path in program for name in read_by(path.read_text(encoding="utf-8"))}
    assert {"TUNER_REGISTRY", "RAY_ADDRESS", "CI"} <= read
    assert read - VARIABLES.keys() == set()
