"""A hash over the files of a model that reads kilobytes of each weight file, whatever its size."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

BLOCKS = 64
BLOCK_BYTES = 4096
_MAX_HEADER_BYTES = 100_000_000

CONFIG, TOKENIZER, GENERATION, WEIGHTS = "config", "tokenizer", "generation", "weights"

# Which part of the identity a file belongs to, by its name in the model's directory. Files that match none (README,
# licence, pictures) change nothing that the engine does.
_READ_WHOLE = {
    CONFIG: (
        "config.json",
        "params.json",
        "adapter_config.json",
        "hf_quant_config.json",
        "quantize_config.json",
        "*.py",  # code that an engine runs with --trust-remote-code
    ),
    TOKENIZER: (
        "tokenizer.json",
        "tokenizer.model",
        "tokenizer_config.json",
        "added_tokens.json",
        "special_tokens_map.json",
        "tekken.json",
        "vocab.json",
        "vocab.txt",
        "merges.txt",
        "*.tiktoken",
        "chat_template.*",
    ),
    GENERATION: ("generation_config.json",),
    WEIGHTS: ("*.safetensors.index.json",),
}
_SAMPLED = ("*.safetensors", "*.bin", "*.gguf", "*.pt", "*.pth")
# What training leaves beside the weights; no engine reads it.
_LEFTOVERS = ("training_args.bin", "optimizer.*", "scheduler.*", "rng_state*", "global_step*")
PARTS = (CONFIG, TOKENIZER, GENERATION, WEIGHTS)


@dataclass(frozen=True)
class ModelFile:
    """One file that counts.  part: which part of the identity it belongs to.  sampled: it is not read as a whole."""

    path: Path
    part: str
    sampled: bool


@dataclass(frozen=True)
class Content:
    """hash: SHA-256 in hex digits over all parts.  parts: the first 16 digits of each part's own.

    weight_bytes: size of all weight files together.
    """

    hash: str
    parts: dict[str, str]
    weight_bytes: int


def is_model(path: Path) -> bool:
    """Whether there is anything to read: a directory, or a file of weights."""
    return path.is_dir() or (path.is_file() and any(map(path.match, _SAMPLED)))


def model_files(model: Path) -> tuple[ModelFile, ...]:
    """Return the files of a model that count, sorted by name; of a model that is one file (GGUF), that file."""
    if model.is_file():
        return (ModelFile(model, WEIGHTS, sampled=True),)
    found = [ModelFile(file, *kind) for file in model.iterdir() if (kind := _kind(file)) and file.is_file()]
    return tuple(sorted(found, key=lambda file: file.path.name))


def _kind(file: Path) -> tuple[str, bool] | None:
    if any(file.match(pattern) for pattern in _LEFTOVERS):
        return None
    if any(file.match(pattern) for pattern in _SAMPLED):
        return WEIGHTS, True
    return next(((part, False) for part, names in _READ_WHOLE.items() if any(map(file.match, names))), None)


def content(files: tuple[ModelFile, ...]) -> Content:
    """Return the hash of some files.  OSError for one that cannot be read.

    Seen: any byte of the configuration, of the tokenizer and its template, and of the generation defaults; any bit of a
    safetensors header (name, type, shape and offset of every tensor); the size of a weight file, one more or one less;
    and a change of the weights wherever one of 64 blocks of 4 KiB lies, the first and the last bytes among them, which
    a fine-tune of all layers cannot miss. Other weight formats (bin, pt, gguf) have size and blocks only: a GGUF's own
    header is read as far as its first block goes.
    Not seen: weights that change between the blocks with the same size and header, such as one small tensor that was
    edited in place. Only reading everything would show that. Names and times of files elsewhere count for nothing, so a
    copy is the same model.
    """
    digests = {part: hashlib.sha256() for part in PARTS}
    for file in files:
        for piece in _pieces(file):
            # With its length in front, no two sequences of pieces are the same bytes.
            digests[file.part].update(b"%d:" % len(piece) + piece)
    whole = hashlib.sha256(b"".join(digests[part].digest() for part in PARTS))
    return Content(
        hash=whole.hexdigest(),
        parts={part: digests[part].hexdigest()[:16] for part in PARTS},
        weight_bytes=sum(file.path.stat().st_size for file in files if file.sampled),
    )


def _pieces(file: ModelFile) -> Iterator[bytes]:
    yield file.path.name.encode(errors="surrogateescape")
    if not file.sampled:
        yield file.path.read_bytes()
        return
    size = file.path.stat().st_size
    yield b"%d" % size
    with file.path.open("rb") as stream:
        if file.path.suffix == ".safetensors":
            yield _safetensors_header(stream)
        for start in _block_starts(size):
            stream.seek(start)
            yield stream.read(BLOCK_BYTES)


def _block_starts(size: int) -> Iterator[int]:
    """Yield where blocks begin: evenly from the first byte to the last; all of them where the file is small."""
    if size <= BLOCKS * BLOCK_BYTES:
        yield from range(0, size, BLOCK_BYTES)
    else:
        yield from ((size - BLOCK_BYTES) * block // (BLOCKS - 1) for block in range(BLOCKS))


def _safetensors_header(stream: BinaryIO) -> bytes:
    """Return the JSON header: 8 bytes little-endian length, then that many bytes (safetensors format)."""
    prefix = stream.read(8)
    length = struct.unpack("<Q", prefix)[0] if len(prefix) == 8 else 0
    return prefix + stream.read(min(length, _MAX_HEADER_BYTES))
