"""Whose a directory is, before anything is written into it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tuner.errors import OutputError
from tuner.records import Json, short_hash
from tuner.store.codec import Damaged
from tuner.store.files import QUARANTINE, TRIALS, is_leftover
from tuner.store.lock import HOLDER_FILE, LOCK_FILE
from tuner.store.reading import (
    RUN_FILE,
    STATUS_FILE,
    read_identity,
    read_record,
    same_fingerprint,
    trial_directories,
)

_OURS = frozenset({LOCK_FILE, HOLDER_FILE, STATUS_FILE, QUARANTINE, TRIALS})


def is_another_run(path: Path, fingerprint: Mapping[str, Json]) -> bool:
    """Whether `path` is a run of another fingerprint.  OutputError if it is something else than a run."""
    if path.exists() and not path.is_dir():
        raise OutputError(f"{path} is a file, not a directory", "Give another output directory.")
    if not path.is_dir():
        return False
    try:
        return not same_fingerprint(read_identity(path)[0], fingerprint)
    except FileNotFoundError:
        if _owners(path) != {short_hash(fingerprint)}:
            _require_only_ours(path)
        return False
    except Damaged as error:
        # The records say whose run it was: each carries the hash of the fingerprint.
        owners = _owners(path)
        if owners - {short_hash(fingerprint)}:
            hint = "Restore the file, or give another output directory."
            raise OutputError(
                f"{path / RUN_FILE} cannot be used: {error}; its trials are another sweep's", hint
            ) from error
        return False


def _owners(path: Path) -> set[str]:
    owners = set()
    for directory in trial_directories(path):
        try:
            owners.add(read_record(directory).run)
        except Damaged:
            continue
    return owners


def _require_only_ours(path: Path) -> None:
    foreign = sorted(entry.name for entry in path.iterdir() if entry.name not in _OURS and not is_leftover(entry))
    if foreign or any(trial_directories(path)):
        found = foreign[0] if foreign else TRIALS
        raise OutputError(
            f"{path} is not empty and no run of tuner: it holds {found} and no {RUN_FILE}",
            "Give a new or empty output directory.",
        )
