"""tuner: which speculative decoding setting for this target, on this engine and device - or none - and how sure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuner.artifact import BestConfig, load_best_config

__all__ = ["BestConfig", "load_best_config"]


def __getattr__(name: str) -> object:
    """Import what is exported only when it is asked for: `import tuner` alone reads nothing else."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tuner import artifact

    return getattr(artifact, name)
