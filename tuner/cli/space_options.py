"""Keys of search spaces that were typed as options: answered with the place where they stand."""

from __future__ import annotations

from collections.abc import Sequence

from tuner.errors import InputError

_IN_LOAD_POINTS = ("temperature", "concurrency", "max_tokens", "top_p", "top_k", "num_prompts", "ignore_eos")


def space_option(option: str, arguments: Sequence[str]) -> InputError | None:
    """Return the error for an unknown option that is a key of search spaces, or the target; None for any other."""
    key = option.lstrip("-").replace("-", "_")
    if key in ("target", "model"):
        return InputError(f"No such option {option}.", "TARGET is the first argument: it has no option.")
    place = _place(key, _value(option, arguments))
    if place is None:
        return None
    step = f"Write {place} in a copy of a search space, and name that file with --space (docs/search-space.md)."
    return InputError(f"No such option {option}: it stands in the search space.", step)


def _place(key: str, value: str) -> str | None:
    from tuner.space.engine_flags import known_engine_args

    if key == "k":
        return f"k: {value or '[1, 3, 5]'}"
    if key in _IN_LOAD_POINTS:
        return f"{key} under load_points"
    if key == "method":
        return "method of each draft under drafts"
    return f"{key} under engine_args" if key in known_engine_args() else None


def _value(option: str, arguments: Sequence[str]) -> str:
    """Return the value of `option`, written behind = or as the next word; "" where it has none."""
    for word, following in zip(arguments, [*arguments[1:], ""], strict=True):
        if word == option:
            return "" if following.startswith("-") else following
        if word.startswith(f"{option}="):
            return word.partition("=")[2]
    return ""
