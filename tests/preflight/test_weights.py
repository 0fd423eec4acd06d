"""Bytes that a decode step reads, from files written by hand to the safetensors format."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import pytest

from tuner.preflight.weights import weight_bytes

WIDTH = {"BF16": 2, "F16": 2, "F32": 4, "F8_E4M3": 1, "I32": 4}
Tensors = Mapping[str, tuple[str, tuple[int, ...]]]
LAYER: Tensors = {"model.layers.0.mlp.down_proj.weight": ("BF16", (10, 20))}  # 400 bytes
EMBEDDING: Tensors = {"model.embed_tokens.weight": ("BF16", (50, 10))}  # 1000 bytes
OUTPUT: Tensors = {"lm_head.weight": ("BF16", (50, 10))}  # 1000 bytes


def write(directory: Path, tensors: Tensors, name: str = "model.safetensors") -> None:
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for tensor, (dtype, shape) in tensors.items():
        start, end = end, end + WIDTH[dtype] * prod(shape)
        header[tensor] = {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    (directory / name).write_bytes(struct.pack("<Q", len(text)) + text + bytes(end))


def model(directory: Path, tensors: Tensors, **config: Any) -> Path:
    (directory / "config.json").write_text(json.dumps(config))
    write(directory, tensors)
    return directory


@pytest.mark.parametrize(
    ("tensors", "read"),
    [
        ({**LAYER, **EMBEDDING, **OUTPUT}, 1400),  # a step reads one row of the embedding
        ({**LAYER, **EMBEDDING}, 1400),  # tied: the embedding is the output matrix
        ({**LAYER, "a.weight": ("F32", (100,)), "b.weight": ("F8_E4M3", (30,))}, 400 + 200 + 30),
        ({**LAYER, "c.qweight": ("I32", (7,))}, 428),
        ({**LAYER, "visual.blocks.0.weight": ("BF16", (99,)), "model.vision_tower.x": ("BF16", (9,))}, 400),
        ({**LAYER, "model.layers.2.eh_proj.weight": ("BF16", (99,)), "mtp.fc.weight": ("BF16", (9,))}, 400),
    ],
)
def test_what_a_step_reads_is_counted(tmp_path: Path, tensors: Tensors, read: int) -> None:
    assert weight_bytes(model(tmp_path, tensors, num_hidden_layers=2)) == read


EXPERTS: Tensors = {f"model.layers.0.mlp.experts.{i}.up_proj.weight": ("BF16", (100,)) for i in range(8)}  # 1600 bytes
SHARED: Tensors = {"model.layers.0.mlp.shared_expert.up_proj.weight": ("BF16", (50,))}  # 100 bytes


@pytest.mark.parametrize(
    ("config", "read"),
    [
        ({"num_local_experts": 8, "num_experts_per_tok": 2}, 900),
        ({"n_routed_experts": 8, "num_experts_per_tok": 2}, 900),
        ({"text_config": {"num_experts": 8, "num_experts_per_tok": 1}}, 700),
        ({}, None),
    ],
)
def test_of_routed_experts_only_the_chosen_ones_are_read(
    tmp_path: Path, config: dict[str, Any], read: int | None
) -> None:
    assert weight_bytes(model(tmp_path, {**LAYER, **EXPERTS, **SHARED}, **config)) == read


def test_shards_are_those_of_the_index(tmp_path: Path) -> None:
    model(tmp_path, LAYER)
    write(tmp_path, {"model.layers.1.mlp.down_proj.weight": ("BF16", (5,))}, "model-2.safetensors")
    write(tmp_path, LAYER, "consolidated.safetensors")
    assert weight_bytes(tmp_path) == 410
    index = {"weight_map": {"model.layers.1.mlp.down_proj.weight": "model-2.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    assert weight_bytes(tmp_path) == 10


def test_files_that_do_not_tell_are_none(tmp_path: Path) -> None:
    assert weight_bytes(tmp_path / "none") is None
    (tmp_path / "config.json").write_text("{}")
    assert weight_bytes(tmp_path) is None
    (tmp_path / "pytorch_model.bin").write_bytes(b"weights")
    assert weight_bytes(tmp_path) is None
    for content in (b"", b"weights", struct.pack("<Q", 4) + b"[1]]", struct.pack("<Q", 2**40)):
        (tmp_path / "model.safetensors").write_bytes(content)
        assert weight_bytes(tmp_path) is None


def test_what_safetensors_writes_is_read(tmp_path: Path) -> None:
    numpy = pytest.importorskip("safetensors.numpy")
    import numpy as np

    (tmp_path / "config.json").write_text("{}")
    numpy.save_file({"a": np.zeros((3, 5), np.float16), "b": np.zeros(4, np.float32)}, tmp_path / "model.safetensors")
    assert weight_bytes(tmp_path) == 30 + 8
