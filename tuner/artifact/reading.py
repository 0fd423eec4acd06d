"""From a file to a BestConfig, whichever schema version it was written with."""

from __future__ import annotations

from pathlib import Path

import yaml
from pydantic import ValidationError

from tuner.artifact.migrations import migrated
from tuner.artifact.model import BEST_CONFIG, SCHEMA_VERSION, BestConfig
from tuner.errors import ArtifactError

_Loader: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MAX_SHOWN = 5
_MAX_BYTES = 16_000_000
_MAX_DEPTH = 60
# What PyYAML lets through from a date, a number or a truth value that is none.
_NOT_WHAT_ITS_TAG_SAYS = (ValueError, KeyError, IndexError, AttributeError, TypeError, OverflowError)


def load_best_config(path: Path | str) -> BestConfig:
    """Return the artifact at `path`, the file or a directory that has a best_config.yaml; older versions too.

    Raises ArtifactError when the file cannot be read, is no artifact, is newer than this tuner, or has a wrong field.
    """
    file = Path(path)
    if file.is_dir():
        file /= BEST_CONFIG
    try:
        if (size := file.stat().st_size) > _MAX_BYTES:
            raise ArtifactError(f"{file} has {size / 1e6:.0f} MB and is no artifact.", _WHAT_TO_GIVE)
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ArtifactError(
            f"{file} cannot be read: {reason}", f"Give the {BEST_CONFIG} that a sweep wrote, or its directory."
        ) from error
    return parse_best_config(text, str(file))


def parse_best_config(text: str, source: str) -> BestConfig:
    """Return the artifact in `text`.  source: what to call it in errors.  Raises ArtifactError as load_best_config."""
    try:
        _check_shape(text, source)
        document = yaml.load(text, Loader=_Loader)  # noqa: S506 - both loaders are safe ones
    except (yaml.YAMLError, *_NOT_WHAT_ITS_TAG_SAYS) as error:
        raise ArtifactError(f"{source} is no YAML: {error}", _WHAT_TO_GIVE) from error
    if not isinstance(document, dict) or "schema_version" not in document or "answers" not in document:
        raise ArtifactError(f"{source} is no artifact: it has no schema_version or no answers.", _WHAT_TO_GIVE)
    version = document["schema_version"]
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ArtifactError(f"{source} has schema_version {version!r}, which is none.", _WHAT_TO_GIVE)
    if version > SCHEMA_VERSION:
        written_by = document.get("tuner_version", "a later release")
        raise ArtifactError(
            f"{source} has schema version {version}; this tuner reads up to {SCHEMA_VERSION}.",
            f"Upgrade: it was written by tuner {written_by}, which reads it, and so do later ones.",
        )
    return _validated(document, version, source)


def _check_shape(text: str, source: str) -> None:
    """Raise ArtifactError for what no artifact has, and what takes memory or the stack without end once it is built."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.AliasEvent):
            raise ArtifactError(f"{source} has an alias (*{event.anchor}) and is no artifact.", _WHAT_TO_GIVE)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH:
            raise ArtifactError(f"{source} is nested more than {_MAX_DEPTH} deep and is no artifact.", _WHAT_TO_GIVE)


def _validated(document: dict[str, object], version: int, source: str) -> BestConfig:
    try:
        current = migrated(document, version)
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        raise ArtifactError(
            f"{source} is no whole artifact of schema version {version}: {type(error).__name__}: {error}", _WRITE_AGAIN
        ) from error
    try:
        return BestConfig.model_validate(current)
    except ValidationError as error:
        raise ArtifactError(f"{source} has wrong fields:\n{_fields(error)}", _WRITE_AGAIN) from error


def _fields(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [f"  {_place(one['loc'])}: {one['msg']}" for one in found[:_MAX_SHOWN]]
    return "\n".join([*lines, f"  and {len(found) - _MAX_SHOWN} more"] if len(found) > _MAX_SHOWN else lines)


def _place(parts: tuple[int | str, ...]) -> str:
    """Return where a field is, as one would write it in Python: answers[0].recommended.speculation."""
    words = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts]
    return "".join(words).removeprefix(".")


_WHAT_TO_GIVE = f"Give the {BEST_CONFIG} that a sweep wrote; `tuner report RUN` writes it again from a run's records."
_WRITE_AGAIN = "`tuner report RUN` writes it again from the run's records; what a person edited is not read."
