"""Which tuner this is."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

DISTRIBUTION = "spec-tuner"


def tuner_version() -> str:
    """Return the installed version, or "0+unknown" when run from a tree that is not installed."""
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "0+unknown"
