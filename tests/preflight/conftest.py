"""Model directories small enough to make in a test."""

from __future__ import annotations

import json
from collections.abc import Callable
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
