"""The last sweep of a target: found in the registry, and kept in the run directory that begins with it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from tuner.artifact import BestConfig, parse_best_config
from tuner.artifact.model import BEST_CONFIG
from tuner.errors import ArtifactError
from tuner.identity import artifact_setup
from tuner.records import Json
from tuner.registry import Entry, Registry, measured_target
from tuner.store import RunStore
from tuner.store.codec import Damaged, seal, unseal
from tuner.store.reading import LAST_FILE, RUN_FILE, read_identity, trial_directories, unsealed

_FORMAT = 1
_CANDIDATE = re.compile(r"(?:trials/)?\d+-candidate-[^/]+(?:/record\.json)?")


class _Known(BaseModel):
    """What a run's manifest says of the candidates; older ones say less."""

    candidates: frozenset[str] = frozenset()
    draft_ks: dict[str, tuple[int, ...]] = {}


class _Kept(_Known):
    """A last sweep as LAST_FILE has it."""

    where: str
    artifact: str
    starts: int


@dataclass(frozen=True)
class LastSweep:
    """A finished sweep of the same target.

    where: its artifact, as path or URL.  text: of the artifact.
    candidates: keys of all candidates that it could measure, draft_ks: their K by draft name; empty where that is not
    known.  starts: candidates that its search started.
    """

    where: str
    text: str
    candidates: frozenset[str] = frozenset()
    draft_ks: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    starts: int = 0

    @cached_property
    def config(self) -> BestConfig:
        """The artifact.  ArtifactError if it cannot be read."""
        return parse_best_config(self.text, self.where)


def find_last(
    registry: Registry, target: str, load_points: Iterable[str], devices: Collection[str]
) -> LastSweep | None:
    """Return the newest sweep of the same target at the same load points, on one of these devices if there is one.

    target: as the user wrote it.  load_points: their keys.  devices: names without their number.  What cannot be read
    is passed over.  OutputError when the registry cannot be reached.
    """
    wanted, elsewhere = set(load_points), None
    for entry in reversed(registry.entries(measured_target(target)).entries):
        last = _of_entry(registry, entry)
        if last is None:
            continue
        setup = artifact_setup(last.config)
        if set(setup.load_points or ()) != wanted:
            continue
        if not devices or {device.name for device in setup.devices} & set(devices):
            return last
        elsewhere = elsewhere or last
    return elsewhere


def _of_entry(registry: Registry, entry: Entry) -> LastSweep | None:
    """Return a sweep of the registry, None where its artifact is damaged or has no answer."""
    try:
        text = registry.read(entry, BEST_CONFIG).decode("utf-8", "replace")
        details = _details(registry.read(entry, RUN_FILE)) if RUN_FILE in entry.files else {}
        last = _last(f"{entry.url}/{BEST_CONFIG}", text, details, entry.files)
        return last if last.config.answers else None
    except ArtifactError:
        return None


def last_of_run(run: Path) -> LastSweep:
    """Return the sweep that a run directory holds.  ArtifactError where it has no artifact that can be read."""
    path = run / BEST_CONFIG
    try:
        text = path.read_text(encoding="utf-8")
        details = read_identity(run)[1]
    except (OSError, Damaged) as error:
        raise ArtifactError(f"{run} is no finished sweep: {error}", "Finish that sweep first.") from error
    last = _last(str(path), text, details, [directory.name for directory in trial_directories(run)])
    assert last.config.answers
    return last


def _details(text: bytes) -> Mapping[str, Any]:
    try:
        details = unseal(text).get("manifest")
    except Damaged:
        return {}
    return details if isinstance(details, dict) else {}


def _last(where: str, text: str, details: Mapping[str, Any], files: Iterable[str]) -> LastSweep:
    try:
        known = _Known.model_validate(details)
    except ValidationError:
        known = _Known()
    starts = sum(_CANDIDATE.fullmatch(name) is not None for name in files)
    return LastSweep(where, text, known.candidates, known.draft_ks, starts)


# ---- in the run directory


def keep_last(store: RunStore, last: LastSweep | None) -> None:
    """Write down which sweep this run begins with, or that it begins with none: a later call does the same."""
    body: dict[str, Json] = {"format": _FORMAT, "last": None}
    if last is not None:
        ks: dict[str, Json] = {name: list(of_draft) for name, of_draft in last.draft_ks.items()}
        body["last"] = {
            "where": last.where,
            "artifact": last.text,
            "candidates": [*sorted(last.candidates)],
            "draft_ks": ks,
            "starts": last.starts,
        }
    store.write_text(LAST_FILE, seal(body).decode())


def has_begun(run: Path) -> bool:
    """Whether a run directory says what it began with."""
    return (run / LAST_FILE).is_file()


def kept_last(run: Path) -> LastSweep | None:
    """Return the sweep that a run began with; None for none, and where the file is damaged or of a later tuner."""
    try:
        body = unsealed(run / LAST_FILE)
    except (FileNotFoundError, Damaged):
        return None
    if body.get("format") != _FORMAT or body.get("last") is None:
        return None
    try:
        kept = _Kept.model_validate(body["last"])
        found = LastSweep(kept.where, kept.artifact, kept.candidates, kept.draft_ks, kept.starts)
        return found if found.config.answers else None
    except (ValidationError, ArtifactError):
        return None
