"""How many bytes of KV cache a token takes, from config.json. Pure.

Formulas: a layer of grouped-query attention keeps a key and a value of each of its KV heads; multi-head latent
attention (DeepSeek) keeps one compressed vector and one rotary key, which every tensor-parallel rank has in full.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from tuner.preflight.memory_weights import quantization_config, text_config

_KV_WIDTH = {"auto": 2.0, "bfloat16": 2.0, "float16": 2.0, "half": 2.0, "float32": 4.0, "int8": 1.0}
_INDEXER_SCALE_BYTES = 4
_NO_CACHE = ("mamba", "mamba2", "linear_attention", "conv", "recurrent", "short_conv", "mlp", "moe")
_WINDOWED = ("sliding_attention", "chunked_attention", "local_attention")


class UnknownShape(ValueError):
    """A config.json without the numbers that a plan needs.  The text names them."""


@dataclass(frozen=True)
class KvNeed:
    """KV cache of one model on one GPU.

    full, windowed: bytes per token in layers that keep the whole context, and in those that keep `window` tokens.
    doubts: why it is an estimate; () where the files tell it.
    """

    full: int
    windowed: int = 0
    window: int = 0
    doubts: tuple[str, ...] = ()

    def of_request(self, tokens: int, batched_tokens: int) -> int:
        """Return the bytes of one request of `tokens` tokens; a window's layers also hold what one step adds to it."""
        return self.full * tokens + self.windowed * min(tokens, self.window + batched_tokens)


def kv_need(
    config: Mapping[str, Any],
    *,
    tensor_parallel: int = 1,
    cache_dtype: object = None,
    dtype: object = None,
    hybrid: bool = True,
    layers: int | None = None,
) -> KvNeed:
    """Return the KV cache of a model per token and GPU.

    cache_dtype, dtype: the engine arguments kv_cache_dtype and dtype.  hybrid: False where the engine gives each layer
    the whole context.  layers: how many full-attention layers to count instead of the model's own (MTP).
    Raises UnknownShape if config.json lacks what it takes.
    """
    text = text_config(config)
    width, doubt = _width(config, cache_dtype, dtype)
    per_layer, doubts = _layer_bytes(text, tensor_parallel, width)
    doubts = [*([doubt] if doubt else []), *doubts]
    if layers is not None:
        return KvNeed(per_layer * layers, doubts=tuple(doubts))
    full, windowed, none = _layers(text)
    if none:
        doubts.append(f"{none} layers keep a state instead of a cache, which is not counted")
    window = text.get("sliding_window") or text.get("attention_chunk_size") or 0
    if windowed and hybrid and isinstance(window, int) and window > 0:
        doubts.append(f"{windowed} layers keep a window of {window} tokens only")
        return KvNeed(per_layer * full, per_layer * windowed, window, tuple(doubts))
    return KvNeed(per_layer * (full + windowed), doubts=tuple(doubts))


def _width(config: Mapping[str, Any], cache_dtype: object, dtype: object) -> tuple[float, str]:
    """Return bytes per number in the cache, and why that is a guess ("" if it is none)."""
    name = "auto" if cache_dtype is None else str(cache_dtype)
    if name == "auto":
        quantised = quantization_config(config) or {}
        if isinstance(quantised.get("kv_cache_scheme"), Mapping) or quantised.get("kv_cache_quant_algo") == "FP8":
            return 1.0, "the checkpoint asks for an 8-bit KV cache"
        return (4.0 if str(dtype) in ("float32", "float") else 2.0), ""
    if name.startswith("fp8"):
        return 1.0, ""
    if name in _KV_WIDTH:
        return _KV_WIDTH[name], ""
    return 1.0, f"kv_cache_dtype {name} is taken as 1 byte per number"


