"""What was measured of each target, kept: one directory a sweep, in a local directory or an object store."""

from tuner.registry.entry import Entry, parse_stamp
from tuner.registry.keeping import kept_files, measured_target
from tuner.registry.registry import Listing, Registry
from tuner.registry.slugs import target_slug

__all__ = ["Entry", "Listing", "Registry", "kept_files", "measured_target", "parse_stamp", "target_slug"]
