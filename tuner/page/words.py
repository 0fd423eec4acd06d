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
