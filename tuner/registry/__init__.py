"""What was measured of each target, kept: one directory a sweep, in a local directory or an object store."""

from tuner.registry.entry import Entry, parse_stamp
from tuner.registry.history import History, Past, history
from tuner.registry.keeping import keep_run, kept_files, measured_target, open_for_keeping
from tuner.registry.locating import Located, find_target, locate
from tuner.registry.registry import Listing, Registry, Survey
from tuner.registry.slugs import target_slug

__all__ = [
    "Entry",
    "History",
    "Listing",
    "Located",
    "Past",
    "Registry",
    "Survey",
    "find_target",
    "history",
    "keep_run",
    "kept_files",
    "locate",
    "measured_target",
    "open_for_keeping",
    "parse_stamp",
    "target_slug",
]
