"""Models of the recorded engines as files: config.json and safetensors headers, without the gigabytes behind them."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

Shapes = Mapping[str, tuple[int, ...]]


def llama(hidden: int, inter: int, layers: int, heads: int, kv_heads: int, **more: Any) -> dict[str, Any]:
    """A config.json of Llama's form; 49152 tokens and tied embeddings unless said otherwise."""
    return {
        "model_type": "llama",
        "hidden_size": hidden,
        "intermediate_size": inter,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "head_dim": 64,
        "vocab_size": 49152,
        "max_position_embeddings": 8192,
        "tie_word_embeddings": True,
        "torch_dtype": "bfloat16",
        **more,
    }


CONFIGS = {
    # The stand-ins that were measured on the H200: SmolLM2-135M with muted width and layers.
    "14B": llama(2304, 49152, 40, 36, 12),
    "7B": llama(2304, 24576, 40, 36, 12),
    "135M": llama(576, 1536, 30, 9, 3),
    "42M": llama(576, 1536, 4, 9, 3),
    # The demo's target on a CPU.
    "demo": llama(576, 18432, 30, 9, 3),
    "Qwen3-8B": llama(
        4096,
        12288,
        36,
        32,
        8,
        head_dim=128,
        vocab_size=151936,
        max_position_embeddings=40960,
        tie_word_embeddings=False,
    ),
}


def shapes(config: Mapping[str, Any]) -> Shapes:
    """Return the tensors of such a model, by the names that checkpoints give them."""
    hidden, inter, dim = config["hidden_size"], config["intermediate_size"], config["head_dim"]
    queries, keys = config["num_attention_heads"] * dim, config["num_key_value_heads"] * dim
    found: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (config["vocab_size"], hidden)}
    for layer in range(config["num_hidden_layers"]):
        prefix = f"model.layers.{layer}."
        found |= {
            f"{prefix}self_attn.q_proj.weight": (queries, hidden),
            f"{prefix}self_attn.k_proj.weight": (keys, hidden),
            f"{prefix}self_attn.v_proj.weight": (keys, hidden),
            f"{prefix}self_attn.o_proj.weight": (hidden, queries),
            f"{prefix}mlp.gate_proj.weight": (inter, hidden),
            f"{prefix}mlp.up_proj.weight": (inter, hidden),
            f"{prefix}mlp.down_proj.weight": (hidden, inter),
            f"{prefix}input_layernorm.weight": (hidden,),
            f"{prefix}post_attention_layernorm.weight": (hidden,),
        }
    found["model.norm.weight"] = (hidden,)
    if not config["tie_word_embeddings"]:
        found["lm_head.weight"] = (config["vocab_size"], hidden)
    return found


def write_model(directory: Path, config: Mapping[str, Any], tensors: Shapes | None = None, dtype: str = "BF16") -> Path:
    """Write config.json and a safetensors file of its header, which is all a plan reads, and a hole for the weights."""
    directory.mkdir(parents=True)
    (directory / "config.json").write_text(json.dumps(config))
    width = {"BF16": 2, "F16": 2, "F32": 4, "F8_E4M3": 1, "I32": 4}[dtype]
    header: dict[str, Any] = {}
    end = 0
    for name, shape in (shapes(config) if tensors is None else tensors).items():
        start, end = end, end + prod(shape) * width
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    (directory / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text)
    os.truncate(directory / "model.safetensors", 8 + len(text) + end)
    return directory
