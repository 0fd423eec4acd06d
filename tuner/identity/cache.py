"""Identities that were worked out before, kept for as long as the files behind them stay untouched."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tuner.identity.content import ModelFile
from tuner.records import Json, canonical_json, short_hash

SETTLED_S = 2.0
"""Files younger than this are not cached: a later write may fall into the same tick of the file system's clock."""

Listing = list[Json]
"""[name, size, modification time, change time (nanoseconds), inode] of every file that counts."""


def listing(files: Sequence[ModelFile]) -> Listing:
    """Return what must be unchanged for a cached identity to hold.

    The change time is in it because no program can set it back: a file that was written in place counts as changed even
    where its size and its modification time were restored.  OSError for a file that is gone.
    """
    stats = [(file.path.name, file.path.stat()) for file in files]
    return [[name, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino] for name, stat in stats]


def recall(directory: Path, model: Path, files: Listing, scheme: int) -> dict[str, Json] | None:
    """Return the identity that was kept for `model`, None if there is none that holds, or the file is damaged."""
    try:
        kept = json.loads(_file(directory, model).read_bytes())
        checksum = kept.pop("checksum")
    except (OSError, ValueError, KeyError, AttributeError, TypeError, RecursionError):
        return None
    identity = kept.get("identity")
    holds = checksum == short_hash(kept, 64) and (kept["scheme"], kept["files"]) == (scheme, files)
    return identity if holds and isinstance(identity, dict) else None


def keep(directory: Path, model: Path, files: Listing, scheme: int, identity: dict[str, Json]) -> None:
    """Keep an identity, whole or not at all. A cache that cannot be written costs time, nothing else."""
    if _newest_ns(files) > time.time_ns() - SETTLED_S * 1e9:
        return
    kept: dict[str, Json] = {"scheme": scheme, "model": str(model), "files": files, "identity": identity}
    text = canonical_json({**kept, "checksum": short_hash(kept, 64)})
    with contextlib.suppress(OSError):
        directory.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=directory, suffix=".tmp")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", errors="surrogateescape") as stream:
                stream.write(text)
            Path(temporary).replace(_file(directory, model))
        except OSError:
            Path(temporary).unlink(missing_ok=True)
            raise


def _newest_ns(files: Listing) -> int:
    times = [time for entry in files if isinstance(entry, list) for time in entry[2:4] if isinstance(time, int)]
    return max(times, default=0)


def _file(directory: Path, model: Path) -> Path:
    return directory / f"{short_hash(os.fsencode(model).hex(), 32)}.json"
