"""Which form of an answer a client wants, and whether it has it already (RFC 9110, 12.5.1 and 13.1.2). Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

_TAG = re.compile(r'(?:W/)?("[^"]*")')
_MOST_RANGES = 50


def preferred(accept: str, offered: Sequence[str]) -> str | None:
    """Return the media type to answer with, the first offered among equals; None where none is acceptable.

    accept: the header, of several joined by commas, "" where there is none.  What in it cannot be read is passed over.
    """
    if not accept.strip():
        return offered[0]
    ranges = [parsed for part in accept.split(",")[:_MOST_RANGES] if (parsed := _range(part)) is not None]
    best = max(offered, key=lambda media: _quality(media, ranges))
    return best if _quality(best, ranges) > 0 else None


def _range(part: str) -> tuple[str, float] | None:
    media, *parameters = (piece.strip() for piece in part.split(";"))
    quality = 1.0
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "q":
            if not re.fullmatch(r"[01](\.[0-9]{0,3})?", value.strip()):
                return None
            quality = min(1.0, float(value))
    return (media.lower(), quality) if "/" in media else None


def _quality(media: str, ranges: Sequence[tuple[str, float]]) -> float:
    """Return how much a client wants it: the most specific range that it is in decides."""
    kind = media.partition("/")[0]
    for wanted in (media, f"{kind}/*", "*/*"):
        found = [quality for name, quality in ranges if name == wanted]
        if found:
            return max(found)
    return 0.0


def entity_tag(body: bytes) -> str:
    """Return a strong tag of one representation."""
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


def has_it(if_none_match: str, tag: str) -> bool:
    """Whether an If-None-Match header names this tag, or any ("*"); compared weakly, as RFC 9110 has it."""
    return if_none_match.strip() == "*" or tag in _TAG.findall(if_none_match)
