"""Sentences by name, in one language.

A language is a mapping with every name that English has, and the same places to fill in; a test compares them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tuner.page.phrases import Phrasebook

_MARK = re.compile(r"\s*(?:- |\d+\. |#+ |> )?")


class Told(str):
    """A text that is in the page's language already: telling it again could mistake a part of it for English."""

    __slots__ = ()


@dataclass(frozen=True)
class Words:
    """language: as HTML names it ("en").  sentences: by name, with places as `str.format` fills them.

    phrasebook: of what is said outside of the pages, None for English, in which it is said.
    """

    language: str
    sentences: Mapping[str, str]
    phrasebook: Phrasebook | None = None

    def __call__(self, name: str, /, **values: object) -> str:
        """Return a sentence with its places filled.  KeyError for a name or a place that is not known."""
        told = {place: self.told(value) if isinstance(value, str) else value for place, value in values.items()}
        return Told(self.sentences[name].format(**told))

    def told(self, text: str) -> str:
        """Return a text that was made outside of the pages in this language."""
        if isinstance(text, Told):
            return text
        arrowed = text.replace(" -> ", " \u2192 ")  # an arrow of two characters would break between them
        return Told(self.phrasebook.told(arrowed) if self.phrasebook else arrowed)

    def told_document(self, text: str) -> str:
        """Return a whole Markdown document in this language."""
        return "\n".join(map(self.told_markdown, text.split("\n")))

    def told_markdown(self, line: str) -> str:
        """Return a line of Markdown in this language: cells, list items and headings keep their marks."""
        if self.phrasebook is None or not line.strip() or line.startswith(("![", "|---", "|:", "```")):
            return line
        if line.startswith("|"):
            cells = line.strip().strip("|").split(" | ")
            return f"| {' | '.join(self.told(cell.strip()) for cell in cells)} |"
        mark = _mark(line)
        return mark + self.told(line[len(mark) :])


def _mark(line: str) -> str:
    """Return what a line of Markdown begins with before its text: spaces, "- ", "1. ", "## "."""
    found = _MARK.match(line)
    return found[0] if found else ""
