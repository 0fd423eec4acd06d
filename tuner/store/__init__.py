"""The run directory: the truth about a sweep."""

from tuner.store.files import BrokenFile
from tuner.store.reading import Manifest, read_run
from tuner.store.run import RunStore

__all__ = ["BrokenFile", "Manifest", "RunStore", "read_run"]
