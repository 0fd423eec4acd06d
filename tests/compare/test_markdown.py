"""The comment for a pull request, word for word; and that names from outside cannot break it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.compare.sides import BASE_S, at_concurrencies, built_side
from tuner.artifact.model import Engine
from tuner.compare.comparison import Comparison, compare
from tuner.compare.document import document
from tuner.compare.markdown import MARKER, markdown
from tuner.compare.sides import Side

GOLDEN = Path(__file__).parents[1] / "golden" / "compare.md"


def on(side: Side, version: str, target: str | None = None) -> Side:
    config = side.config
    measured_on = config.measured_on.model_copy(update={"engine": Engine(version=version, build="cpu")})
    changed = config.model_copy(update={"measured_on": measured_on, "target": target or config.target})
    return replace(side, config=changed)


def upgraded(target: str | None = None) -> Comparison:
    first, second, third = at_concurrencies(1, 8, 32)
    wobble = (0.997, 1.0, 1.002)
    old = built_side("runs/before/best_config.yaml", loads=(first, second), wobble=wobble)
    new = built_side(
        "runs/after/best_config.yaml",
        loads=(first, second, third),
        wobble=(0.992, 1.0, 1.007),
        base=BASE_S * 0.82,
        acceptance=(0.7, 0.46),
        speedup=1.35,
    )
    return compare(on(old, "0.31.0"), on(new, "0.32.0", target))


def test_the_comment_of_a_pull_request() -> None:
    assert markdown(upgraded()) == GOLDEN.read_text(encoding="utf-8")


def test_the_comment_begins_with_its_marker_and_names_the_sweep_that_would_tell() -> None:
    text = markdown(upgraded(target="org/other"))
    assert text.startswith(f"{MARKER}\n## ")
    assert "What would tell:\n\n1. target as in NEW, engine as in OLD: tuner sweep org/other" in text


def test_names_from_outside_cannot_break_a_table_or_bring_markup() -> None:
    found = replace(upgraded(), old="a|b <script> \n # c", not_compared=("x | y",))
    text = markdown(found)
    assert "a\\|b \\<script> # c" in text
    assert "- x \\| y" in text
    tables = [line for line in text.splitlines() if line.startswith("|")]
    assert {line.count("|") for line in tables if "\\|" not in line} == {4, 9}


def test_the_document_has_everything_a_script_may_ask_for() -> None:
    found = document(upgraded(target="org/other"), 1)
    assert (found["outcome"], found["exit_code"], found["speculation"], found["engine"]) == (
        "worse",
        1,
        "worse",
        "better",
    )
    assert found["variables"] == ["engine", "target"]
    assert found["cause_can_be_told"] is False
    figures = found["figures"]
    assert isinstance(figures, list)
    first = figures[0]
    assert isinstance(first, dict)
    assert first["figure"] == "acceptance_length"
    assert {"old", "new", "ratio", "outcome", "not_worse", "tolerance", "decides", "needs_lives", "of"} <= first.keys()
    assert (first["concurrency"], first["outcome"]) == (1, "worse")
