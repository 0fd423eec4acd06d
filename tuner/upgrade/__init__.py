"""A sweep after another one of the same target: where its search begins, what that saves, and how the two compare."""

from tuner.upgrade.last import LastSweep, find_last, keep_last, kept_last, last_of_run
from tuner.upgrade.start import Start, start_from

__all__ = ["LastSweep", "Start", "find_last", "keep_last", "kept_last", "last_of_run", "start_from"]
