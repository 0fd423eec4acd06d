"""A finished page in its language: every text of the view goes through the words, what is no text does not."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import TypeVar

from tuner.page.view import Code, Markdown, Page
from tuner.page.words import Words

_NO_TEXT = frozenset({"load", "loads", "tone", "shape", "line", "marks", "rings", "name", "kind", "code"})
"""Fields that hold keys, anchors, colours and coordinates; marks of a series are looked into all the same."""
_PAIRS = frozenset({"legend", "keys"})
"""Fields of pairs, of which the first is a key and the second words."""
View = TypeVar("View")


def told_page(page: Page, words: Words) -> Page:
    """Return the page in the language of `words`."""
    told = _told(page, words)
    return replace(told, loads=tuple((key, words.told(label)) for key, label in page.loads))


def _told(view: View, words: Words) -> View:
    assert is_dataclass(view) and not isinstance(view, type)
    if isinstance(view, Code):
        return replace(view, label=words.told(view.label))
    if isinstance(view, Markdown):
        return replace(view, lines=tuple(map(words.told_markdown, view.lines)))
    changed: dict[str, object] = {}
    for one in fields(view):
        value = getattr(view, one.name)
        if one.name in _PAIRS:
            changed[one.name] = tuple((key, words.told(text)) for key, text in value)
        elif one.name not in _NO_TEXT or (isinstance(value, tuple) and value and is_dataclass(value[0])):
            changed[one.name] = _value(value, words)
    return replace(view, **changed)


def _value(value: object, words: Words) -> object:
    if isinstance(value, str):
        return words.told(value)
    if isinstance(value, tuple):
        return tuple(_value(one, words) for one in value)
    return _told(value, words) if is_dataclass(value) and not isinstance(value, type) else value
