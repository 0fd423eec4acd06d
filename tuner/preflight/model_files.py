"""What a model directory must hold before an engine is started on it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tuner.errors import ModelError
from tuner.preflight.mistral_format import as_config
from tuner.preflight.tensors import missing_bytes

WEIGHT_PATTERNS = ("*.safetensors", "*.bin", "*.pt", "*.pth")
TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer.model*",
    "tiktoken.model",
    "vocab.json",
    "vocab.txt",
    "spiece.model",
    "sentencepiece.bpe.model",
    "tekken.json",
    "*.tiktoken",
    "tokenization_*.py",
)
_NOT_WEIGHTS = ("training_args.bin", "optimizer.bin", "optimizer.pt", "scheduler.bin", "scheduler.pt", "rng_state.pth")
_LFS_POINTER = b"version https://git-lfs"
_GET_AGAIN = "Copy or download the model again, with all its files."


def check_directory(directory: Path, what: str) -> None:
    """Raise ModelError unless `directory` is one and holds files.  what: "target" or "draft NAME", for the message."""
    if not directory.exists():
        raise ModelError(f"{what}: {directory} does not exist", "Check the path.")
    if not directory.is_dir():
        raise ModelError(f"{what}: {directory} is a file", "Give the model's directory, the one with its config.json.")
    if not any(directory.iterdir()):
        raise ModelError(f"{what}: {directory} is empty", _GET_AGAIN)


def read_config(directory: Path, what: str) -> dict[str, Any]:
    """Return config.json, or params.json in its words; ModelError if it is missing or no JSON object."""
    path = directory / "config.json"
    of_mistral = directory / "params.json"
    if not path.is_file() and of_mistral.is_file():
        return as_config(_json_object(of_mistral, what))
    if not path.is_file():
        step = "Give the directory that holds config.json; a LoRA adapter or a checkpoint's parent has none."
        raise ModelError(f"{what}: {directory} has no config.json", step)
    return _json_object(path, what)


def _json_object(path: Path, what: str) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except ValueError as error:
        raise ModelError(f"{what}: {path} is not JSON: {error}", _GET_AGAIN) from error
    if not isinstance(found, dict):
        raise ModelError(f"{what}: {path} is not a JSON object", _GET_AGAIN)
    return found


def check_weights(directory: Path, what: str) -> None:
    """Raise ModelError when weights are missing, empty, or Git LFS pointers."""
    files = weight_files(directory)
    absent = _shards_absent(directory)
    if absent:
        raise ModelError(f"{what}: {directory} lacks {len(absent)} weight file(s), first {absent[0]}", _GET_AGAIN)
    if not files and any(directory.glob("*.gguf")):
        step = "Give the model's directory of safetensors files; a GGUF file is for other engines."
        raise ModelError(f"{what}: {directory} holds GGUF files and no other weights", step)
    if not files:
        raise ModelError(f"{what}: {directory} has no weights ({', '.join(WEIGHT_PATTERNS)})", _GET_AGAIN)
    for path in files:
        _check_weight_file(path, what)


def weight_files(directory: Path) -> list[Path]:
    """Return the files of a model directory that an engine may load, sorted: where there are safetensors, these."""
    found = [path for path in _matching(directory, WEIGHT_PATTERNS) if path.name not in _NOT_WEIGHTS]
    return [path for path in found if path.suffix == ".safetensors"] or found


def _check_weight_file(path: Path, what: str) -> None:
    with path.open("rb") as file:
        start = file.read(len(_LFS_POINTER))
    if not start:
        raise ModelError(f"{what}: {path} is empty", _GET_AGAIN)
    if start == _LFS_POINTER:
        raise ModelError(f"{what}: {path} is a Git LFS pointer, not weights", f"Run: git -C {path.parent} lfs pull")
    if path.suffix == ".safetensors" and (lacking := missing_bytes(path)) > 0:
        raise ModelError(f"{what}: {path} was cut off: it lacks {lacking} bytes", _GET_AGAIN)


def _shards_absent(directory: Path) -> list[str]:
    """Return the shards that an index names and that are not there, sorted; none where another set is complete.

    Mistral's repositories have two sets, and a download may leave one of them out but for its index.
    """
    absent: list[list[str]] = []
    for path in sorted(directory.glob("*.safetensors.index.json"), reverse=True):
        try:
            named = set(json.loads(path.read_bytes())["weight_map"].values())
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ModelError(f"{path} is no weight index: {error!r}", _GET_AGAIN) from error
        absent.append(sorted(name for name in named if not (directory / name).is_file()))
        if len(absent[-1]) == len(named) and _other_set(directory):
            absent[-1] = []
    return [] if [] in absent else next(iter(absent), [])


def _other_set(directory: Path) -> bool:
    """Whether there are weights that are loaded without an index."""
    files = weight_files(directory)
    consolidated = any(path.name.startswith("consolidated") and "-of-" not in path.name for path in files)
    return consolidated or any(path.suffix == ".bin" for path in files)


def check_tokenizer(directory: Path, what: str) -> None:
    """Raise ModelError when there is no tokenizer file."""
    if not has_tokenizer(directory):
        step = "Copy the tokenizer's files of the base model beside it, or set the engine argument 'tokenizer'."
        raise ModelError(f"{what}: {directory} has no tokenizer ({', '.join(TOKENIZER_FILES)})", step)


def has_tokenizer(directory: Path) -> bool:
    """Whether there is a tokenizer file."""
    return any(_matching(directory, TOKENIZER_FILES))


def _matching(directory: Path, patterns: Iterable[str]) -> list[Path]:
    return sorted(path for pattern in patterns for path in directory.glob(pattern) if path.is_file())
