"""Files that are whole or absent, and a place for those that are neither."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

QUARANTINE = "quarantine"
TRIALS = "trials"
_PLOTS = "plots"
_TEMPORARY = ".tmp"
_OF_FILES = frozenset({".json", ".yaml", ".env", ".md", ".html", ".db", ".png", ".svg"})
_OF_A_TRIAL = re.compile(r"\d{4,}-.+")


@dataclass(frozen=True)
class BrokenFile:
    """One file that could not be used.  path: where it was found; moved_to: where it is now, None if left there."""

    path: Path
    reason: str
    moved_to: Path | None = None

    def __str__(self) -> str:
        moved = f"; set aside as {self.moved_to}" if self.moved_to else ""
        return f"{self.path}: {self.reason}{moved}"


def write_atomic(path: Path, data: bytes) -> None:
    """Write a file so that a crash at any moment leaves the old content or the new, on the disk and not in a cache.

    OSError if the file system refuses; then nothing is left behind.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}{_TEMPORARY}")
    try:
        with temporary.open("wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)  # noqa: PTH105 - one name for the tests to fail at
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def replace_quickly(path: Path, data: bytes) -> None:
    """Write a file so that a reader sees the old content or the new, without waiting for the disk.

    For what may be lost in a crash.  OSError if the file system refuses; then nothing is left behind.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}{_TEMPORARY}")
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def sync_directory(path: Path) -> None:
    """Make a new name in a directory survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_leftover(path: Path) -> bool:
    """Whether a file is the half-written remains of a `write_atomic` that was killed."""
    return path.name.startswith(".") and path.name.endswith(_TEMPORARY)


def make_way(root: Path) -> tuple[BrokenFile, ...]:
    """Move directories that stand in the place of a run's files to `quarantine/`, and files in that of directories.

    Without that they would be met when hours are measured and the answer is written.
    """
    return tuple(set_aside(root, path, reason) for path, reason in list(_in_the_way(root)))


def _in_the_way(root: Path) -> Iterator[tuple[Path, str]]:
    directories = [root / TRIALS, root / _PLOTS]
    if directories[0].is_dir():
        directories += [entry for entry in sorted(directories[0].iterdir()) if _OF_A_TRIAL.fullmatch(entry.name)]
    for path in directories:
        if path.exists() and not path.is_dir():
            yield path, "it is a file where a directory belongs"
    for directory in (root, root / _PLOTS):
        for path in sorted(directory.iterdir()) if directory.is_dir() else ():
            if path.suffix in _OF_FILES and path.is_dir():
                yield path, "it is a directory where a file belongs"


def set_aside(root: Path, path: Path, reason: str) -> BrokenFile:
    """Move a broken file or directory to `quarantine/` under `root`, with the reason beside it."""
    quarantine = root / QUARANTINE
    quarantine.mkdir(exist_ok=True)
    target, count = quarantine / path.name, 1
    while target.exists():
        count += 1
        target = quarantine / f"{path.name}.{count}"
    path.rename(target)
    target.with_name(f"{target.name}.reason.txt").write_text(f"{reason}\n", encoding="utf-8", errors="backslashreplace")
    return BrokenFile(path, reason, target)
