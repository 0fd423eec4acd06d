"""Every command is documented: help with an example, options with words, a place in the docs."""

import re
import shlex
from pathlib import Path

import click
import pytest

from tests.cli.commands import every_command
from tuner.cli import cli

ROOT = Path(__file__).parents[2]
DOCS = "\n".join(
    path.read_text(encoding="utf-8") for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
)
COMMANDS = dict(every_command())


def examples(command: click.Command, name: str) -> list[str]:
    """Return the lines of its epilog that call it, what is said about them left out."""
    lines = [line.strip() for line in (command.epilog or "").splitlines()]
    called = [line[line.index(name) :] for line in lines if name in line]
    return [re.split(r"\s{2,}|\)\"| \| | > | && |; ", line)[0] for line in called]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_says_what_it_does_in_a_sentence(name: str) -> None:
    assert re.search(r"\w{3}.*[.:]", COMMANDS[name].help or "")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_an_example_that_the_command_takes(name: str) -> None:
    command = COMMANDS[name]
    found = examples(command, name)
    assert found, "its epilog has no example"
    for example in found:
        arguments = shlex.split(example)[len(name.split()) :]
        known = {option for param in command.params for option in (*param.opts, *param.secondary_opts)}
        used = {word.partition("=")[0] for word in arguments if word.startswith("--")}
        assert used <= known | {"--help"}
        missing = [p for p in command.params if isinstance(p, click.Argument) and p.required]
        assert len([word for word in arguments if not word.startswith("-")]) >= len(missing)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_option_has_words_and_each_argument_is_named_in_the_help(name: str) -> None:
    command = COMMANDS[name]
    silent = [p.opts[0] for p in command.params if isinstance(p, click.Option) and not p.hidden and not p.help]
    assert silent == []
    context = click.Context(command)
    named = [p.make_metavar(context).strip("[].") for p in command.params if isinstance(p, click.Argument)]
    texts = f"{command.help} {' '.join(p.help or '' for p in command.params if isinstance(p, click.Option))}"
    assert [name for name in named if name not in texts and not name.startswith("{")] == []  # {a|b} names itself


@pytest.mark.parametrize("name", COMMANDS)
def test_the_docs_name_it(name: str) -> None:
    assert re.search(rf"{re.escape(name)}\b", DOCS)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_tuner_itself_lists_it(name: str) -> None:
    assert " ".join(name.split()[:2]) in (cli.help or "")
