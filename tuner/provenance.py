"""What a run was measured with: tuner, engine, machine, models, eval sets.

And the fingerprint, which decides whether finished measurements count in a later sweep.
"""

from __future__ import annotations

import hashlib
import os
import platform
import socket
import struct
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

import psutil

from tuner.hardware import cpu_model
from tuner.records import EvalSet, Json, LoadPoint, Protocol, short_hash

_WEIGHT_SUFFIXES = (".safetensors", ".bin", ".gguf", ".pt", ".pth")
_SAMPLED_BLOCKS = 64
_BLOCK_BYTES = 4096
_MAX_HEADER_BYTES = 100_000_000
_IDENTITY_FILES = (
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "vocab.json",
    "merges.txt",
    "chat_template.jinja",
)


def model_identity(ref: str, path: str) -> dict[str, Json]:
    """Return what identifies a model without reading all its weights, cheap for a 100 GB model.

    path: the local directory behind it; without one the model is identified by its name alone, `ref`.
    The hash covers the small files that decide what the model says, and of every weight file its size, its safetensors
    header (names, shapes, types and offsets of all tensors) and blocks sampled over its length: a fine-tune of the
    same shapes changes those. No path and no time is part of it, so a copy elsewhere is the same model.
    """
    directory = Path(path)
    if not directory.is_dir():
        return {"hash": short_hash(ref, 16), "of": "name"}
    digest = hashlib.sha256()
    for part in _identity_parts(directory):
        digest.update(part)
    size = sum(file.stat().st_size for file in _weight_files(directory))
    return {"hash": digest.hexdigest()[:16], "of": "content", "weight_bytes": size}


def profile_identity(profile: str | None) -> str | None:
    """Return what identifies a profile of the simulated engine: a file's content, or the preset's name."""
    if profile is None or not Path(profile).is_file():
        return profile
    return hashlib.sha256(Path(profile).read_bytes()).hexdigest()[:16]


def _weight_files(directory: Path) -> list[Path]:
    return sorted(file for file in directory.iterdir() if file.suffix in _WEIGHT_SUFFIXES and file.is_file())


def _identity_parts(directory: Path) -> Iterator[bytes]:
    for name in _IDENTITY_FILES:
        file = directory / name
        if file.is_file():
            yield f"{name}\0".encode() + file.read_bytes()
    for file in _weight_files(directory):
        size = file.stat().st_size
        yield f"{file.name}\0{size}\0".encode()
        with file.open("rb") as stream:
            if file.suffix == ".safetensors":
                yield _safetensors_header(stream)
            for block in range(_SAMPLED_BLOCKS):
                stream.seek(size * block // _SAMPLED_BLOCKS)
                yield stream.read(_BLOCK_BYTES)


def _safetensors_header(stream: BinaryIO) -> bytes:
    """Return the JSON header: 8 bytes little-endian length, then that many bytes (safetensors format)."""
    prefix = stream.read(8)
    length = struct.unpack("<Q", prefix)[0] if len(prefix) == 8 else 0
    return stream.read(min(length, _MAX_HEADER_BYTES))


def fingerprint(
    *,
    engine: Mapping[str, Json],
    target: Mapping[str, Json],
    drafts: Mapping[str, Mapping[str, Json]],
    eval_sets: Iterable[EvalSet],
    engine_args: Mapping[str, Json],
    env: Mapping[str, str],
    load_points: Iterable[LoadPoint],
    protocol: Protocol,
) -> dict[str, Json]:
    """Return what must be equal for finished measurements to count in a later sweep.

    env: see tuner.engine.environment.shaping_env.
    The list of K and the limits are left out on purpose: a sweep that adds a K goes on where the last one ended.
    So is the device: every figure is compared with a baseline of its own device.
    """
    return {
        "engine": dict(engine),
        "target": dict(target),
        "drafts": {name: dict(identity) for name, identity in sorted(drafts.items())},
        "eval_sets": {eval_set.name: eval_set.sha256 for eval_set in eval_sets},
        "engine_args": dict(engine_args),
        "env": dict(env),
        "load_points": [point.key for point in load_points],
        "protocol": {
            "repeats": protocol.repeats,
            "warmup_requests": protocol.warmup_requests,
            # Trials without these answers cannot serve a sweep that compares them; without the check nothing changes.
            **({"distribution_samples": protocol.distribution_samples} if protocol.distribution_samples else {}),
        },
    }


def machine() -> dict[str, Json]:
    """Return the driver's machine in words. Nothing here decides anything."""
    return {
        "host": socket.gethostname(),
        "os": platform.platform(),
        "python": platform.python_version(),
        "cpu": cpu_model(),
        "cpu_count": os.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
    }
