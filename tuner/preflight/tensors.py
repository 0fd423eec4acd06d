"""Names, types and shapes of a model's weights, from the headers of its safetensors files: nothing is loaded."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path

_MAX_HEADER_BYTES = 100_000_000
INPUT_EMBEDDINGS = ("embed_tokens.weight", "wte.weight", "word_embeddings.weight", "tok_embeddings.weight")
OUTPUT_MATRICES = ("lm_head.weight", "embed_out.weight")


@dataclass(frozen=True)
class Tensor:
    """One tensor of a checkpoint.  dtype: as safetensors names it ("BF16").  size: in bytes."""

    dtype: str
    shape: tuple[int, ...]
    size: int

    @property
    def elements(self) -> int:
        """How many numbers it holds; packed ones count as one."""
        return prod(self.shape)


def read_tensors(directory: Path) -> dict[str, Tensor]:
    """Return every tensor that an engine loads, by name; {} where there are no safetensors files.

    Raises ValueError for a file that is none, OSError for one that cannot be read.
    """
    try:
        return {name: tensor for file in _files(directory) for name, tensor in _tensors(file)}
    except (KeyError, TypeError, AttributeError, struct.error) as error:
        raise ValueError(f"{directory} has a malformed safetensors header or index: {error!r}") from error


def _files(directory: Path) -> list[Path]:
    """Return the weight files that an engine loads: some models have the same weights a second time, consolidated."""
    sets = [
        [directory / name for name in sorted(set(json.loads(index.read_bytes())["weight_map"].values()))]
        for index in sorted(directory.glob("*.safetensors.index.json"), reverse=True)
    ]
    # Of Mistral's two sets a download may have left one out but for its index.
    if complete := next((files for files in sets if all(file.is_file() for file in files)), None):
        return complete
    if any(file.is_file() for files in sets for file in files):
        return sets[0]
    files = sorted(directory.glob("*.safetensors"))
    return [file for file in files if not file.name.startswith("consolidated")] or files


def _tensors(file: Path) -> Iterator[tuple[str, Tensor]]:
    """Yield each tensor (safetensors format: header length, header, data)."""
    with file.open("rb") as stream:
        (length,) = struct.unpack("<Q", stream.read(8))
        if length > _MAX_HEADER_BYTES:
            raise ValueError(f"{file} has no safetensors header")
        header = json.loads(stream.read(length))
    for name, tensor in header.items():
        if name != "__metadata__":
            first, last = tensor["data_offsets"]
            yield name, Tensor(tensor["dtype"], tuple(tensor["shape"]), last - first)


def missing_bytes(file: Path) -> int:
    """Return how many bytes a safetensors file lacks by its own header; 0 for what has no readable header."""
    try:
        with file.open("rb") as stream:
            (length,) = struct.unpack("<Q", stream.read(8))
            header = json.loads(stream.read(length)) if length <= _MAX_HEADER_BYTES else {}
        ends = [tensor["data_offsets"][1] for name, tensor in header.items() if name != "__metadata__"]
    except (ValueError, KeyError, TypeError, AttributeError, struct.error):
        return 0
    lacking: int = 8 + length + max(ends, default=0) - file.stat().st_size
    return max(lacking, 0)


def embedding(tensors: Mapping[str, Tensor]) -> tuple[str, Tensor] | None:
    """Return name and tensor of the input embedding; None where none has a known name."""
    return _first_named(tensors, INPUT_EMBEDDINGS)


def output_matrix(tensors: Mapping[str, Tensor]) -> tuple[str, Tensor] | None:
    """Return name and tensor of the output matrix; None where it is the embedding (tied) or has no known name."""
    return _first_named(tensors, OUTPUT_MATRICES)


def _first_named(tensors: Mapping[str, Tensor], endings: tuple[str, ...]) -> tuple[str, Tensor] | None:
    found = sorted((name for name in tensors if name.endswith(endings)), key=lambda name: (name.count("."), name))
    return (found[0], tensors[found[0]]) if found else None
