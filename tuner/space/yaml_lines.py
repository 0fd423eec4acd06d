"""YAML for people: every value knows its line, and the traps of YAML 1.1 are shut.

PyYAML reads YAML 1.1, where `no` is false, `010` is eight, `1:30` is ninety, `1e-3` is text, and of two equal keys the
first vanishes without a word. Here only `true` and `false` are booleans, numbers are decimal with or without an
exponent, and a repeated key is refused with both lines. What JSON cannot hold (dates, .nan, tags) is refused too,
because everything read here ends in JSON.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from tuner.errors import SpaceError
from tuner.records import Json

Loc = tuple[str | int, ...]
"""Where a value is: the keys and list positions that lead to it."""

_CORE = "tag:yaml.org,2002:"


class _Loader(yaml.SafeLoader):
    """SafeLoader with the implicit types of YAML 1.2's core schema, decimal numbers only."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 (PyYAML's own attribute)
    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Stop early at what nests: Python's own limit is met only after minutes of a line of brackets."""
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise RecursionError
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


_Loader.add_implicit_resolver(f"{_CORE}bool", re.compile(r"^(true|True|TRUE|false|False|FALSE)$"), list("tTfF"))
_Loader.add_implicit_resolver(f"{_CORE}null", re.compile(r"^(~|null|Null|NULL|)$"), ["~", "n", "N", ""])
_Loader.add_implicit_resolver(f"{_CORE}int", re.compile(r"^[-+]?(0|[1-9][0-9]*)$"), list("-+0123456789"))
_Loader.add_implicit_resolver(
    f"{_CORE}float",
    re.compile(
        r"^([-+]?(0|[1-9][0-9]*)?\.[0-9]+([eE][-+]?[0-9]+)?|[-+]?(0|[1-9][0-9]*)(\.[0-9]*)?([eE][-+]?[0-9]+)"
        r"|[-+]?(0|[1-9][0-9]*)\.|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$"
    ),
    list("-+0123456789."),
)


@dataclass(frozen=True)
class YamlText:
    """A parsed YAML file.  lines: line (from 1) of each key or list item; value: what JSON would hold."""

    path: Path
    text: str
    value: Json
    lines: Mapping[Loc, int]

    def line(self, loc: Loc) -> int:
        """Return the line of `loc`, or of the nearest thing around it that was written."""
        while loc and loc not in self.lines:
            loc = loc[:-1]
        return self.lines.get(loc, 1)

    def error(self, loc: Loc, message: str, next_step: str) -> SpaceError:
        """Return a SpaceError that starts with file:line of `loc`."""
        return SpaceError(f"{self.path}:{self.line(loc)}: {message}", next_step)


def read_yaml(path: Path) -> YamlText:
    """Read a YAML file.  Raises SpaceError (with the line where there is one) for what is not plain data."""
    try:
        if (size := path.stat().st_size) > _MAX_BYTES:
            raise SpaceError(f"{path} has {size / 1e6:.0f} MB and is no search space.", "Give the file of a space.")
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SpaceError(f"{path} cannot be read: {error.strerror}", "Check the path and its permissions.") from error
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise SpaceError(f"{path}:{line}: not UTF-8 text ({error.reason}).", "Save the file as UTF-8.") from error
    return parse_yaml(text, path)


def parse_yaml(text: str, path: Path) -> YamlText:
    """Parse YAML text; `path` is for messages.  Raises SpaceError."""
    try:
        node = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        raise SpaceError(f"{where}: not valid YAML: {error.problem or error.context}.", _CHECK) from error
    except yaml.reader.ReaderError as error:
        line = text[: error.position].count("\n") + 1 if isinstance(error.position, int) else 1
        raise SpaceError(f"{path}:{line}: a character that YAML does not allow: {error.reason}.", _CHECK) from error
    except RecursionError as error:
        raise SpaceError(f"{path}: nested too deeply.", _CHECK) from error
    walk = _Walk(path)
    value = None if node is None else walk.value(node, (), frozenset())
    return YamlText(path, text, value, walk.lines)


_CHECK = "Check indentation, quotes and brackets around that line."
_MAX_DEPTH = 60
_MAX_NODES = 100_000
_MAX_BYTES = 1_000_000
"""A reader in Python takes ten seconds for as much."""


class _Walk:
    """One pass over the node tree: values out, lines noted."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: dict[Loc, int] = {}

    def refuse(self, node: yaml.Node, message: str, next_step: str) -> SpaceError:
        return SpaceError(f"{self.path}:{_line(node)}: {message}", next_step)

    def value(self, node: yaml.Node, loc: Loc, above: frozenset[int]) -> Json:
        """Return the value of `node`; `above`: the nodes it is inside of, to refuse an alias to one of them."""
        self.lines.setdefault(loc, _line(node))
        if len(self.lines) > _MAX_NODES:  # a few aliases of aliases can stand for billions of values
            raise self.refuse(node, f"more than {_MAX_NODES} values.", "Write fewer, or use fewer aliases (*).")
        if len(loc) > _MAX_DEPTH:  # aliases of aliases nest deeper than what is written
            raise self.refuse(node, "nested too deeply.", "Use fewer aliases (*).")
        if id(node) in above:
            raise self.refuse(node, "an alias (*) refers to something it is part of.", "Write the value out.")
        above = above | {id(node)}
        if isinstance(node, yaml.MappingNode) and node.tag == f"{_CORE}map":
            return self.mapping(node, loc, above)
        if isinstance(node, yaml.SequenceNode) and node.tag == f"{_CORE}seq":
            return [self.value(item, (*loc, i), above) for i, item in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode):
            return self.scalar(node)
        raise self.refuse(node, f"the tag {node.tag!r} is not plain data.", "Leave tags (!) out.")

    def mapping(self, node: yaml.MappingNode, loc: Loc, above: frozenset[int]) -> Json:
        result: dict[str, Json] = {}
        for key_node, value_node in node.value:
            key = self.key(key_node)
            if key in result:
                first = self.lines[(*loc, key)]
                message = f"{key!r} is written twice, first on line {first}; one of them would be lost."
                raise self.refuse(key_node, message, "Keep one of the two.")
            self.lines[(*loc, key)] = _line(key_node)
            result[key] = self.value(value_node, (*loc, key), above)
        return result

    def key(self, node: yaml.Node) -> str:
        if isinstance(node, yaml.ScalarNode) and node.tag in (f"{_CORE}str", f"{_CORE}int"):
            return str(self.scalar(node))  # a number as key, as JSON would write it
        shown = node.value if isinstance(node, yaml.ScalarNode) else "a list or mapping"
        raise self.refuse(node, f"{shown!r} is no text and cannot be a key.", "Use a name, in quotes if need be.")

    def scalar(self, node: yaml.ScalarNode) -> Json:
        text: str = node.value
        try:
            return _SCALARS[node.tag.removeprefix(_CORE)](text)
        except (KeyError, ValueError) as error:
            message = f"{text[:60]!r} cannot be used as {node.tag.removeprefix(_CORE)}."
            raise self.refuse(node, message, "Write a plain number, or text in quotes.") from error


def _finite(text: str) -> float:
    number = float(text.replace(".inf", "inf").replace(".nan", "nan"))
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def _joined(text: str) -> str:
    """JSON writes 😀 as two escapes, which YAML reads as two halves that no file can hold."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16")


_SCALARS: Mapping[str, Callable[[str], Json]] = {
    "str": _joined,
    "null": lambda _: None,
    "bool": lambda text: {"true": True, "false": False}[text.lower()],
    "int": int,
    "float": _finite,
}


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1
