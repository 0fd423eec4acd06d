"""How many bytes of a model's weights one decode step has to read, from the headers of its safetensors files."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tuner.preflight.tensors import INPUT_EMBEDDINGS, Tensor, read_tensors

_OTHER_PARTS = frozenset(
    {"visual", "vision_tower", "vision_model", "audio_tower", "multi_modal_projector", "mm_projector", "mtp"}
)
_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts")
_CHOSEN_EXPERTS = ("num_experts_per_tok", "num_experts_per_token", "moe_topk")
# Engines cast these to a 16-bit type unless told otherwise; quantised and 16-bit weights stay as they are.
_WIDTH_KEPT = {"F64": 0.25, "F32": 0.5}


def weight_bytes(directory: Path) -> int | None:
    """Return the bytes that one decode step of a single request reads; None where the files do not tell.

    That is every weight but the input embedding (of which a step reads one row; one that is the output matrix too is
    read in full), the encoders of other media, layers that only draft, and the experts that are not chosen: of routed
    experts the share num_experts_per_tok / number of experts counts. Weights in 32 bits count half, since engines load
    them in 16. None: no safetensors files, a file that is none, or experts without these numbers in config.json.
    """
    try:
        config = json.loads((directory / "config.json").read_bytes())
        tensors = read_tensors(directory)
        return _read_per_step(tensors, config.get("text_config") or config) if tensors else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _read_per_step(tensors: Mapping[str, Tensor], config: Mapping[str, Any]) -> int | None:
    has_output_matrix = any(name.endswith("lm_head.weight") for name in tensors)
    layers = config.get("num_hidden_layers")
    dense = experts = 0.0
    for name, tensor in tensors.items():
        layer = re.search(r"\blayers\.(\d+)\.", name)
        if (
            (has_output_matrix and name.endswith(INPUT_EMBEDDINGS))
            or not _OTHER_PARTS.isdisjoint(name.split("."))
            or (layer and isinstance(layers, int) and int(layer[1]) >= layers)
        ):
            continue
        kept = tensor.size * _WIDTH_KEPT.get(tensor.dtype, 1.0)
        if ".experts." in name:
            experts += kept
        else:
            dense += kept
    if not experts:
        return round(dense)
    number, chosen = (next((config[k] for k in keys if config.get(k)), None) for keys in (_EXPERTS, _CHOSEN_EXPERTS))
    return round(dense + experts * chosen / number) if number and chosen else None
