"""What a model reference in a search space means here: a directory, a demo model, or a hub id."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from tuner.errors import SpaceError
from tuner.records import Candidate

DEMO_PREFIX = "demo:"
DEMO_NAMES = ("target", "original", "good", "weak", "shallow")


def user_cache() -> Path:
    """Return where what can be made again is kept, outside any repository: $TUNER_CACHE or ~/.cache/spec-tuner."""
    try:
        return Path(os.environ.get("TUNER_CACHE") or "~/.cache/spec-tuner").expanduser().absolute()
    except RuntimeError:  # no HOME, and a user that the system does not know, as in many a container
        return Path(tempfile.gettempdir()) / f"spec-tuner-{os.getuid()}"


def demo_models_dir() -> Path:
    """Return where the demo models are kept."""
    return user_cache() / "models" / "smollm2-demo"


def resolve_model(ref: str) -> str:
    """Return what the engine is given for `ref`.

    `demo:NAME`: the demo model's directory.  An existing directory, seen from here or else from $TUNER_MODELS, and
    whatever is written as a path (/, ./, ../, ~/): its absolute path.  Anything else is a hub id and stays as it is.
    Raises SpaceError for a `demo:` name that cannot be one, and for a web address.
    """
    if "://" in ref:
        raise _web_address(ref)
    if ref.startswith(DEMO_PREFIX):
        return str(demo_models_dir() / _demo_name(ref))
    path = Path(ref).expanduser() if ref.startswith("~/") else Path(ref)
    if path.is_dir() or ref.startswith(("/", "./", "../", "~/")):
        return str(path.absolute())
    models = os.environ.get("TUNER_MODELS")
    if models and (shared := Path(models).expanduser().absolute() / ref).is_dir():
        return str(shared)
    return ref


def settle_model(ref: str) -> str:
    """Return `ref` so that it means the same from any working directory: a directory as its absolute path.

    `demo:NAME` and hub ids mean the same everywhere and stay as they are.
    """
    return ref if ref.startswith(DEMO_PREFIX) else resolve_model(ref)


def resolve_candidate(candidate: Candidate) -> Candidate:
    """Return the candidate with its draft resolved: what an engine is started with, here or from a written file.

    Records keep the candidate as the user wrote it, so that its identity does not depend on the machine.
    """
    spec = candidate.speculation
    if spec is None or spec.draft is None or spec.method == "custom_class":
        return candidate
    return replace(candidate, speculation=replace(spec, draft=resolve_model(spec.draft)))


def _web_address(ref: str) -> SpaceError:
    _, _, path = ref.partition("://")[2].partition("/")
    hub_id = "/".join(path.split("/")[:2])
    step = f"Write {hub_id} and add --download, or give" if "huggingface.co/" in ref and hub_id else "Give"
    return SpaceError(f"{ref} is a web address, not a model.", f"{step} a model directory.")


def _demo_name(ref: str) -> str:
    name = ref.removeprefix(DEMO_PREFIX)
    if name not in DEMO_NAMES:
        near = get_close_matches(name, DEMO_NAMES, n=1)
        hint = f"; the nearest is {DEMO_PREFIX + near[0]!r}" if near else ""
        known = ", ".join(DEMO_PREFIX + known for known in DEMO_NAMES)
        raise SpaceError(f"{ref!r} names no demo model{hint}.", f"There are {known}.")
    return name
