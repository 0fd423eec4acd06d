"""Words for what is wrong with a search-space file: the line, the key, the nearest known key, the next step."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError

from tuner.errors import SpaceError
from tuner.space.engine_flags import known_engine_args
from tuner.space.file_model import PARTS
from tuner.space.methods import METHODS
from tuner.space.old_flags import old_flag
from tuner.space.yaml_lines import Loc, YamlText


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that is most like `word`, None if none is."""
    found = get_close_matches(word.lower().lstrip("-").replace("-", "_"), list(known), n=1, cutoff=0.6)
    return found[0] if found else None


def path_text(loc: Loc) -> str:
    """Return `drafts[0].options.quantization` for a location."""
    text = ""
    for part in loc:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text or "the file"


def unknown_key(yaml: YamlText, loc: Loc, known: Iterable[str], next_step: str = "") -> SpaceError:
    """Return the error for a key that nothing knows, with the nearest one that something does."""
    known = sorted(known)
    near = nearest(str(loc[-1]), known)
    hint = f"; the nearest known key is {near!r}" if near else ""
    where = f" in {path_text(loc[:-1])}" if loc[:-1] else ""
    step = next_step or f"Known keys here: {', '.join(known)}."
    return yaml.error(loc, f"unknown key {loc[-1]!r}{where}{hint}.", step)


def validation_error(yaml: YamlText, error: ValidationError) -> SpaceError:
    """Return the error for the first thing in the file that the model refuses."""
    details = sorted(error.errors(include_url=False), key=lambda detail: yaml.line(_loc(detail)))
    first = details[0]
    loc = _loc(first)
    if first["type"] == "extra_forbidden":
        return old_flag(yaml, loc) or _misplaced(yaml, loc) or unknown_key(yaml, loc, _known(loc))
    if first["type"] == "missing":
        if typo := _misspelt(loc, details):
            return unknown_key(yaml, typo, _known(typo))
        return yaml.error(loc[:-1], f"{path_text(loc)} is missing.", f"Add `{loc[-1]}:`{_example(str(loc[-1]))}.")
    return yaml.error(loc, f"{path_text(loc)} {_problem(first)}.", _next_step(loc))


def _misspelt(missing: Loc, details: Sequence[Any]) -> Loc | None:
    """Return the unknown key beside a missing one that was probably meant for it; None if there is none."""
    beside = (_loc(detail) for detail in details if detail["type"] == "extra_forbidden")
    return next((loc for loc in beside if loc[:-1] == missing[:-1] and nearest(str(loc[-1]), [str(missing[-1])])), None)


def _loc(detail: Any) -> Loc:
    return tuple(detail["loc"])


def _problem(detail: Any) -> str:
    if detail["type"] == "space":
        return str(detail["ctx"]["text"])
    value = f", not {_shown(detail['input'])}"
    if detail["type"] == "string_pattern_mismatch":
        return f"must not be empty{value}"
    if detail["type"] == "too_short":
        return "is empty"
    words = re.sub(r" or instance of \w+", "", str(detail["msg"]).replace("Input should be", "must be"))
    return (
        words.replace("a valid dictionary", "a mapping")
        .replace("a valid boolean", "true or false")
        .replace("a valid integer", "an integer")
        .replace("a valid", "a")
        + value
    )


def _shown(value: object) -> str:
    text = "empty" if value is None else str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) < 60 else text[:57] + "..."


def _part(loc: Loc) -> tuple[str, ...]:
    names = tuple(part for part in loc if isinstance(part, str))
    return names if names in PARTS else ()


def _known(loc: Loc) -> tuple[str, ...]:
    return tuple(PARTS[_part(loc[:-1])].model_fields)


def _misplaced(yaml: YamlText, loc: Loc) -> SpaceError | None:
    """Return the error for a key that is right elsewhere in the file."""
    key = str(loc[-1]).lstrip("-").replace("-", "_")
    home = _home(key, loc)
    if home is None:
        return None
    here = f"in {path_text(loc[:-1])}" if loc[:-1] else "at the top of the file"
    message = f"unknown key {loc[-1]!r} {here}; the nearest known key is {key!r} {home}."
    return yaml.error(loc, message, f"Move it there. Known keys here: {', '.join(sorted(_known(loc)))}.")


def _home(key: str, loc: Loc) -> str | None:
    is_option = any(key in method.options for method in METHODS.values())
    if loc[0] == "drafts" and is_option:
        return "in that draft's options"
    if key in PARTS[()].model_fields and loc[:-1]:
        return "at the top of the file"
    if key in known_engine_args():
        return "in engine_args (or in choices, to try several values)"
    if is_option:
        return "in the options of a draft"
    homes = [".".join(part) for part, model in PARTS.items() if part and key in model.model_fields]
    return f"in {' or '.join(homes)}" if homes else None


_EXAMPLES = {
    "load_points": " with at least one entry, like `load_points: [{eval_set: chat}]`",
    "eval_set": ", the name or path of an eval set",
    "method": f", one of {', '.join(METHODS)}",
}


def _example(key: str) -> str:
    return _EXAMPLES.get(key, "")


def _next_step(loc: Loc) -> str:
    key = next((part for part in reversed(loc) if isinstance(part, str)), "")
    return _NEXT_STEPS.get(key, f"Change `{key}:` there." if key else "See search_spaces/ for examples.")


_NEXT_STEPS = {
    "k": "Write whole numbers of 1 or more, like `k: [1, 3, 5]` or `k: {min: 1, max: 8}`.",
    "env": "See `env:` in search_spaces/demo.yaml for an example.",
    "load_points": "Add at least one entry, like `load_points: [{eval_set: chat}]`.",
    "shares": "Write concurrency: share of time, like `shares: {1: 0.7, 8: 0.3}`.",
}
