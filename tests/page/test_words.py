"""The sentences of a language: each is used, and each that is used is there."""

from __future__ import annotations

import re
from pathlib import Path
from string import Formatter

import pytest

import tuner.page
from tuner.page.english import ENGLISH

SOURCES = [
    path
    for path in Path(tuner.page.__file__).parent.rglob("*")
    if path.suffix in {".py", ".j2"} and not {"english", "chinese"} & set(path.parts)
]
TEXT = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES).replace("'", '"')
MADE = ("title_", "latency_", "step_", "col_", "theme_", "key_", "do_", "now_")
"""Beginnings of names that are put together where they are used."""


def test_every_sentence_is_used() -> None:
    unused = [name for name in ENGLISH.sentences if f'"{name}"' not in TEXT and not name.startswith(MADE)]
    assert not unused


def test_every_sentence_that_is_asked_for_is_there() -> None:
    asked = re.findall(r'\b(?:words|t)\(\s*"([a-z_0-9]+)"', TEXT)
    assert len(asked) > 60
    assert not set(asked) - set(ENGLISH.sentences)


def test_places_have_names() -> None:
    for name, sentence in ENGLISH.sentences.items():
        assert all(place for _, place, _, _ in Formatter().parse(sentence) if place is not None), name


def test_a_place_that_is_not_filled_is_an_error() -> None:
    assert ENGLISH("prompts", n=3) == "n = 3"
    with pytest.raises(KeyError):
        ENGLISH("prompts")
    with pytest.raises(KeyError):
        ENGLISH("no_such_sentence")
