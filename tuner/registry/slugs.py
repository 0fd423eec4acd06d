"""From a target's name, which may be anything, to a directory name that is safe on any file system and in any URL."""

from __future__ import annotations

import hashlib
import re
import unicodedata

_READABLE = 48
_HASH_DIGITS = 20


def target_slug(name: str) -> str:
    """Return the directory name of a target: what can be read of its name, and digits that no other target has.

    Lower case letters, digits, dot, underscore and hyphen, at most 69 characters, not beginning or ending with a dot or
    a hyphen. The digits are of the SHA-256 of the exact name and always there, so that names which differ only in case,
    in what is replaced or beyond the part that is shown stay apart, on file systems that ignore case too.
    """
    digits = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_DIGITS]
    return f"{_readable(name)}-{digits}"


def _readable(name: str) -> str:
    """Return the last part of a path; all of a hub id."""
    shown = name.rstrip("/").rpartition("/")[2] if name.startswith(("/", ".", "~")) else name
    plain = unicodedata.normalize("NFKD", shown).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9._]+", "-", plain)[:_READABLE].strip("-.") or "target"
