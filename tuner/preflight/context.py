"""How many tokens prompt and answer may have together. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

# The keys vLLM looks for, in any of which a model family keeps its trained context.
_LENGTH_KEYS = (
    "max_position_embeddings",
    "n_positions",
    "max_seq_len",
    "seq_length",
    "max_sequence_length",
    "max_target_positions",
    "model_max_length",
    "max_seq_length",
)
_ALREADY_SCALED = ("default", "su", "longrope", "llama3", "mrope", "deepseek_llama_scaling")
_YARN = ("yarn", "deepseek_yarn")
REPLACE_CONFIG = ("hf_overrides", "rope_scaling", "hf_config_path")
"""Engine arguments with which the model's own config.json is not what the engine goes by (rope_scaling: to 0.11)."""
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "K": 2**10, "M": 2**20, "G": 2**30}


def parse_max_model_len(value: object) -> int | None:
    """Return an engine argument max_model_len in tokens; None where the engine decides (-1, "auto", not given).

    vLLM's short forms are understood: "4k" is 4000, "4K" is 4096.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kKmMgG]?)\s*", str(value)) if _is_number_or_text(value) else None
    if match is None:
        return None
    return int(float(match[1]) * _UNITS[match[2]]) or None


def _is_number_or_text(value: object) -> bool:
    return isinstance(value, (int, str)) and not isinstance(value, bool)


def trained_context(config: Mapping[str, Any]) -> int | None:
    """Return the longest context that an engine may derive from a model's files, in tokens; None if they say nothing.

    Releases read RoPE scaling differently; the larger reading is taken, because what is asked here is whether a prompt
    can fit at all. A tokenizer's model_max_length does not count: for generation vLLM reads config.json alone.
    """
    text = config.get("text_config")
    source = text if isinstance(text, Mapping) else config
    lengths = [source.get(key) for key in _LENGTH_KEYS]
    own = source.get("model_max_length")
    if isinstance(own, int) and own > 0:  # where config.json has it (Command-R), it is the one that counts
        lengths = [own]
    ropes = _ropes(source)
    limits = [_scaled(length, ropes) for length in lengths if isinstance(length, int) and length > 0]
    return min(limits, default=None)


def _ropes(source: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the settings of RoPE, one for each type of layer where these differ; none where they change no length."""
    if "gemma3" in str(source.get("model_type", "")):  # its length is scaled already, whatever the type
        return []
    rope = source.get("rope_scaling") or source.get("rope_parameters")
    if not isinstance(rope, Mapping):
        return []
    nested = [part for part in rope.values() if isinstance(part, Mapping)]
    return nested or [rope]


def _scaled(length: int, ropes: Iterable[Mapping[str, Any]]) -> int:
    return max([length, *(_scaled_by(length, rope) for rope in ropes)])


def _scaled_by(length: int, rope: Mapping[str, Any]) -> int:
    """Return the length that one scaling leads to.

    YaRN: vLLM 0.32 takes the length in config.json as scaled, releases before multiply the original one.
    """
    factor = rope.get("factor")
    kind = rope.get("rope_type", rope.get("type", "default"))
    if not isinstance(factor, (int, float)) or factor <= 1 or kind in _ALREADY_SCALED:
        return length
    original = rope.get("original_max_position_embeddings")
    return int((original if kind in _YARN and isinstance(original, int) else length) * factor)


def context_limit(max_model_lens: Iterable[object], trained: int | None) -> int | None:
    """Return the smallest context among the candidates, in tokens; None if no limit is known.

    max_model_lens: every value of that engine argument that a candidate has (none if it is not given).
    trained: what holds where the argument leaves it to the engine.
    """
    limits = [parse_max_model_len(value) or trained for value in max_model_lens] or [trained]
    return min((limit for limit in limits if limit is not None), default=None)
