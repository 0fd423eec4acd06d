"""What the doctor says about one thing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tuner.records import Json


class State(StrEnum):
    """ok: as it should be.  info: nothing to judge.  warn: works worse than it could.  fail: a sweep will not work."""

    OK = "ok"
    INFO = "info"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True)
class Check:
    """One line of the doctor's answer.

    name: a stable name in snake_case, for scripts.  what: what was found, one or two sentences.  next_step: what to do,
    "" if nothing.  values: what the sentence rests on; sizes in bytes, times in seconds.
    """

    name: str
    state: State
    what: str
    next_step: str = ""
    values: Mapping[str, Json] = field(default_factory=dict)


def gib(size: float) -> str:
    """Return bytes as GiB with one decimal, as MiB below one GiB."""
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{size / 2**20:.0f} MiB"
