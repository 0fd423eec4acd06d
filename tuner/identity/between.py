"""What changed from one sweep to a later one of the same target."""

from __future__ import annotations

from tuner.artifact import BestConfig
from tuner.identity.differences import Difference, differences
from tuner.identity.setup import artifact_setup


def changes_between(old: BestConfig, new: BestConfig) -> tuple[Difference, ...]:
    """Return what the newer sweep was made with that the older one was not, the tuner's own version included."""
    before, after = artifact_setup(old), artifact_setup(new)
    found = differences(before, after)
    if None in (before.target.hash, after.target.hash) and before.target.id != after.target.id:
        why = "the names differ, and what is behind one of them was not recorded"
        found = (*found, Difference("target", before.target.id, after.target.id, why))
    if old.tuner_version == new.tuner_version:
        return found
    why = "another version may measure or compute in another way"
    return (*found, Difference("tuner.version", old.tuner_version, new.tuner_version, why, stale=False))


def change_words(one: Difference) -> str:
    """Return "engine.version 0.31.0 -> 0.32.0"; long values are cut."""
    return f"{one.field} {_brief(one.measured)} -> {_brief(one.now)}"


def _brief(value: object) -> str:
    text = "none" if value is None else f"{len(value)} of them" if isinstance(value, list) else str(value)
    return text if len(text) <= 28 else f"{text[:12]}..."
