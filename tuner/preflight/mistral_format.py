"""Mistral's own format of a model's configuration, params.json, in the words of config.json. Pure.

vLLM 0.32.0, transformers_utils/configs/mistral.py, adapt_config_dict: what an engine makes of a directory that has no
config.json (Pixtral, Mistral Large 3 and its EAGLE head).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_RENAMED = {
    "dim": "hidden_size",
    "n_layers": "num_hidden_layers",
    "n_heads": "num_attention_heads",
    "n_kv_heads": "num_key_value_heads",
    "hidden_dim": "intermediate_size",
    "max_seq_len": "max_position_embeddings",
    "tied_embeddings": "tie_word_embeddings",
}


def as_config(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return what config.json would say of the model, as far as anything here asks for it."""
    config = {_RENAMED.get(key, key): value for key, value in params.items()}
    media = config.get("vision_encoder") or (config.get("multimodal") or {}).get("vision_encoder_args")
    experts = config.get("moe") or {}
    yarn = config.get("yarn") or {}
    config |= {"vision_config": media} if media else {}
    config |= {"quantization_config": config["quantization"]} if config.get("quantization") else {}
    config |= {"rope_parameters": {**yarn, "rope_type": "yarn"}} if yarn else {}
    if experts:
        config |= {
            "n_routed_experts": experts.get("num_experts"),
            "num_experts_per_tok": experts.get("num_experts_per_tok"),
            "moe_intermediate_size": experts.get("expert_hidden_dim"),
        }
    return config
