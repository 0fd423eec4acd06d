"""What was measured of one target over time, and what changed from one sweep to the next."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.artifact import BestConfig
from tuner.errors import ArtifactError
from tuner.identity import Difference
from tuner.identity.between import changes_between
from tuner.registry.entry import Entry
from tuner.registry.locating import read_config
from tuner.registry.registry import Registry


@dataclass(frozen=True)
class Past:
    """One finished sweep.  changed: against the sweep before it that can be read; None for the first."""

    entry: Entry
    config: BestConfig
    changed: tuple[Difference, ...] | None


@dataclass(frozen=True)
class History:
    """Sweeps of one target, oldest first.  broken: entries that could not be read, each with the reason."""

    target: str
    past: tuple[Past, ...]
    broken: tuple[str, ...]


def history(registry: Registry, target: str) -> History:
    """Return the sweeps of a target.  target: its name in the registry, see tuner.registry.locating.find_target."""
    listing = registry.entries(target)
    past: list[Past] = []
    broken = list(listing.broken)
    for entry in listing.entries:
        try:
            config = read_config(registry, entry)
        except ArtifactError as error:
            broken.append(error.message)
            continue
        before = past[-1].config if past else None
        past.append(Past(entry, config, None if before is None else changes_between(before, config)))
    return History(target, tuple(past), tuple(broken))
