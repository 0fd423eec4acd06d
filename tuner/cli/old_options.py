"""vLLM's own speculation flags, given to the tuner by mistake: answered with the form that a search space has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tuner.errors import InputError

if TYPE_CHECKING:
    from tuner.records import Json


def old_options(arguments: Sequence[str]) -> InputError | None:
    """Return the error for a command line that has some of vLLM's speculation flags; None if it has none."""
    from tuner.space.old_flags import new_form

    flags = _flags(arguments)
    if not flags:
        return None
    names = ", ".join(flags)
    each = "is a flag" if len(flags) == 1 else "are flags"
    form = new_form(flags)
    step = form.replace("Write:", "Write in a search space, and name that file with --space:", 1)
    return InputError(f"{names} {each} of vLLM's command line, not of the tuner.", step)


def _flags(arguments: Sequence[str]) -> dict[str, Json]:
    """Return each flag as typed and its value: `--flag value`, `--flag=value`, `-sc value`."""
    from tuner.space.old_flags import OLD_FLAGS, flag_name

    found: dict[str, Json] = {}
    for word, following in zip(arguments, [*arguments[1:], ""], strict=True):
        flag, has_value, value = word.partition("=")
        if flag.startswith("-") and flag_name(flag).partition(".")[0] in OLD_FLAGS:
            text = value if has_value else "" if following.startswith("-") else following
            found[flag] = int(text) if text.isdigit() else text
    return found
