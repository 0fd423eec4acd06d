"""A page's table of contents: a section is a row of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from tuner.page.view import Block, Section
from tuner.page.words import Words

Of = TypeVar("Of")


@dataclass(frozen=True)
class Row(Generic[Of]):
    """name: anchor; its title is the sentence "title_NAME".  A section without blocks is left out."""

    name: str
    blocks: Callable[[Of], Iterator[Block]]


def sections(rows: Iterable[Row[Of]], of: Of, words: Words) -> tuple[Section, ...]:
    """Return the sections that have something to say."""
    found = ((row.name, tuple(row.blocks(of))) for row in rows)
    return tuple(Section(name, words(f"title_{name}"), blocks) for name, blocks in found if blocks)
