"""An explanation before it is in any language: keys of messages with the figures that go into them. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from string import Formatter
from typing import TypeAlias


@dataclass(frozen=True)
class Line:
    """One message.  key: in the messages of every language.  values: for its placeholders.

    Text in `values` is the same in every language: figures, names, commands.
    """

    key: str
    values: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True)
class Listed:
    """Several values as a sentence lists them: "1, 8 and 32".  how: "list", or "clauses" for parts of a sentence."""

    items: tuple[str | Line, ...]
    how: str = "list"


@dataclass(frozen=True)
class Quoted:
    """A sentence of the report, which is made in English."""

    text: str


Value: TypeAlias = "str | Line | Listed | Quoted"


@dataclass(frozen=True)
class Table:
    """columns: keys of messages.  rows: cells, in the columns' order."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]


@dataclass(frozen=True)
class Code:
    """A command, as it is typed."""

    text: str


@dataclass(frozen=True)
class Section:
    """One question and what the run says about it.  name: for scripts."""

    name: str
    title: Line
    parts: tuple[Line | Table | Code, ...]


@dataclass(frozen=True)
class Language:
    """messages: by key.  told: returns a sentence of the report in this language."""

    messages: Mapping[str, str]
    told: Callable[[str], str] = str


_SPACE_IN_CHINESE = re.compile("(?<=[\u3000-\u9fff\uff00-\uffef]) (?=[\u3000-\u9fff\uff00-\uffef])")
"""What joins messages may leave: between figures and Chinese a space is right, between Chinese it is not."""


def line(key: str, **values: Value) -> Line:
    """Return one message with its values."""
    return Line(key, values)


def said(value: Value, language: Language) -> str:
    """Return a value in a language.  KeyError for a key or a placeholder that is not there."""
    if isinstance(value, str):
        return value
    if isinstance(value, Listed):
        return _listed([said(item, language) for item in value.items], value.how, language.messages)
    if isinstance(value, Quoted):
        return language.told(value.text)
    values = {name: said(inner, language) for name, inner in value.values.items()}
    text = language.messages[value.key].format(**values)
    return _SPACE_IN_CHINESE.sub("", text)


def placeholders(template: str) -> frozenset[str]:
    """Return the names in braces."""
    return frozenset(name for _, name, _, _ in Formatter().parse(template) if name)


def _listed(items: list[str], how: str, messages: Mapping[str, str]) -> str:
    if len(items) < 2:
        return "".join(items)
    *first, last = items
    return messages[f"{how}.last"].format(first=messages[f"{how}.comma"].join(first), last=last)
