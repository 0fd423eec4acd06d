"""Where a Ray cluster of our own keeps its sockets and logs: a directory that does not outlive its sweep for long."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tuner.errors import PoolError
from tuner.held_directory import held_directory


@contextmanager
def ray_files() -> Iterator[Path]:
    """Yield a new directory and remove it at the end; after a PoolError it stays until the next call, for its logs.

    What a killed sweep left is removed first. A short path, as sockets lie in it (107 bytes at most).
    """
    parent = Path(os.environ.get("RAY_TMPDIR") or "/tmp")  # noqa: S108 - as Ray has it; TMPDIR may be a long path
    parent.mkdir(parents=True, exist_ok=True)
    with held_directory("tuner-ray-", parent) as held:
        try:
            yield held.path
        except PoolError:
            raise
        except BaseException:
            shutil.rmtree(held.path, ignore_errors=True)
            raise
        shutil.rmtree(held.path, ignore_errors=True)
