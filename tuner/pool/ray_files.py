"""Where a Ray cluster of our own keeps its sockets and logs: a directory that does not outlive its sweep for long."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from tuner.errors import PoolError

_PREFIX = "tuner-ray-"
_LOCK = "in-use"
_MADE_S = 60.0
"""From the making of a directory to its lock, at most."""


@contextmanager
def ray_files() -> Iterator[Path]:
    """Yield a new directory and remove it at the end; after a PoolError it stays until the next call, for its logs.

    What a killed sweep left is removed first: its lock is free. A short path, as sockets lie in it (107 bytes at most).
    """
    parent = Path(os.environ.get("RAY_TMPDIR") or "/tmp")  # noqa: S108 - as Ray has it; TMPDIR may be a long path
    parent.mkdir(parents=True, exist_ok=True)
    for left in parent.glob(f"{_PREFIX}*"):
        _remove_if_free(left)
    path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
    with FileLock(path / _LOCK, thread_local=False):
        try:
            yield path
        except PoolError:
            raise
        except BaseException:
            shutil.rmtree(path, ignore_errors=True)
            raise
        shutil.rmtree(path, ignore_errors=True)


def _remove_if_free(path: Path) -> None:
    """Remove what nobody uses; of another user's nothing, nor what is just being made."""
    try:
        found = path.stat()
        made_now = not (path / _LOCK).exists() and time.time() - found.st_mtime < _MADE_S
        if found.st_uid != os.getuid() or made_now:
            return
        with FileLock(path / _LOCK, blocking=False, thread_local=False):
            shutil.rmtree(path, ignore_errors=True)
    except (Timeout, FileNotFoundError):
        return
