"""Finds the directory of a model that the user named, and checks that an engine could load it."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from tuner.errors import ModelError
from tuner.preflight.engine_python import run_script
from tuner.preflight.model_files import check_directory, check_tokenizer, check_weights, read_config
from tuner.records import Json
from tuner.space.model_refs import resolve_model

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
_DOWNLOAD_TIMEOUT_S = 6 * 3600.0


def check_target(
    target: str, *, download: bool, python: str = sys.executable, engine_args: Mapping[str, Json] | None = None
) -> str:
    """Return the directory of the target, checked: config.json, weights, tokenizer.

    target: a directory, `demo:NAME` or a hub id, which is looked for in the local hub cache and fetched only with
    `download`.  python: the engine's.  engine_args: `tokenizer` and `load_format: dummy` make the target's own
    tokenizer and weights unnecessary.  Raises ModelError naming what is missing.
    """
    args = engine_args or {}
    directory = find_model(target, "target", download=download, python=python)
    read_config(directory, "target")
    if args.get("load_format") != "dummy":
        check_weights(directory, "target")
    if not args.get("tokenizer"):
        check_tokenizer(directory, "target")
    return str(directory)


def check_draft(name: str, model: str, *, download: bool, python: str = sys.executable) -> str:
    """Return the directory of a draft, checked: config.json and weights (the engine uses the target's tokenizer)."""
    what = f"draft {name!r}"
    directory = find_model(model, what, download=download, python=python)
    read_config(directory, what)
    check_weights(directory, what)
    return str(directory)


def find_model(ref: str, what: str, *, download: bool, python: str) -> Path:
    """Return the directory that `ref` stands for; it exists and is not empty.  what: for messages."""
    path = Path(resolve_model(ref)).expanduser()
    if path.exists() or not _HUB_ID.fullmatch(ref):
        if ref.startswith("demo:") and not path.exists():
            raise ModelError(f"{what}: {ref} is not built ({path} does not exist)", "Run: tuner models demo")
        check_directory(path, what)
        return path
    return _find_in_hub(ref, what, download=download, python=python)


def _find_in_hub(repo: str, what: str, *, download: bool, python: str) -> Path:
    if download and os.environ.get("CI", "").lower() not in ("", "0", "false"):
        raise ModelError(f"{what}: {repo} is not downloaded in CI (the variable CI is set)", "Give a model directory.")
    timeout_s = _DOWNLOAD_TIMEOUT_S if download else 120.0
    request = {"repo": repo, "download": download}
    answer = run_script(python, "hub_snapshot.py", request, offline=not download, timeout_s=timeout_s)
    if "directory" in answer:
        return Path(answer["directory"])
    if download:
        raise ModelError(
            f"{what}: {repo} could not be downloaded: {answer['problem']}", "Check the id and the network."
        )
    message = f"{what}: {repo} is neither a directory nor a model in the local hub cache"
    raise ModelError(message, "Check the path, or add --download to fetch that id from the hub.")
