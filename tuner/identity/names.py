"""What a path says by itself: the hub's repository and revision, where it is a snapshot of the hub's cache."""

from __future__ import annotations

import re
from pathlib import Path

_REVISION = re.compile(r"[0-9a-f]{7,64}")
_REPOSITORY = "models--"


def hub_revision(path: str) -> str | None:
    """Return the revision of a snapshot directory (.../models--ORG--NAME/snapshots/REVISION), None for any other.

    The directory is named, not resolved: its files are links into the cache, the directory itself is none.
    """
    directory = Path(path)
    is_snapshot = directory.parent.name == "snapshots" and _REVISION.fullmatch(directory.name)
    return directory.name if is_snapshot else None


def target_name(ref: str) -> str:
    """Return the name under which measurements of a model belong together.

    ref: a settled reference (see tuner.space.model_refs).  A snapshot in the hub's cache is its hub id, so that a new
    revision goes on with the history of the old one, on any machine. Everything else is itself.
    """
    directory = Path(ref)
    repository = directory.parent.parent.name
    if hub_revision(ref) is None or not repository.startswith(_REPOSITORY):
        return ref
    return repository.removeprefix(_REPOSITORY).replace("--", "/")
