"""docs/reference/artifact.md from the model of best_config.yaml: its fields, and what its docstrings say of them."""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Iterator
from enum import Enum

from pydantic import BaseModel

from tests.reference.markdown import code, table
from tuner.artifact.model import SCHEMA_VERSION, BestConfig
from tuner.artifact.part import SparsePart
from tuner.records import Json

HEAD = f"""# best_config.yaml: every key

Schema version {SCHEMA_VERSION}. Every key is always there, null or empty where there is nothing to say, but for the
parts marked as sparse. What belongs together, what an answer means and how to read it from Python: [the
artifact](../artifact.md). The same as a JSON Schema: `tuner/artifact/best_config.schema.json`.
"""
_WORDS = {str: "text", bool: "true or false", int: "whole number", float: "number"}
_NULL = "null"
"""Stands in docstrings where a field's name stands, for what holds of all fields that may be null."""


def artifact_page() -> str:
    """Return the page."""
    return "\n".join([HEAD, *map(_section, dict.fromkeys(_parts(BestConfig)))])


def meanings(part: type[BaseModel]) -> tuple[str, dict[str, str]]:
    """Return what a part's docstring says of the part, and of its fields: "name, other: words.  third: words."

    What its base says of fields that it has holds too.
    """
    base = next((one for one in part.__bases__ if one.__module__ == part.__module__), None)
    inherited = meanings(base)[1] if base else {}
    text = " ".join(inspect.cleandoc(part.__doc__ or "").split())
    names = "|".join([*part.model_fields, _NULL])
    of_parts = rf"(?:{names})(?:\.\w+)?"
    pieces = re.split(rf"(?:(?<=\.)|^) *({of_parts}(?:, {of_parts})*): ", text)
    head, found = pieces[0].strip(), dict(inherited)
    for of, words in zip(pieces[1::2], pieces[2::2], strict=True):
        found |= {name.partition(".")[0]: words.strip().rstrip(".") for name in of.split(", ")}
    if _NULL in found:
        head += f" null: {found.pop(_NULL)}."
    return head, found


def _parts(part: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """Yield a part and all below it, in the order of the file."""
    yield part
    for hint in typing.get_type_hints(part).values():
        for below in _below(hint):
            yield from _parts(below)


def _below(hint: object) -> Iterator[type[BaseModel]]:
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        yield hint
    for argument in typing.get_args(hint):
        yield from _below(argument)


def _section(part: type[BaseModel]) -> str:
    head, of_fields = meanings(part)
    hints = typing.get_type_hints(part)
    rows = ([code(name), _type(hints[name]), of_fields[name]] for name in part.model_fields)
    title = "At the top" if part is BestConfig else part.__name__
    sparse = "" if not issubclass(part, SparsePart) else " Sparse: keys that say nothing are left out."
    return f"## {title}\n\n{head}{sparse}\n\n{table(['key', 'type', 'meaning'], rows)}"


def _type(hint: object) -> str:
    """Return what stands there, in words."""
    if hint == Json:
        return "anything"
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return f"[{hint.__name__}](#{hint.__name__.lower()})"
    if isinstance(hint, type) and issubclass(hint, Enum):
        return ", ".join(code(one.value) for one in hint)
    if isinstance(hint, type) and hint in _WORDS:
        return _WORDS[hint]
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        kinds = [one for one in arguments if one is not type(None) and not (one is int and float in arguments)]
        words = [_type(one) for one in kinds]
        return " or ".join([*words, "null"] if type(None) in arguments else words)
    if origin is typing.Literal:
        return ", ".join(code(str(one)) for one in arguments)
    if origin is dict:
        return f"mapping of {_type(arguments[1])}" if arguments[1] != Json else "mapping"
    if origin is tuple:
        inner = [_type(one) for one in arguments if one is not Ellipsis]
        return f"list of {inner[0]}" if len(set(inner)) == 1 else f"[{', '.join(inner)}]"
    raise TypeError(f"no words for {hint}")
