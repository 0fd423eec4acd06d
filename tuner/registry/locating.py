"""From what a user writes to an artifact: a file, a run directory, a registry entry or its URL, a target."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tuner.artifact import BestConfig, load_best_config, parse_best_config
from tuner.artifact.model import BEST_CONFIG
from tuner.errors import ArtifactError
from tuner.registry.entry import Entry, is_stamp
from tuner.registry.keeping import measured_target
from tuner.registry.registry import LATEST, Registry
from tuner.registry.shelf import Shelf
from tuner.store.codec import Damaged


@dataclass(frozen=True)
class Located:
    """An artifact and where it was read from, as a path or URL."""

    where: str
    config: BestConfig


def locate(ref: str, registry: str) -> Located:
    """Return the artifact that `ref` names.

    ref: best_config.yaml, a directory that has one, a target's directory in a registry (its latest), a URL of any of
    these, or a target, TARGET or TARGET@STAMP, in `registry`.
    Raises ArtifactError where there is none or it cannot be read, OutputError where a registry cannot be reached.
    """
    if "://" in ref:
        return _at_url(ref)
    path = Path(ref).expanduser()
    if path.is_file() or (path / BEST_CONFIG).is_file():
        return Located(str(path if path.is_file() else path / BEST_CONFIG), load_best_config(path))
    if (path / LATEST).is_file():
        path = path / (path / LATEST).read_text(encoding="utf-8", errors="replace").strip() / BEST_CONFIG
        return Located(str(path), load_best_config(path))
    return _of_target(ref, Registry(registry))


def _at_url(url: str) -> Located:
    directory, _, name = url.rstrip("/").rpartition("/")
    if name.endswith((".yaml", ".yml")):
        return _read(Shelf(directory), name)
    shelf = Shelf(url)
    try:
        latest = shelf.read(LATEST).decode("utf-8", "replace").strip()
    except (FileNotFoundError, Damaged):
        return _read(shelf, BEST_CONFIG)
    return _read(shelf, f"{latest}/{BEST_CONFIG}")


def _read(shelf: Shelf, name: str) -> Located:
    where = shelf.where(name)
    try:
        return Located(where, parse_best_config(shelf.read(name).decode(), where))
    except FileNotFoundError as error:
        raise ArtifactError(f"{where} does not exist", "Give an artifact, its directory, or a target.") from error
    except Damaged as error:
        raise ArtifactError(f"{where}: {error}", "Restore it, or use another entry.") from error
    except UnicodeDecodeError as error:
        raise ArtifactError(f"{where} is no text: {error}", "Restore it, or use another entry.") from error


def _of_target(ref: str, registry: Registry) -> Located:
    target, wanted = _stamped(ref, registry)
    target = find_target(registry, target)
    entries = registry.entries(target).entries
    chosen = [entry for entry in entries if wanted in (None, entry.stamp)]
    if not chosen:
        has = ", ".join(entry.stamp for entry in entries) or "none that can be read"
        raise ArtifactError(f"{registry.url} has no entry {wanted or ''} of {target}", f"It has: {has}.")
    return Located(f"{chosen[-1].url}/{BEST_CONFIG}", read_config(registry, chosen[-1]))


def _stamped(ref: str, registry: Registry) -> tuple[str, str | None]:
    name, _, stamp = ref.rpartition("@")
    if name and (is_stamp(stamp) or _mistyped(ref, name, registry)):
        return name, stamp
    return ref, None


def _mistyped(ref: str, name: str, registry: Registry) -> bool:
    targets = registry.targets()
    return measured_target(ref) not in targets and measured_target(name) in targets


def read_config(registry: Registry, entry: Entry) -> BestConfig:
    """Return the artifact of an entry.  ArtifactError if it is missing or not what was written."""
    text = registry.read(entry, BEST_CONFIG).decode("utf-8", "replace")
    return parse_best_config(text, f"{entry.url}/{BEST_CONFIG}")


def find_target(registry: Registry, ref: str) -> str:
    """Return the name of the target that `ref` means: itself, or the only one whose last part it is.

    Raises ArtifactError where there is none, or several, naming what there is.
    """
    name = measured_target(ref)
    targets = registry.targets()
    if name in targets:
        return name
    alike = [target for target in targets if _last_part(target) == _last_part(ref)]
    if len(alike) == 1:
        return alike[0]
    if broken := registry.entries(name).broken:
        raise ArtifactError(f"no entry of {ref} can be read: {'; '.join(broken)}", "Restore one, or sweep again.")
    has = ", ".join(alike or targets) or "nothing"
    what = f"several targets named {ref}" if alike else f"no target {ref}"
    problem = f" has no {BEST_CONFIG}" if Path(ref).is_dir() else ": there is no such artifact"
    raise ArtifactError(f"{ref}{problem}, and {registry.url} has {what}", f"It has: {has}.")


def _last_part(name: str) -> str:
    return name.rstrip("/").rpartition("/")[2].lower()
