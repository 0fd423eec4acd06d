"""What the rules see of a model."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tuner.preflight.model_view import ModelFiles, read_model
from tuner.preflight.tensors import Tensor, embedding, output_matrix, read_tensors

MakeFiles = Callable[..., Path]


def bf16(*shape: int) -> Tensor:
    size = 2
    for length in shape:
        size *= length
    return Tensor("BF16", shape, size)


def view(**config: Any) -> ModelFiles:
    return ModelFiles("target", "org/target", config)


def weights(config: dict[str, Any] | None = None, **tensors: Tensor) -> ModelFiles:
    return ModelFiles(
        "target", "org/target", config or {}, tensors={k.replace("__", "."): t for k, t in tensors.items()}
    )


def test_a_directory_becomes_a_view(make_files: MakeFiles) -> None:
    directory = make_files(rows=7)
    found = read_model(directory, "target", "org/t", python=sys.executable, tokenizer=directory)
    assert (found.vocab_size, found.embedding_rows, found.output_rows) == (6, 7, None)
    assert found.vocabulary is not None and found.vocabulary.size == 6
    assert (found.context, found.heads, found.layers, found.hidden_size) == (64, 2, 2, 8)
    assert found.parameters == 7 * 8 + 8 * 16
    assert (found.quantised, found.media, found.mrope, found.experts) == (None, False, False, None)


def test_weights_that_cannot_be_read_are_unknown(make_files: MakeFiles) -> None:
    directory = make_files()
    (directory / "model.safetensors").write_bytes(b"weights")
    found = read_model(directory, "target", "org/t", python=sys.executable, tokenizer=None)
    assert (found.tensors, found.embedding_rows, found.parameters, found.vocabulary) == ({}, None, None, None)


@pytest.mark.parametrize("part", ["text_config", "transformer_layer_config"])
def test_the_language_models_own_part_counts(part: str) -> None:
    found = view(vocab_size=9, **{part: {"vocab_size": 4, "hidden_size": 8, "num_attention_heads": 2}})
    assert (found.vocab_size, found.hidden_size, found.kv_heads) == (4, 8, 2)


def test_a_thinkers_text_counts() -> None:
    found = view(thinker_config={"text_config": {"vocab_size": 4, "rope_scaling": {"mrope_section": [1, 1]}}})
    assert (found.vocab_size, found.mrope, found.media) == (4, True, True)


def test_of_several_embeddings_the_models_own_is_taken() -> None:
    tensors = {
        "model.mtp.layers.0.embed_tokens.weight": bf16(3, 2),
        "model.embed_tokens.weight": bf16(4, 2),
        "lm_head.weight": bf16(5, 2),
    }
    named = embedding(tensors), output_matrix(tensors)
    assert named == (("model.embed_tokens.weight", bf16(4, 2)), ("lm_head.weight", bf16(5, 2)))


def test_packed_matrices_have_no_rows_of_tokens() -> None:
    assert weights(embed_tokens__weight=Tensor("I32", (4, 1), 16)).embedding_rows is None
    assert weights(embed_tokens__weight=bf16(4, 2)).embedding_rows == 4


def test_parameters_count_chosen_experts_and_what_is_packed() -> None:
    experts = {"num_experts": 8, "num_experts_per_tok": 2}
    assert weights(experts, a__experts__0=bf16(80, 10), b=bf16(10)).parameters == 200 + 10
    four = {"quantization_config": {"bits": 4}}
    assert weights(four, a__qweight=Tensor("I32", (10,), 40), a__scales=bf16(10)).parameters == 80
    assert weights({}, a=Tensor("U8", (10,), 10)).parameters == 20


@pytest.mark.parametrize("header", [b"", b"\x00" * 4, (10**9).to_bytes(8, "little"), (2).to_bytes(8, "little") + b"[]"])
def test_what_is_no_safetensors_file_is_refused(tmp_path: Path, header: bytes) -> None:
    (tmp_path / "model.safetensors").write_bytes(header)
    with pytest.raises(ValueError, match="safetensors"):
        read_tensors(tmp_path)


def test_shards_are_those_that_the_index_names(make_files: MakeFiles) -> None:
    directory = make_files()
    (directory / "model.safetensors").rename(directory / "a.safetensors")
    (directory / "old.safetensors").write_bytes(b"")
    (directory / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"x": "a.safetensors"}}))
    assert read_tensors(directory)["model.embed_tokens.weight"].shape == (6, 8)
