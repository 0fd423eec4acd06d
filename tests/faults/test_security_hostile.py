"""Hostile text from models, eval sets and spaces is shown as text: it draws nothing on a terminal and in a page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import pytest

from tests.faults.matrix import Group, fault
from tests.faults.small_machine import PROFILE, SPACE, sweep, tuner

ESCAPES = "\x1b]0;owned\x07\x1b[2J\x1b[31m"
MARKUP = "[bold red]pwn[/]<script>alert(1)</script><img src=x onerror=alert(2)>|`$(id)`@everyone"
"""rich's markup, HTML, a cell's end, a shell's command, a mention."""
HOSTILE = ESCAPES + MARKUP


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A finished sweep in the current directory, with hostile draft, prompts, categories, eval set and engine log."""
    directory = tmp_path_factory.mktemp("hostile")
    model = json.dumps(f"good{MARKUP}")
    eval_set = "prompts[red]<b>.jsonl"
    space = SPACE.replace("model: good", f"model: {model}")
    (directory / "space.yaml").write_text(space.replace("prompts.jsonl", f'"{eval_set}"'))
    prompts = ({"id": f"p{n}{HOSTILE}", "category": HOSTILE, "prompt": f"word {n}"} for n in range(3))
    (directory / eval_set).write_text("".join(f"{json.dumps(prompt)}\n" for prompt in prompts))
    crash = f"faults: [{{kind: crash_at_start, k_min: 1, message: {json.dumps('RuntimeError: ' + HOSTILE)}}}]\n"
    (directory / "sim.yaml").write_text(PROFILE + crash)
    with chdir(directory):
        sweep(registry=None)
        yield directory / "run"


@fault(
    Group.SECURITY,
    "escape sequences and markup in drafts, prompts, categories, file names and an engine's log",
    sees="the same characters, harmless: no sequence reaches the terminal, no tag a page",
    keeps="the text as it was, in the records",
)
@pytest.mark.parametrize("command", ["report", "explain", "status", "breakeven", "compare"])
def test_no_escape_sequence_reaches_a_terminal(run: Path, command: str) -> None:
    code, said = tuner(command, *([run] * (2 if command == "compare" else 1)))
    assert code in (0, 3, 4) or said.startswith("error: "), said
    assert "\x1b]" not in said and "\x1b[2J" not in said and "\x07" not in said


def test_nothing_of_it_is_a_tag_or_a_mention_in_what_is_written(run: Path) -> None:
    page = (run / "report.html").read_text()
    assert "<script>alert" not in page and "<img src=x" not in page
    for name in ("report.html", "report.md", "pull_request.md", "best_config.yaml", "serve.yaml", "alerts.yaml"):
        if (run / name).exists():
            text = (run / name).read_text()
            assert "\x1b" not in text and "\x07" not in text, name
    comment = (run / "pull_request.md").read_text()
    assert "<img" not in comment.replace(r"\<img", "") and "@everyone" not in comment.replace("@\u200beveryone", "")


@pytest.mark.parametrize("entry", ["target", "model", "eval_set"])
def test_a_space_with_an_escape_sequence_is_refused_and_shown_escaped(tmp_path: Path, entry: str) -> None:
    hostile = json.dumps(f"x{HOSTILE}")
    found = {"target": "simulated", "model": "good", "eval_set": "prompts.jsonl"}[entry]
    (tmp_path / "space.yaml").write_text(SPACE.replace(f"{entry}: {found}", f"{entry}: {hostile}"))
    code, said = tuner("sweep", "--space", tmp_path / "space.yaml", "--engine", "sim", "--out", tmp_path / "run")
    assert (code, "control character" in said, "\x1b" in said) == (2, True, False), said
    assert not (tmp_path / "run").exists()


def test_every_file_stays_in_the_run(run: Path) -> None:
    known = {"run", "space.yaml", "sim.yaml", "prompts[red]<b>.jsonl"}
    assert {path.name for path in run.parent.iterdir()} == known
