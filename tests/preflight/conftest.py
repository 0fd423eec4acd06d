"""Model directories small enough to make in a test."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable, Mapping
from math import prod
from pathlib import Path
from typing import Any

import pytest

CHAT_TEMPLATE = (
    "{% for m in messages %}"
    "{% if m.role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
    "<s> {{ m.role }} {{ m.content }} </s> {% endfor %}"
    "{% if add_generation_prompt %}<s> assistant {% endif %}"
)


def write_tokenizer(directory: Path, chat_template: str | None, **config: Any) -> None:
    """A tokenizer with one token for each word or punctuation mark, and a start token on plain prompts."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit
    from tokenizers.processors import TemplateProcessing

    tokenizer = Tokenizer(WordLevel({"<unk>": 0, "<s>": 1, "</s>": 2}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    tokenizer.post_processor = TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    tokenizer.save(str(directory / "tokenizer.json"))
    config |= {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "<unk>", "bos_token": "<s>"}
    config |= {"chat_template": chat_template} if chat_template else {}
    (directory / "tokenizer_config.json").write_text(json.dumps(config))


@pytest.fixture
def make_model(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that makes a model directory, complete but for the weights' content."""

    def make(name: str = "target", *, chat_template: str | None = CHAT_TEMPLATE, context: int = 64) -> Path:
        directory = tmp_path / name
        directory.mkdir()
        (directory / "config.json").write_text(json.dumps({"max_position_embeddings": context}))
        (directory / "model.safetensors").write_bytes(b"weights")
        write_tokenizer(directory, chat_template)
        return directory

    return make


def tokenizer_json(tokens: Mapping[str, int], added: Mapping[str, int]) -> dict[str, Any]:
    """What a tokenizer.json says of its token map."""
    model = {"type": "WordLevel", "vocab": dict(tokens), "unk_token": "<unk>"}
    return {"model": model, "added_tokens": [{"id": number, "content": text} for text, number in added.items()]}


def write_tensors(file: Path, tensors: Mapping[str, tuple[str, tuple[int, ...]]]) -> None:
    """A safetensors file of its header, which is what preflight reads of one, and a hole for the weights."""
    width = {"BF16": 2, "F32": 4, "I32": 4, "U8": 1}
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, (dtype, shape) in tensors.items():
        begin, end = end, end + width[dtype] * prod(shape)
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    file.write_bytes(struct.pack("<Q", len(text)) + text)
    os.truncate(file, 8 + len(text) + end)


WORDS = {"<unk>": 0, "<s>": 1, "</s>": 2, "a": 3, "b": 4, "c": 5}
LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 6,
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "intermediate_size": 16,
    "head_dim": 4,
    "max_position_embeddings": 64,
    "torch_dtype": "bfloat16",
}


@pytest.fixture
def make_files(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that makes a small model as preflight reads it; entries of `config` replace the usual ones."""

    def make(
        name: str = "target",
        *,
        tokens: Mapping[str, int] | None = None,
        added: Mapping[str, int] | None = None,
        rows: int | None = None,
        hidden: int = 8,
        chat_template: str | None = CHAT_TEMPLATE,
        **config: Any,
    ) -> Path:
        directory = tmp_path / name
        directory.mkdir()
        settings = {
            key: value for key, value in {**LLAMA, "hidden_size": hidden, **config}.items() if value is not None
        }
        (directory / "config.json").write_text(json.dumps(settings))
        has = rows if rows is not None else settings["vocab_size"]
        layer = {"model.layers.0.mlp.down_proj.weight": ("BF16", (hidden, 16))}
        write_tensors(directory / "model.safetensors", {"model.embed_tokens.weight": ("BF16", (has, hidden)), **layer})
        write_tokenizer(directory, chat_template)
        (directory / "tokenizer.json").write_text(json.dumps(tokenizer_json(tokens or WORDS, added or {})))
        return directory

    return make
