"""The identity of one model: from its files, worked out once and cached."""

from __future__ import annotations

from pathlib import Path

from tuner.errors import ModelError
from tuner.identity import cache
from tuner.identity.content import content, is_model, model_files
from tuner.records import Json, short_hash
from tuner.space.model_refs import user_cache

SCHEME = 2
"""Changes with what goes into the hash: hashes of different schemes cannot be compared. 1 is what had no number yet."""


def model_identity(ref: str, path: str) -> dict[str, Json]:
    """Return what identifies a model without reading all its weights, cheap for a 100 GB model.

    path: the local directory or file behind it; without one the model is identified by its name alone, `ref`.
    See tuner.identity.content for what is in the hash and what cannot be seen by it. The answer is cached under the
    real path for as long as name, size, modification time, change time and inode of every file stay as they are.
    The hub's revision is not in it: the content decides, wherever it lies (see tuner.identity.names).
    Raises ModelError for a file that cannot be read.
    """
    model = Path(path)
    if not is_model(model):
        return {"hash": short_hash(ref, 16), "of": "name"}
    try:
        # A file in the hub's cache is a link to a blob without its name.
        return _of_files(model.resolve() if model.is_dir() else model.parent.resolve() / model.name)
    except OSError as error:
        raise ModelError(
            f"{model}: {error.filename or 'a file of it'} cannot be read: {error.strerror or error}",
            "Fix its permissions, or fetch the model again.",
        ) from error


def _of_files(model: Path) -> dict[str, Json]:
    directory = user_cache() / "identity"
    files = model_files(model)
    listed = cache.listing(files)
    if kept := cache.recall(directory, model, listed, SCHEME):
        return kept
    found = content(files)
    identity: dict[str, Json] = {
        "scheme": SCHEME,
        "hash": found.hash,
        "of": "content",
        "weight_bytes": found.weight_bytes,
        "parts": {**found.parts},
    }
    cache.keep(directory, model, listed, SCHEME, identity)
    return identity
