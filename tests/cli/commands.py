"""Every command of the command line, as tests walk over them."""

from __future__ import annotations

from collections.abc import Iterator

import click

from tuner.cli import cli


def every_command(group: click.Group = cli, path: tuple[str, ...] = ("tuner",)) -> Iterator[tuple[str, click.Command]]:
    """Yield "tuner models demo" and the like with their commands, groups left out."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from every_command(command, (*path, name))
        else:
            yield " ".join((*path, name)), command
