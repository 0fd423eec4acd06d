"""One writer per run directory, and who it is."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from filelock import FileLock, Timeout

from tuner.device_lock import Holder, this_process
from tuner.errors import OutputError
from tuner.store.files import write_atomic

LOCK_FILE = ".lock"
HOLDER_FILE = ".holder.json"


class RunLock:
    """The right to write in a run directory.  The kernel takes it back when the process ends, however it ends."""

    def __init__(self, path: Path, lock: FileLock) -> None:
        self._holder = path / HOLDER_FILE
        self._lock = lock

    @staticmethod
    def acquire(path: Path, command: str = "") -> RunLock:
        """Create the directory if need be and lock it.  OutputError: not writable, or another sweep is in it.

        command: what others are told of who holds it.
        """
        try:
            path.mkdir(parents=True, exist_ok=True)
            lock = FileLock(path / LOCK_FILE, thread_local=False)
            lock.acquire(blocking=False)
            write_atomic(path / HOLDER_FILE, json.dumps(asdict(this_process(command))).encode())
        except Timeout as error:
            hint = "Wait for it or stop it, or give another output directory."
            raise OutputError(f"{path} is being written by another sweep ({_holder(path)})", hint) from error
        except OSError as error:
            hint = "Give an output directory that you may write in."
            raise OutputError(f"cannot write in {path}: {error.strerror or error}", hint) from error
        return RunLock(path, lock)

    def release(self) -> None:
        """Let go.  Safe to call twice."""
        if self._lock.is_locked:
            self._holder.unlink(missing_ok=True)
            self._lock.release()


def holder(path: Path) -> tuple[int, str] | None:
    """Return process id and host of who locked a run directory, None where nobody did or it is not known.

    A process that was killed stays named.
    """
    told = _told(path)
    return (told.pid, told.host) if told else None


def _holder(path: Path) -> str:
    told = _told(path)
    return told.words if told else "which did not say who it is"


def _told(path: Path) -> Holder | None:
    try:
        return Holder.from_json((path / HOLDER_FILE).read_bytes())
    except (OSError, ValueError):
        return None
