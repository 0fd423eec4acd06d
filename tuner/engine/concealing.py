"""An engine's log without secrets: vLLM and its libraries print variables, arguments and URLs when they fail."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from tuner.records.redaction import redacted

LONGEST = 1 << 20
"""Bytes of a line that are looked at together: a log may be one line of gigabytes."""


def conceal(log: Path, secrets: Collection[str]) -> None:
    """Replace secrets and the credentials of URLs in a log that nobody writes any more; nothing where there are none.

    Where the disk refuses, the log stays as it is.
    """
    with suppress(OSError):
        if not any(redacted(part, secrets) != part for part in _parts(log)):
            return
        hidden = log.with_name(f".{log.name}.tmp")
        with hidden.open("w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            file.writelines(redacted(part, secrets) for part in _parts(log))
        hidden.replace(log)


def _parts(log: Path) -> Iterator[str]:
    with log.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
        while part := file.readline(LONGEST):
            yield part
