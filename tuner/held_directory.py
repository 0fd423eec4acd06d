"""Directories that are in use as long as a process holds them, and are removed by the next one who makes such.

The lock is on the directory itself, and the kernel gives it back when its last descriptor is closed. Whoever has just
made a directory and not locked it yet may lose it, and makes another.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Held:
    """A directory in use.  lock: an open descriptor; whoever inherits it holds the directory too."""

    path: Path
    lock: int


@contextmanager
def held_directory(prefix: str, parent: Path) -> Iterator[Held]:
    """Yield a new directory, and close its lock at the end; what others left there and nobody holds is removed first.

    It does not remove its own.  Raises OSError if none can be made.
    """
    for left in parent.glob(f"{prefix}*"):
        with suppress(OSError):
            _remove_unless_held(left)
    held = _new(prefix, parent)
    try:
        yield held
    finally:
        os.close(held.lock)


def _new(prefix: str, parent: Path) -> Held:
    while True:
        path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        with suppress(FileNotFoundError):
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            with suppress(OSError):  # a file system without locks: nobody can take it for left, then
                fcntl.flock(lock, fcntl.LOCK_EX)
            if path.exists():
                return Held(path, lock)
            os.close(lock)  # somebody took it for left before we held it


def _remove_unless_held(path: Path) -> None:
    """Remove a directory of this user's that nobody holds; OSError where it is none, or held."""
    lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if os.fstat(lock).st_uid == os.getuid():
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(lock)
