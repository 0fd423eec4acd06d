"""What stands above every export."""

from __future__ import annotations

from tuner.export.comments import comment
from tuner.export.formats.deployment import Deployment


def header(deployment: Deployment, *more: str) -> str:
    """Return what stands above every export.  more: lines of the format, how to use it last."""
    return comment(*deployment.about, *deployment.notes, *more)
