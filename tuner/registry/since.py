"""What changed since the sweep before: kept with each entry, so that it is known without the older one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from tuner.artifact import BestConfig, parse_best_config
from tuner.artifact.model import BEST_CONFIG
from tuner.errors import ArtifactError
from tuner.identity import Difference
from tuner.identity.between import change_words, changes_between
from tuner.registry.registry import Registry

CHANGED_FILE = "changed.json"


@dataclass(frozen=True)
class Since:
    """stamp: of the entry before.  changed: what is not as it was then, () where nothing that is recorded is not."""

    stamp: str
    changed: tuple[Difference, ...]

    @property
    def words(self) -> str:
        """Return "changed since 20261103T011000Z: engine.version 0.31.0 -> 0.32.0"."""
        return f"changed since {self.stamp}: {', '.join(map(change_words, self.changed)) or 'nothing'}"

    def encoded(self) -> bytes:
        """Return the text of changed.json."""
        document = {"against": self.stamp, "changed": [asdict(one) for one in self.changed]}
        return json.dumps(document, indent=1).encode() + b"\n"


def since_last(registry: Registry, target: str, files: Mapping[str, bytes]) -> Since | None:
    """Return what changed since the newest entry that can be read; None where there is none, or no artifact in `files`.

    target: its name in the registry.  files: of the entry to be kept.  OutputError where the registry is out of reach.
    """
    new = _config(files.get(BEST_CONFIG))
    if new is None:
        return None
    for entry in reversed(registry.entries(target).entries):
        try:
            text = registry.read(entry, BEST_CONFIG).decode("utf-8", "replace")
            old = parse_best_config(text, f"{entry.url}/{BEST_CONFIG}")
        except ArtifactError:
            continue  # a broken entry; `tuner history` names it
        return Since(entry.stamp, changes_between(old, new))
    return None


def _config(data: bytes | None) -> BestConfig | None:
    if data is None:
        return None
    try:
        return parse_best_config(data.decode("utf-8", "replace"), BEST_CONFIG)
    except ArtifactError:
        return None  # kept as it is: what reads it later says what is wrong
