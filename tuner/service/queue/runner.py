"""Where a sweep's process runs: what the queue asks of it."""

from __future__ import annotations

import json
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Protocol

from tuner.errors import EXIT_OK
from tuner.service.queue.sweeps import Outcome, Sweep

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_INTERRUPTED = frozenset({*(128 + number for number in _SIGNALS), *(-number for number in _SIGNALS)})
"""Exit codes of a sweep that was told to end; the negative ones, before it could say anything of its own."""


@dataclass(frozen=True)
class Ended:
    """A process that ended.  code: None where nobody saw it.  said: its standard output."""

    code: int | None
    said: str

    @property
    def interrupted(self) -> bool:
        """Whether it ended because it was told to, or nobody knows why: the same command goes on with it."""
        return self.code is None or self.code in _INTERRUPTED


class Runner(Protocol):
    """Runs one sweep at a time.  outlives: whether a sweep goes on when the server ends.

    Every method raises PoolError where what it runs on cannot be reached.
    """

    outlives: bool

    def adopt(self, sweep: Sweep) -> bool:
        """Take over what an earlier server started; False where nothing is left of it."""
        ...

    def start(self, sweep: Sweep, arguments: Sequence[str]) -> tuple[int | None, float | None]:
        """Start `tuner` with these arguments; return process id and birth of a process of this machine."""
        ...

    def ended(self) -> Ended | None:
        """Return how it ended, None while it runs."""
        ...

    def interrupt(self) -> None:
        """Tell it to end as Ctrl-C does.  Safe to call again."""
        ...


def outcome(ended: Ended) -> Outcome:
    """Return what a sweep's last line of JSON and its exit code mean."""
    if ended.interrupted:
        error = "it was told to end by somebody other than this server"
        return Outcome(exit_code=ended.code, error=error, next_step="Ask for it again: it goes on from there.")
    told = _last_json(ended.said)
    if ended.code == EXIT_OK and "error" not in told:
        return Outcome(
            exit_code=EXIT_OK,
            verdict=str(told.get("verdict") or ""),
            measured=not told.get("fresh", False),
            directory=PurePath(str(told.get("run") or "")).name,
        )
    error = str(told.get("error") or f"tuner sweep ended with exit code {ended.code} and said nothing of it")
    return Outcome(exit_code=ended.code, error=error, next_step=str(told.get("next_step") or ""))


def told_code(said: str) -> int | None:
    """Return the exit code that follows from what a sweep said, None where it did not come to its end."""
    told = _last_json(said)
    if not told or "interrupted" in told:
        return None
    return int(told.get("exit_code", EXIT_OK))


def _last_json(text: str) -> dict[str, Any]:
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            try:
                found = json.loads(line)
            except ValueError:
                continue
            if isinstance(found, dict):
                return found
    return {}


def sweep_command(allowed: Sequence[str], run: Path, registry: str) -> tuple[str, ...]:
    """Return the arguments of `tuner`.  allowed: what the allow-list makes of the order."""
    return ("sweep", "--json", "--quiet", "--out", str(run), "--registry", registry, *allowed)
