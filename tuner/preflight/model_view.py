"""What the rules ask of a model: a view of its files, read once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tuner.preflight.context import trained_context
from tuner.preflight.model_files import read_config
from tuner.preflight.tensors import Tensor, embedding, output_matrix, read_tensors
from tuner.preflight.vocabulary import Vocabulary, read_vocabulary

_MEDIA = ("vision_config", "audio_config", "thinker_config", "visual", "vision_tower")
_SCALED_ELSEWHERE = ("scale", "zero", "g_idx", "_shape", "absmax", "quant_map", "quant_state")


@dataclass(frozen=True)
class ModelFiles:
    """One model as its files show it.

    name: "target", or the draft's name.  reference: as the user wrote it.  config: config.json.
    tensors: from the safetensors headers, {} where there are none.  vocabulary: None where the model has no tokenizer
    that can be read.
    """

    name: str
    reference: str
    config: Mapping[str, Any]
    tensors: Mapping[str, Tensor] = field(default_factory=dict)
    vocabulary: Vocabulary | None = None

    @property
    def text(self) -> Mapping[str, Any]:
        """The part of config.json that describes the language model."""
        for key in ("text_config", "transformer_layer_config"):
            part = self.config.get(key)
            if isinstance(part, Mapping):
                return {**self.config, **part}
        thinker = self.config.get("thinker_config")
        if isinstance(thinker, Mapping) and isinstance(thinker.get("text_config"), Mapping):
            return {**self.config, **thinker["text_config"]}
        return self.config

    def integer(self, *names: str) -> int | None:
        """Return the first of these config entries that is an integer."""
        values = (self.text.get(name) for name in names)
        return next((v for v in values if isinstance(v, int) and not isinstance(v, bool)), None)

    @property
    def vocab_size(self) -> int | None:
        """The integer that engines compare; the real rows where config.json leaves it to the family (Gemma 3)."""
        return self.integer("vocab_size", "padded_vocab_size", "n_vocab") or self.embedding_rows

    @property
    def embedding_rows(self) -> int | None:
        """Rows that the input embedding really has; None where the headers do not tell or the matrix is packed."""
        return _rows(embedding(self.tensors))

    @property
    def output_rows(self) -> int | None:
        """Rows that the output matrix really has; None where it is the embedding."""
        return _rows(output_matrix(self.tensors))

    @property
    def context(self) -> int | None:
        """The longest context that an engine derives from the files, in tokens.

        For generation vLLM reads config.json alone (0.32.0, config/model.py, get_and_verify_max_len).
        """
        return trained_context(self.config)

    @property
    def hidden_size(self) -> int | None:
        """Width of the hidden states."""
        return self.integer("hidden_size", "n_embd", "d_model")

    @property
    def layers(self) -> int | None:
        """Number of decoder layers."""
        return self.integer("num_hidden_layers", "n_layer", "num_layers")

    @property
    def heads(self) -> int | None:
        """Number of query heads."""
        return self.integer("num_attention_heads", "n_head")

    @property
    def kv_heads(self) -> int | None:
        """Number of key and value heads; that of the query heads where nothing else is said."""
        return self.integer("num_key_value_heads", "num_kv_heads", "multi_query_group_num") or self.heads

    @property
    def architecture(self) -> str:
        """The first of `architectures`, "" if none is named."""
        named = self.config.get("architectures") or self.text.get("architectures")
        return str(named[0]) if isinstance(named, list) and named else ""

    @property
    def model_type(self) -> str:
        """Family of the language model, "" if not named."""
        return str(self.text.get("model_type") or "")

    @property
    def quantised(self) -> str | None:
        """How the weights are quantised ("fp8", "awq" ...), None if they are not."""
        found = self.config.get("quantization_config") or self.text.get("quantization_config")
        return str(found.get("quant_method") or "yes") if isinstance(found, Mapping) else None

    @property
    def media(self) -> bool:
        """Whether it takes more than text."""
        return any(self.config.get(key) for key in _MEDIA)

    @property
    def mrope(self) -> bool:
        """Whether positions are multimodal (M-RoPE), as vLLM 0.32 tells: mrope_section in either place for RoPE."""
        ropes = (self.text.get("rope_scaling"), self.text.get("rope_parameters"), self.text)
        return any(isinstance(rope, Mapping) and rope.get("mrope_section") is not None for rope in ropes)

    @property
    def experts(self) -> tuple[int, int] | None:
        """Number of routed experts and how many of them one token uses; None for a dense model."""
        number = self.integer("num_experts", "num_local_experts", "n_routed_experts")
        chosen = self.integer("num_experts_per_tok", "num_experts_per_token", "moe_topk")
        return (number, chosen) if number and chosen else None

    @property
    def parameters(self) -> int | None:
        """Parameters that one token uses: of routed experts the chosen ones. An estimate where weights are packed."""
        if not self.tensors:
            return None
        kept = {name: t for name, t in self.tensors.items() if not any(part in name for part in _SCALED_ELSEWHERE)}
        share = self.experts[1] / self.experts[0] if self.experts else 1.0
        counts = (_unpacked(t, self._bits) * (share if ".experts." in name else 1.0) for name, t in kept.items())
        return round(sum(counts))

    @property
    def _bits(self) -> int:
        found = self.config.get("quantization_config")
        bits = found.get("bits", found.get("w_bit")) if isinstance(found, Mapping) else None
        return bits if isinstance(bits, int) and 0 < bits <= 32 else 4


def _rows(found: tuple[str, Tensor] | None) -> int | None:
    if found is None or len(found[1].shape) != 2 or not found[1].dtype.startswith(("F", "BF")):
        return None
    return found[1].shape[0]


def _unpacked(tensor: Tensor, bits: int) -> float:
    """Return the numbers in a tensor: quantised ones stand several to a 32-bit word (or two to a byte)."""
    if tensor.dtype == "I32":
        return tensor.elements * 32 / bits
    return tensor.elements * (2 if tensor.dtype == "U8" else 1)


def read_model(
    directory: Path,
    name: str,
    reference: str,
    *,
    python: str,
    tokenizer: Path | None,
    trust_remote_code: bool = False,
    with_tokens: bool = True,
) -> ModelFiles:
    """Return the view of a model directory that passed `check_target` or `check_draft`.

    tokenizer: where its own tokenizer is, None where it has none.  with_tokens: read its token map too.
    Raises ModelError for a config.json that is none.
    """
    vocabulary = None
    if tokenizer is not None and with_tokens:
        vocabulary = read_vocabulary(tokenizer, python=python, trust_remote_code=trust_remote_code)
    try:
        tensors = read_tensors(directory)
    except (OSError, ValueError):  # weights in other formats, or dummy ones: nothing is known of them
        tensors = {}
    config = read_config(directory, name)
    return ModelFiles(name, reference, config, tensors, vocabulary)
