"""What an engine needs besides weights and KV cache. Pure, and estimates all of them.

The forms follow from what is computed; their constants were fitted to vLLM 0.26 on an H200 and 0.32 on a CPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tuner.preflight.memory_kv import layer_count
from tuner.preflight.memory_weights import text_config

MIB = 2**20
GPU_LIBRARIES = 180 * MIB
"""Work space of libraries that a GPU engine takes after its first look at the free memory."""
CPU_PROCESS = 800 * MIB
"""Resident memory of a CPU engine's worker without weights: Python, torch, compiled code."""
_GRAPH_PER_LAYER = 0.14 * MIB
_GRAPH_PER_LAYER_SCHEDULED = 0.85 * MIB  # one start seen
_SAMPLER_BYTES = 16  # per logit: 32-bit copy, sorted copy, sort indices
_VERIFY_COPY = 4  # the rejection sampler works on a 32-bit copy beside the logits in the model's type
_LARGEST_CAPTURED = 512


@dataclass(frozen=True)
class Shape:
    """What the size of intermediate results depends on.

    widest: numbers per token in the widest block of a layer on one GPU, its input and output left out.
    """

    layers: int
    hidden: int
    widest: int
    vocabulary: int


def shape(config: Mapping[str, Any], tensor_parallel: int = 1) -> Shape:
    """Return the shape of a model; numbers that config.json lacks count as 0. Raises UnknownShape without layers."""
    text = text_config(config)

    def number(*keys: str) -> int:
        return next((text[key] for key in keys if isinstance(text.get(key), int)), 0)

    hidden, heads = number("hidden_size", "n_embd", "d_model"), number("num_attention_heads", "n_head")
    head_dim = number("head_dim") or (hidden // heads if heads else 0)
    # gate and up in one product, then their product: three times the width.
    dense = 3 * number("intermediate_size", "ffn_dim", "n_inner")
    chosen = number("num_experts_per_tok", "num_experts_per_token", "moe_topk")
    experts = chosen * (3 * number("moe_intermediate_size", "intermediate_size") + hidden * tensor_parallel)
    attention = 2 * (heads + number("num_key_value_heads")) * head_dim
    widest = max(experts, attention) if chosen else max(dense, attention)
    return Shape(layer_count(text), hidden, widest // tensor_parallel, number("vocab_size", "padded_vocab_size"))


def forward_bytes(of: Shape, tokens: int, width: int = 2) -> int:
    """Return the peak of a forward pass over `tokens` tokens: the widest block, its input and the residual."""
    return tokens * (of.widest + 2 * of.hidden) * width


def sampler_bytes(of: Shape, sequences: int) -> int:
    """Return what choosing one token for each of `sequences` takes in the profile run, where top-k and top-p sort."""
    return sequences * of.vocabulary * _SAMPLER_BYTES


def verification_bytes(of: Shape, sequences: int, k: int, batched_tokens: int, width: int = 2) -> int:
    """Return the logits of one verification: sequences x (K + 1) rows, with the 32-bit copy that is compared."""
    return min(sequences * (k + 1), batched_tokens) * of.vocabulary * (width + _VERIFY_COPY)


def graph_bytes(target: Shape, draft: Shape | None, sequences: int, k: int, *, schedule: bool = False) -> int:
    """Return the memory of captured CUDA graphs.

    vLLM captures 1, 2, 4, then every 8th, from 256 every 16th number of tokens, up to twice the largest decode batch
    and 512 at most, each in pieces; and whole graphs for the batches that only decode. A draft has pieces only, and so
    has an engine with a K schedule.
    """
    step = k + 1
    pieces = _captured(min(2 * sequences * step, _LARGEST_CAPTURED), step)
    whole = [] if schedule else [size for size in pieces if size <= sequences * step]
    pool = forward_bytes(target, max(pieces, default=0))
    graphs = target.layers * (len(pieces) + len(whole)) + (draft.layers * len(pieces) if draft else 0)
    return pool + round(graphs * (_GRAPH_PER_LAYER_SCHEDULED if schedule else _GRAPH_PER_LAYER))


def _captured(largest: int, step: int) -> list[int]:
    sizes = [1, 2, 4, *range(8, 256, 8), *range(256, largest + 1, 16)]
    rounded = {-(-size // step) * step for size in sizes if size <= largest}
    return sorted(size for size in rounded if size <= largest)
