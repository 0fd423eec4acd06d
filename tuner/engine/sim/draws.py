"""Seeded draws: the same key gives the same numbers in every process."""

from __future__ import annotations

import hashlib
import random


def generator(*key: object) -> random.Random:
    """Return a random generator whose numbers depend on `key` alone (on the text of its parts)."""
    text = "\x1f".join(str(part) for part in key)
    return random.Random(hashlib.blake2b(text.encode(), digest_size=8).digest())
