"""What a shell completes: names of shipped files, demo models and run directories, looked up while it waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import click
from click.shell_completion import CompletionItem

RUNS = ("*/run.json", "runs/*/run.json", "runs/*/*/run.json")
"""Where run directories are looked for, from the working directory on: cheap, and where sweeps write by default."""


class Completed(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.4 on
    """Names from a function, else what the shell itself knows of files."""

    name = "completed"

    def __init__(self, names: Callable[[], Iterator[str]], otherwise: str) -> None:
        self._names = names
        self._otherwise = otherwise

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the names that begin so; where none does, "file" or "dir"."""
        found = [CompletionItem(name) for name in self._names() if name.startswith(incomplete)]
        return found or [CompletionItem(incomplete, type=self._otherwise)]


def completed(command: click.Command) -> click.Command:
    """Return `command` with what its parameters can be completed with, subcommands included. Only for completion."""
    for param in command.params:
        if param.name in COMPLETED:
            param.type = COMPLETED[param.name]
    if isinstance(command, click.Group):
        for subcommand in command.commands.values():
            completed(subcommand)
    return command


def _spaces() -> Iterator[str]:
    from tuner.space.shipped import shipped_names

    yield from shipped_names("search_spaces", ".yaml")


def _eval_sets() -> Iterator[str]:
    from tuner.space.shipped import shipped_names

    yield from shipped_names("eval_sets", ".jsonl")


def _models() -> Iterator[str]:
    from tuner.space.model_refs import DEMO_NAMES

    yield from (f"demo:{name}" for name in DEMO_NAMES)


def _engines() -> Iterator[str]:
    yield "sim"


def _runs() -> Iterator[str]:
    yield from sorted({str(found.parent) for pattern in RUNS for found in Path().glob(pattern)})


COMPLETED: Mapping[str, Completed] = {
    "space": Completed(_spaces, "file"),
    "eval_set": Completed(_eval_sets, "file"),
    "name_or_path": Completed(_eval_sets, "file"),
    "target": Completed(_models, "dir"),
    "drafts": Completed(_models, "dir"),
    "draft": Completed(_models, "dir"),
    "engine": Completed(_engines, "dir"),
    "engines": Completed(_engines, "dir"),
    "run": Completed(_runs, "dir"),
    "artifact": Completed(_runs, "file"),
    "old": Completed(_runs, "file"),
    "new": Completed(_runs, "file"),
}
"""By a parameter's name, whichever command has it."""
