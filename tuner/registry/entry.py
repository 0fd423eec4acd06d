"""One entry of the registry: which target, when, and what files it has."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from tuner.records import Json
from tuner.store.codec import Damaged, seal, sha256, unseal

ENTRY_FILE = "entry.json"
"""Its existence means that the entry is whole: it is written last."""
_FORMAT = 1
_STAMP = re.compile(r"(\d{8}T\d{6}Z)(?:-(\d+))?")
_TIME = "%Y%m%dT%H%M%SZ"


@dataclass(frozen=True)
class Entry:
    """target: its name, see tuner.identity.target_name.  stamp: its directory's name, UTC.  url: where it is.

    measurements: hash of the records that it rests on; equal for two entries of the same measurements.
    files: SHA-256 by name, of every file but entry.json.
    """

    target: str
    stamp: str
    url: str
    measurements: str
    files: Mapping[str, str]

    @property
    def kept_at(self) -> datetime:
        """When it was written, UTC, to the second."""
        return parse_stamp(self.stamp)[0]


def new_stamp(now: datetime, suffix: int = 1) -> str:
    """Return the directory name of an entry.  suffix: above 1 where that second has an entry already."""
    stamp = now.astimezone(UTC).strftime(_TIME)
    return stamp if suffix == 1 else f"{stamp}-{suffix}"


def parse_stamp(stamp: str) -> tuple[datetime, int]:
    """Return time and suffix of a directory name; stamps sort by that.  ValueError if it is none."""
    found = _STAMP.fullmatch(stamp)
    if found is None:
        raise ValueError(f"{stamp!r} is no stamp")
    return datetime.strptime(found[1], _TIME).replace(tzinfo=UTC), int(found[2] or 1)


def is_stamp(name: str) -> bool:
    """Whether a directory name is that of an entry."""
    try:
        parse_stamp(name)
    except ValueError:
        return False
    return True


def encode_entry(target: str, stamp: str, measurements: str, files: Mapping[str, bytes]) -> bytes:
    """Return the text of entry.json."""
    hashes: dict[str, Json] = {name: sha256(data) for name, data in sorted(files.items())}
    return seal({"format": _FORMAT, "target": target, "stamp": stamp, "measurements": measurements, "files": hashes})


def decode_entry(data: bytes, url: str) -> Entry:
    """Return the entry whose entry.json has this text.  Damaged if it is not what `encode_entry` wrote."""
    body = unseal(data)
    if body.get("format") != _FORMAT:
        raise Damaged(f"it is an entry of format {body.get('format')}, this tuner reads {_FORMAT}")
    target, stamp, measurements, files = (body.get(key) for key in ("target", "stamp", "measurements", "files"))
    if not (isinstance(target, str) and isinstance(stamp, str) and isinstance(measurements, str)):
        raise Damaged("it is no entry")
    if not isinstance(files, dict) or not is_stamp(stamp):
        raise Damaged("it is no entry")
    return Entry(target, stamp, url, measurements, {name: str(digest) for name, digest in files.items()})
