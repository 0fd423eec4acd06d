"""docs/reference/space.md from the schema of search spaces; what each key means stands in space_meanings."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from tests.reference.markdown import code, table
from tests.reference.space_meanings import MEANINGS, SECTIONS
from tuner.space import file_model
from tuner.space.file_model import MAX_K, PARTS

HEAD = """# Search space: every key

What each key takes and means. A key that is not here is refused with its line and the nearest one that is. How a file
is read, how lists multiply, and what to write when: [search space and eval sets](../search-space.md).
"""
K = f"K: a whole number, a list, or `{{min: 1, max: 8}}`; 1 to {MAX_K}"
_BETWEEN = "whole number, or `{min: 3, max: 9}`"
TYPES: tuple[tuple[object, str], ...] = (
    (file_model.Ks, K),
    (file_model.Text, "text"),
    (file_model.Count, "whole number, 1 or more"),
    (file_model.Lives, f"{_BETWEEN}, {file_model.LEAST_LIVES} or more; or 1"),
    (file_model.Between, _BETWEEN),
    (file_model.Seconds, "seconds, above 0"),
    (file_model.Temperatures, "number or list, 0 to 10"),
    (file_model.Counts, "whole number or list, 1 or more"),
    (file_model.EvalSets, "text or list"),
    (str, "text"),
    (bool, "true or false"),
    (int, "whole number"),
    (float, "number"),
)
Path = tuple[str, ...]


def space_page() -> str:
    """Return the page."""
    return "\n".join([HEAD, *(_section(path, model) for path, model in PARTS.items())])


def every_key() -> Iterator[Path]:
    """Yield the place of each key."""
    for path, model in PARTS.items():
        yield from ((*path, name) for name in model.model_fields)


def _section(path: Path, model: type[BaseModel]) -> str:
    hints = typing.get_type_hints(model, include_extras=True)
    rows = (
        [code(name), _type((*path, name), hints[name]), _default(field), MEANINGS[(*path, name)]]
        for name, field in model.model_fields.items()
    )
    title = ".".join(path) or "Top level"
    return f"## {title}\n\n{SECTIONS[path]}\n\n{table(['key', 'type', 'default', 'meaning'], rows)}"


def _type(path: Path, hint: object) -> str:
    """Return what a key takes, in words."""
    if path in PARTS:
        kind = "list of mappings" if path in (("drafts",), ("load_points",)) else "mapping"
        return f"{kind}: [{path[-1]}](#{''.join(path)})"
    for known, words in TYPES:
        if hint == known:
            return words
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _bounded(path, arguments[0], arguments[1:])
    if origin in (types.UnionType, typing.Union):
        (only,) = (one for one in arguments if one is not type(None))
        return _type(path, only)
    if origin is typing.Literal:
        return ", ".join(map(code, arguments))
    if origin is dict:
        return _mapping(arguments[1])
    raise TypeError(f"no words for the type of {'.'.join(path)}: {hint}")


def _mapping(value: object) -> str:
    of = {file_model.EnvText: " of texts", file_model.Choices: " of lists", file_model.Share: " of shares, 0 to 1"}
    return f"mapping{next((words for known, words in of.items() if value == known), '')}"


def _bounded(path: Path, hint: object, metadata: tuple[object, ...]) -> str:
    bounds = {"ge": "{:g} or more", "gt": "above {:g}", "le": "at most {:g}", "lt": "below {:g}"}
    found = [
        words.format(value)
        for one in metadata
        if isinstance(one, FieldInfo)
        for part in one.metadata
        for name, words in bounds.items()
        if (value := getattr(part, name, None)) is not None
    ]
    return ", ".join([_type(path, hint), *found])


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.default
    if value is None or value == "" or value == {} or value == [] or isinstance(value, BaseModel):
        return "none"
    if isinstance(value, tuple):
        return code(f"{{min: {value[0]}, max: {value[1]}}}")
    if isinstance(value, list):
        value = value[0]
    return code(
        str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)
    )
