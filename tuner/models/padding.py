"""A draft with as many vocabulary rows as its target: engines compare the integer sizes, padding included."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tuner.errors import EngineNotFound, ModelError, OutputError

SCRIPT = Path(__file__).parent / "scripts" / "pad_vocabulary.py"
_EXIT_REFUSED, _EXIT_MISSING = 3, 4
_MARGIN = 1.2
"""Of the model's size: the copy, and what is added to it."""
_TIMEOUT_S = 3600.0


@dataclass(frozen=True)
class Padded:
    """A padded copy.  changed: old and new number of rows by tensor."""

    directory: Path
    changed: Mapping[str, tuple[int, int]]


def pad_vocabulary(python: str, draft: Path, out: Path, rows: int, *, script: Path = SCRIPT) -> Padded:
    """Write a copy of `draft` with `rows` vocabulary rows to `out`, which appears all at once and must not exist.

    python: the engine's interpreter, which has torch and safetensors.  The draft itself stays as it is.
    Raises OutputError (`out` exists or cannot be written), ModelError (not paddable, no space), EngineNotFound.
    """
    out = out.absolute()
    if out.exists():
        raise OutputError(f"{out} exists", "Name a directory that does not exist yet.")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        _check_space(draft, out.parent)
        with tempfile.TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent) as scratch:
            new = Path(scratch) / "new"
            new.mkdir()
            changed = _run(python, [str(script), str(draft), str(new), str(rows)])
            new.rename(out)
    except OSError as error:
        raise OutputError(f"{out} cannot be written: {error.strerror or error}", "Name another directory.") from error
    return Padded(out, changed)


def _check_space(draft: Path, parent: Path) -> None:
    needed = _MARGIN * sum(file.stat().st_size for file in draft.iterdir() if file.is_file())
    free = shutil.disk_usage(parent).free
    if free < needed:
        message = f"a copy of {draft} needs {needed / 1e9:.1f} GB and {parent} has {free / 1e9:.1f} GB left"
        raise ModelError(message, "Free some space, or name a directory on another disk.")


def _run(python: str, arguments: list[str]) -> dict[str, tuple[int, int]]:
    try:
        done = subprocess.run(
            [python, "-I", *arguments],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            env=os.environ | {"HF_HUB_OFFLINE": "1"},
            timeout=_TIMEOUT_S,
            check=False,
        )
    except OSError as error:
        raise EngineNotFound(f"{python} cannot be run: {error.strerror}", "Check --engine.") from error
    except subprocess.TimeoutExpired as error:
        raise ModelError(f"padding took longer than {_TIMEOUT_S:.0f} s", "Is the disk slow or full?") from error
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    last = lines[-1] if lines else ""
    if done.returncode == _EXIT_REFUSED:
        raise ModelError(f"{arguments[1]} cannot be padded: {last.removeprefix('refused: ')}", "Use another draft.")
    if done.returncode == _EXIT_MISSING:
        raise EngineNotFound(f"{python} lacks {last.removeprefix('missing: ')}", "Give --engine a Python with vLLM.")
    if done.returncode:
        told = (done.stderr.strip().splitlines() or [last or "it printed nothing"])[-1]
        raise ModelError(f"padding {arguments[1]} failed: {told}", "Is it a complete safetensors model?")
    return {name: (old, new) for name, (old, new) in json.loads(last)["changed"].items()}
