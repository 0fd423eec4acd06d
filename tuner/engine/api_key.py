"""The keys that guard our engines against other users of the machine."""

from __future__ import annotations

import os
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path

from tuner.space.versions import version_row

FILE_NAME = "engine-key"
_BYTES = 24


def engine_api_key(version: str, directory: Path) -> str:
    """Return the key for one start of an engine of vLLM `version`: a new one, or the user's, kept in `directory`.

    The user's where the release names its compile cache by the key: with a key of its own an engine would compile
    everything again, on an H200 36 of 100 seconds of each start. Raises EngineNotFound for a release before 0.8.5.
    """
    return kept_key(directory) if version_row(version).key_names_cache else secrets.token_urlsafe(_BYTES)


def kept_key(directory: Path) -> str:
    """Return the key kept in `directory`, made on first use; a new one each time where it cannot be kept.

    Only the user can read its file.
    """
    path = directory / FILE_NAME
    with suppress(OSError):
        if not path.exists():
            _keep(path, secrets.token_urlsafe(_BYTES))
        if kept := _own(path):
            return kept
    return secrets.token_urlsafe(_BYTES)


def _own(path: Path) -> str:
    """Return the key in a file that nobody else can read or write; "" for any other."""
    with path.open("rb") as file:
        facts = os.fstat(file.fileno())
        private = facts.st_uid == os.getuid() and not facts.st_mode & 0o077
        return file.read(256).decode("ascii", errors="ignore").strip() if private else ""


def _keep(path: Path, key: str) -> None:
    """Write the file whole or not at all; whoever was first wins, since its key is in use already."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, new = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")  # mkstemp: mode 600
    try:
        with os.fdopen(handle, "w") as file:
            file.write(key)
        with suppress(FileExistsError):
            os.link(new, path)
    finally:
        Path(new).unlink()
