"""Text for whoever reads it: laid out for the width of a terminal, untouched in a pipe or a file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import click
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Markdown, MarkdownElement, TableElement
from rich.table import Table

from tuner.explain.wrapping import wrapped


def show_markdown(text: str, *, err: bool = False) -> None:
    """Print Markdown: its tables and lists drawn on a terminal, its source elsewhere."""
    console = Console(stderr=err)
    if console.is_terminal:
        console.print(_Markdown(text))
    else:
        click.echo(text, err=err)


def show_lines(lines: Iterable[str], *, hanging: int = 0, err: bool = False) -> None:
    """Print lines; on a terminal they break between words, and what goes on stands below what it belongs to.

    hanging: columns that a line's name takes, left empty before what goes on.
    """
    console = Console(stderr=err)
    for line in lines:
        name, words = line[:hanging], line[hanging:]
        parts = wrapped(words, console.width, name, " " * hanging) if console.is_terminal else [line]
        for part in parts:
            click.echo(part, err=err)


class _Tables(TableElement):
    """A table whose figures break where there is no room for them; rich would cut them off."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for table in super().__rich_console__(console, options):
            if isinstance(table, Table):
                for column in table.columns:
                    column.overflow = "fold"
            yield table


class _Markdown(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {**Markdown.elements, "table_open": _Tables}
