"""Engine arguments as words of a command line, as vLLM's parser reads them."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tuner.records import Json

JSON_LISTS = frozenset({"allowed_origins", "allowed_methods", "allowed_headers"})
"""Flags that take a list as one JSON value; the others take its items one after another."""


def engine_flags(engine_args: Mapping[str, Json]) -> tuple[str, ...]:
    """Return engine arguments as flags: True --FLAG, False --no-FLAG, None nothing, mappings as JSON."""
    return tuple(word for name, value in engine_args.items() for word in _flag(name, value))


def flag_word(value: Json) -> str:
    """Return one value as the word that stands after its flag."""
    return value if isinstance(value, str) else json.dumps(value, allow_nan=False)


def _flag(name: str, value: Json) -> tuple[str, ...]:
    flag = f"--{name.replace('_', '-')}"
    if value is None:
        return ()
    if isinstance(value, bool):
        return (flag,) if value else (f"--no-{name.replace('_', '-')}",)
    if isinstance(value, list) and name not in JSON_LISTS:
        return (flag, *(flag_word(item) for item in value)) if value else ()
    word = flag_word(value)
    # argparse would take a value with a leading hyphen for the next flag.
    return (f"{flag}={word}",) if word.startswith("-") else (flag, word)
