"""Where a sweep's work comes from: single lives, fresh lives of the finalists, extras, lives for their own sake."""

from tuner.sources.base import Budget, Source

__all__ = ["Budget", "Source"]
