"""The CI jobs in docs/ci.md: they are YAML, and every `tuner` command in them is one that exists."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from tuner.cli import cli
from tuner.compare.tolerances import Tolerances
from tuner.errors import EXIT_CANNOT_TELL, EXIT_WORSE

DOCS = Path(__file__).parents[1] / "docs"
PAGES = ("ci.md", "comparing.md")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"(?:^|\s)(?:\.venv/bin/)?tuner ([^\n]*)")


def blocks(page: str, language: str) -> list[str]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return [body for found, body in FENCE.findall(text) if found == language]


def shell_of(node: Any) -> Iterator[str]:
    """Yield every text that a CI would give to a shell."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key in ("run", "script", "before_script"):
                yield from [value] if isinstance(value, str) else value
            else:
                yield from shell_of(value)
    elif isinstance(node, list):
        for item in node:
            yield from shell_of(item)


def commands() -> list[tuple[str, list[str]]]:
    """Return every tuner command of the pages: where it stands, and its arguments."""
    found: list[tuple[str, list[str]]] = []
    for page in PAGES:
        texts = [*blocks(page, "")]
        if page == "ci.md":
            texts += [text for block in blocks(page, "yaml") for text in shell_of(yaml.safe_load(block))]
        for text in texts:
            for line in COMMAND.findall(text):
                words = shlex.split(line, comments=True)
                ends = [i for i, word in enumerate(words) if word in ("||", "&&", "|", ">") or word.endswith(";")]
                found.append((page, words[: ends[0]] if ends else words))
    return found


def check(arguments: list[str]) -> None:
    """Parse a command as the CLI does.  UsageError if it would be refused; no file need exist and nothing runs."""
    context = click.Context(cli)
    command = cli.get_command(context, arguments[0])
    assert command is not None, arguments
    below = click.Context(command, info_name=arguments[0], resilient_parsing=True)
    given, rest, _ = command.make_parser(below).parse_args(args=list(arguments[1:]))
    assert rest == [], arguments
    missing = [p.name for p in command.params if p.required and not isinstance(given.get(p.name or ""), str)]
    assert missing == [], arguments


@pytest.mark.parametrize(("page", "arguments"), commands(), ids=lambda value: " ".join(value)[:60])
def test_a_command_is_one_that_the_command_line_takes(page: str, arguments: list[str]) -> None:
    check(arguments)


def test_both_jobs_check_sweep_compare_and_keep() -> None:
    for block in blocks("ci.md", "yaml"):
        text = "\n".join(shell_of(yaml.safe_load(block)))
        called = re.findall(r"bin/tuner (check|sweep|compare)\b", text)
        assert called == ["check", "sweep", "compare", "sweep"]
        assert "--if-stale" in text and "--no-registry" in text and "comment.md" in text
    assert len(blocks("ci.md", "yaml")) == 2


@pytest.mark.parametrize(
    "arguments",
    [["compare", "a", "b", "--markdwon", "x"], ["compare", "a"], ["compare", "a", "b", "c"], ["comapre", "a"]],
)
def test_a_wrong_command_is_seen(arguments: list[str]) -> None:
    with pytest.raises((AssertionError, click.UsageError)):
        check(arguments)


def test_github_fails_on_worse_and_passes_what_cannot_be_told_with_a_warning() -> None:
    job = yaml.safe_load(blocks("ci.md", "yaml")[0])["jobs"]["compare"]
    last = job["steps"][-1]["run"]
    cases = dict(re.findall(r"^\s*(\S+)\) (.*?) ?;;", last, re.MULTILINE))
    assert cases["0"] == ""
    assert "::warning::" in cases[str(EXIT_CANNOT_TELL)]
    assert cases["*"] == "exit 1"
    assert str(EXIT_WORSE) not in cases
    # The comment is posted before the job fails, and code of forks never runs on the runner.
    names = [step.get("name") for step in job["steps"]]
    assert names.index("Post the comparison") < names.index("Fail if it is worse")
    assert "head.repo.full_name == github.repository" in job["if"]


def test_gitlab_passes_only_what_cannot_be_told() -> None:
    jobs = yaml.safe_load(blocks("ci.md", "yaml")[1])
    assert jobs["speculation-compare"]["allow_failure"] == {"exit_codes": [EXIT_CANNOT_TELL]}
    assert jobs["speculation-compare"]["script"][-1] == 'exit "$code"'


def test_the_tolerances_in_the_docs_are_the_defaults() -> None:
    (block,) = blocks("comparing.md", "yaml")
    assert Tolerances.model_validate(yaml.safe_load(block)) == Tolerances()
    assert set(yaml.safe_load(block)) == set(Tolerances.model_fields)
