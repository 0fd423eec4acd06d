"""Lines for a terminal: Latin words stay whole, Chinese is broken between characters. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.cells import cell_len

_CLOSING = "，。、：；！？）】”》%"
_OPENING = "（【“《"
_ATOM = re.compile(r"\s+|[\x21-\x7e·–\-]+|.", re.DOTALL)


def wrapped(text: str, width: int, indent: str = "", hanging: str = "") -> list[str]:
    """Return `text` in lines of at most `width` columns, a Chinese character counting two.

    indent, hanging: before the first line, and before those after it.  A word that is longer than a line stays whole.
    """
    lines, line, empty = [], indent, True
    for atom in _unbreakable(text):
        if not empty and cell_len(line) + cell_len(atom.rstrip()) > width:
            lines.append(line.rstrip())
            line, empty = hanging, True
        added = atom.lstrip() if empty else atom
        line, empty = line + added, empty and not added
    return [*lines, line.rstrip()]


def _unbreakable(text: str) -> Iterator[str]:
    """Yield what may not be broken: a word, a Chinese character with the punctuation that belongs to it."""
    held = ""
    for atom in _ATOM.findall(text):
        joins = atom in _CLOSING or (held and held[-1] in _OPENING) or atom.isspace()
        if held and not joins:
            yield held
            held = ""
        held += " " if atom.isspace() else atom
    if held:
        yield held
