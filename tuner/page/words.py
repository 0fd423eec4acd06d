"""Sentences by name, in one language.

A language is a mapping with every name that English has, and the same places to fill in; a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Words:
    """language: as HTML names it ("en").  sentences: by name, with places as `str.format` fills them."""

    language: str
    sentences: Mapping[str, str]

    def __call__(self, name: str, /, **values: object) -> str:
        """Return a sentence with its places filled.  KeyError for a name or a place that is not known."""
        return self.sentences[name].format(**values)

    def told(self, text: str) -> str:
        """Return a text that was made outside of the pages in this language."""
        return text.replace(" -> ", " \u2192 ")  # an arrow of two characters would break between them