def _layer_bytes(text: Mapping[str, Any], tensor_parallel: int, width: float) -> tuple[int, list[str]]:
    """Return bytes per token of one attention layer on one GPU, and what is not certain about it."""
    if isinstance(text.get("block_configs"), list):  # Nemotron-NAS
        raise UnknownShape("its layers differ from one another (block_configs)")
    rank = _number(text, "kv_lora_rank")
    if rank:
        doubts = []
        numbers = rank + (_number(text, "qk_rope_head_dim") or 0)
        indexer = _number(text, "index_head_dim")
        if indexer:
            doubts.append("the sparse attention's indexer is counted with 8 bits")
        return ceil(numbers * width) + (indexer + _INDEXER_SCALE_BYTES if indexer else 0), doubts
    heads = _number(text, "num_attention_heads", "n_head", "num_heads")
    hidden = _number(text, "hidden_size", "n_embd", "d_model")
    kv_heads = _number(text, "num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num")
    if text.get("multi_query") is True and not text.get("new_decoder_architecture"):  # Falcon names all heads beside it
        kv_heads = 1
    kv_heads = kv_heads or heads
    head_dim = _number(text, "head_dim", "kv_channels") or (hidden // heads if hidden and heads else None)
    if not kv_heads or not head_dim:
        raise UnknownShape("it has no num_attention_heads or no hidden_size")
    value_dim = _number(text, "v_head_dim") or head_dim
    doubts = ["its layers have heads of different sizes"] if "global_head_dim" in text else []
    return ceil(max(1, ceil(kv_heads / tensor_parallel)) * (head_dim + value_dim) * width), doubts


def _layers(text: Mapping[str, Any]) -> tuple[int, int, int]:
    """Return how many layers keep the whole context, a window, and no cache."""
    count = layer_count(text)
    shared = _number(text, "num_kv_shared_layers") or 0
    kinds = text.get("layer_types") or text.get("layers_block_type")
    if isinstance(kinds, list) and all(isinstance(kind, str) for kind in kinds):
        own = kinds[: count - shared]
        windowed, none = (sum(kind in group for kind in own) for group in (_WINDOWED, _NO_CACHE))
        return len(own) - windowed - none, windowed, none
    if (attending := _attending(text, count)) is not None:
        return attending, 0, count - attending
    if _has_window(text):
        every = _number(text, "sliding_window_pattern", "_sliding_window_pattern") or _family_pattern(text)
        full = (count - shared) // every if every else 0
        return full, count - shared - full, 0
    return count - shared, 0, 0


def _attending(text: Mapping[str, Any], count: int) -> int | None:
    """Return how many of `count` layers attend, where config.json says it without layer types; None elsewhere."""
    pattern, kinds = text.get("hybrid_override_pattern"), text.get("attn_type_list")  # Nemotron-H, MiniMax
    if isinstance(pattern, str):
        return pattern.count("*")
    if isinstance(kinds, list):
        return kinds.count(1)
    linear = text.get("linear_attn_config")  # Kimi Linear
    numbers = linear.get("full_attn_layers") if isinstance(linear, Mapping) else text.get("full_attn_idxs")  # LFM2
    if isinstance(numbers, list):
        return len(numbers)
    if every := _number(text, "attn_layer_period"):  # Jamba
        return len(range(_number(text, "attn_layer_offset") or 0, count, every))
    every = _number(text, "full_attention_interval")
    return count // every if every else None


def _family_pattern(text: Mapping[str, Any]) -> int | None:
    """Return of how many layers one keeps the whole context in families whose config.json leaves it out."""
    kind = str(text.get("model_type", ""))
    return 6 if kind.startswith("gemma3") else 2 if kind.startswith("gemma2") else None


def _has_window(text: Mapping[str, Any]) -> bool:
    return bool(_number(text, "sliding_window")) and text.get("use_sliding_window", True) is not False


def layer_count(text: Mapping[str, Any]) -> int:
    """Return the number of layers of a text model's config. Raises UnknownShape without it."""
    count = _number(text, "num_hidden_layers", "n_layer", "num_layers")
    if not count:
        raise UnknownShape("it has no num_hidden_layers")
    return count


def _number(text: Mapping[str, Any], *keys: str) -> int | None:
    return next((text[key] for key in keys if isinstance(text.get(key), int) and not isinstance(text[key], bool)), None)


def request_bytes(needs: Sequence[KvNeed], tokens: int, batched_tokens: int) -> int:
    """Return the KV cache of one request of `tokens` tokens in all models together, bytes on one GPU."""
    return sum(need.of_request(tokens, batched_tokens) for need in needs)
