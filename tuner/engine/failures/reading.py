"""The parts of an engine's log that tell why it ended: error lines, frames of a traceback, sizes. Pure."""

from __future__ import annotations

import re

from tuner.engine.logscan import QUIET, Line, parse_log

Frames = frozenset[str]

_FRAME = re.compile(r'^\s*File "[^"]*", line \d+, in (?P<name>\S+)')
_TRACEBACK = "Traceback (most recent call last):"
_UNITS = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def errors_of(log: str) -> list[str]:
    """Return the text of all lines that are not mere information, process by process in the order of first lines.

    Grouped, because the lines of several processes are mixed as chance has it.
    """
    found: dict[str, list[str]] = {}
    for line in parse_log(log):
        if line.level not in QUIET:
            found.setdefault(line.source, []).append(line.text)
    return [text for source in sorted(found) for text in found[source]]


def frames_of(log: str, cause: str) -> Frames:
    """Return the names of the functions in the traceback that ends with `cause`; none if there is no such traceback."""
    names: dict[tuple[str, str], set[str]] = {}
    for line in parse_log(log):
        place = (line.source, line.level)
        if line.level in QUIET:
            continue
        if line.text.strip() == _TRACEBACK:
            names[place] = set()
        elif place in names:
            if frame := _FRAME.match(line.text):
                names[place].add(frame["name"])
            elif cause and _is(line, cause):
                return frozenset(names[place])
    return frozenset()


def _is(line: Line, cause: str) -> bool:
    return bool(line.text[:1].strip()) and cause.startswith(line.text.strip()[:500])


def said_in(log: str, pattern: re.Pattern[str]) -> re.Match[str] | None:
    """Return the last match in any line of the log, information included, without prefixes."""
    found = None
    for line in parse_log(log):
        found = pattern.search(line.text) or found
    return found


def size_bytes(number: str, unit: str) -> float:
    """Return "70.1", "GiB" in bytes."""
    return float(number) * _UNITS[unit]


def gib(size: float) -> str:
    """Return a size in bytes as "70.1 GiB"."""
    return f"{size / 2**30:.4g} GiB"
