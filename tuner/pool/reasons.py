"""What Ray's long messages say.  Pure."""

from __future__ import annotations

_TELLING = ("low on memory", "memory pressure", "exit detail", "because", "is full")


def reason(error: BaseException) -> str:
    """Return the telling line of what Ray raised: the first that names a cause, else its first at all."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for words in _TELLING for line in lines if words in line]
    return (telling or lines or [type(error).__name__])[0][:300]
