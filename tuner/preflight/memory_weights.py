"""How many bytes a model's weights take in an engine, from its config and the headers of its files. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

from tuner.preflight.tensors import INPUT_EMBEDDINGS, OUTPUT_MATRICES, Tensor

_WIDTH = {"F64": 8, "F32": 4, "BF16": 2, "F16": 2}
_ENGINE_WIDTH = {"float32": 4, "float": 4}
# The text model's own layers; encoders of other media have layers too, and their number is another.
_LAYER = re.compile(r"(?:(?:model|language_model|transformer)\.)*(?:layers|h)\.(\d+)\.")
# Bytes that one weight of a linear layer takes when the engine quantises while it loads.
_ONLINE = {"fp8": 1.0, "fp8_per_tensor": 1.0, "fp8_per_block": 1.0, "bitsandbytes": 0.56}


@dataclass(frozen=True)
class Weights:
    """What an engine loads of a checkpoint, in bytes on all GPUs together.

    by_dtype: of the model itself, by type in the engine.  drafter: of layers in the same files that only draft (MTP).
    doubt: why `by_dtype` is an estimate, "" where the files tell it.
    """

    by_dtype: Mapping[str, int]
    drafter: int = 0
    doubt: str = ""

    @property
    def total(self) -> int:
        """Bytes of the model without its drafter."""
        return sum(self.by_dtype.values())


def loaded_weights(
    tensors: Mapping[str, Tensor], config: Mapping[str, Any], *, dtype: object = None, quantization: object = None
) -> Weights:
    """Return what loading `tensors` takes.

    config: config.json.  dtype, quantization: the engine arguments of these names.  Floating-point weights are cast to
    the engine's type (16 bits unless told otherwise); quantised checkpoints stay as they are in the files. An output
    matrix that is tied to the embedding is loaded once, even where the files hold it twice.
    """
    text = text_config(config)
    quantised = quantization_config(config) is not None
    width = _ENGINE_WIDTH.get(str(dtype), 2)
    layers = text.get("num_hidden_layers")
    tied = bool(text.get("tie_word_embeddings", config.get("tie_word_embeddings", False)))
    has_embedding = any(name.endswith(INPUT_EMBEDDINGS) for name in tensors)
    online = None if quantised or not isinstance(quantization, str) else _ONLINE.get(quantization)
    by_dtype: Counter[str] = Counter()
    drafter = 0
    for name, tensor in tensors.items():
        if tied and has_embedding and name.endswith(OUTPUT_MATRICES):
            continue
        kind, size = _in_engine(tensor, width, keep=quantised)
        if _only_drafts(name, layers):
            drafter += size
            continue
        if online is not None and len(tensor.shape) >= 2 and not name.endswith((*INPUT_EMBEDDINGS, *OUTPUT_MATRICES)):
            kind, size = str(quantization), ceil(tensor.elements * online)
        by_dtype[kind] += size
    doubt = "the engine quantises while it loads" if quantization and not quantised else ""
    return Weights(dict(by_dtype), drafter, doubt)


def weights_of_size(file_bytes: int) -> Weights:
    """Return an estimate for files without safetensors headers: that what is on disk is what gets loaded."""
    return Weights({"unknown": file_bytes}, doubt="no safetensors headers: the size of the files is taken")


def _in_engine(tensor: Tensor, width: int, *, keep: bool) -> tuple[str, int]:
    if keep or tensor.dtype not in _WIDTH:
        return tensor.dtype, tensor.size
    kind = {2: tensor.dtype if _WIDTH[tensor.dtype] == 2 else "BF16", 4: "F32"}[width]
    return kind, tensor.size * width // _WIDTH[tensor.dtype]


def _only_drafts(name: str, layers: object) -> bool:
    layer = _LAYER.match(name)
    return any(part.startswith("mtp") for part in name.split(".")) or bool(
        layer and isinstance(layers, int) and int(layer[1]) >= layers
    )


def text_config(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what config.json says about the text model, wherever it nests it (a speculators' checkpoint does too)."""
    thinker = config.get("thinker_config")
    for source in (config, thinker if isinstance(thinker, Mapping) else {}):
        for key in ("text_config", "transformer_layer_config", "llm_config"):
            if isinstance(source.get(key), Mapping):
                return {**config, **source[key]}
    return config


def quantization_config(config: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return what config.json says about quantised weights; None for plain ones."""
    for source in (config, text_config(config)):
        found = source.get("quantization_config") or source.get("compression_config")
        if isinstance(found, Mapping):
            return found
    return None
