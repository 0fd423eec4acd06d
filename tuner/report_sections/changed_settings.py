"""What engines changed by themselves, beside the result: a speedup can come or go with such a change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tuner.records import ChangedSettings

_SCHEDULED = "max_num_scheduled_tokens"
_SCHEDULED_ABOUT = (
    "`max_num_scheduled_tokens` is how many tokens of all requests one step may compute. With drafts vLLM keeps room "
    "for draft tokens and schedules fewer others, so that long prompts may take more steps."
)


def changed_settings_section(changed: Sequence[ChangedSettings], speculating: Sequence[str]) -> Iterator[str]:
    """Yield the section, each line once; nothing where no engine said that it changed a setting.

    speculating: labels of all candidates that speculate, to say "all" of them.
    """
    if not changed:
        return
    yield "## What the engine changed by itself"
    yield ""
    for one in changed:
        yield f"- {_who(one, speculating)}:"
        yield from (f"  - `{line}`" for line in one.lines)
    yield ""
    if any(line.startswith(_SCHEDULED) for one in changed for line in one.lines):
        yield _SCHEDULED_ABOUT
        yield ""


def _who(one: ChangedSettings, speculating: Sequence[str]) -> str:
    if one.everywhere:
        return "without speculation too"
    everyone = len(set(speculating)) > 1 and set(one.candidates) == set(speculating)
    return "with every draft" if everyone else ", ".join(one.candidates)
