"""Bytes of weights, from headers."""

from __future__ import annotations

from math import prod
from typing import Any

import pytest

from tests.memory.models import CONFIGS, shapes
from tuner.preflight.memory_weights import loaded_weights, weights_of_size
from tuner.preflight.tensors import Tensor

PLAIN: dict[str, Any] = {"num_hidden_layers": 2, "tie_word_embeddings": False}
EMBEDDING = {"model.embed_tokens.weight": Tensor("BF16", (50, 10), 1000)}
LAYER = {"model.layers.1.mlp.up_proj.weight": Tensor("BF16", (10, 20), 400)}
OUTPUT = {"lm_head.weight": Tensor("BF16", (50, 10), 1000)}


def test_what_is_in_the_files_is_loaded() -> None:
    found = loaded_weights({**EMBEDDING, **LAYER, **OUTPUT}, PLAIN)
    assert (found.by_dtype, found.drafter, found.doubt) == ({"BF16": 2400}, 0, "")


@pytest.mark.parametrize(("dtype", "size"), [(None, 500), ("float16", 500), ("float32", 1000)])
def test_floating_point_weights_are_cast(dtype: str | None, size: int) -> None:
    tensors = {"a.weight": Tensor("F32", (250,), 1000)}
    assert loaded_weights(tensors, PLAIN, dtype=dtype).total == size


def test_quantised_checkpoints_stay_as_they_are() -> None:
    tensors = {
        "a.weight": Tensor("F8_E4M3", (10, 10), 100),
        "a.scale": Tensor("F32", (10,), 40),
        "b.qweight": Tensor("I32", (7,), 28),
    }
    found = loaded_weights(tensors, {**PLAIN, "quantization_config": {"quant_method": "fp8"}}, quantization="fp8")
    assert (found.by_dtype, found.doubt) == ({"F8_E4M3": 100, "F32": 40, "I32": 28}, "")


def test_quantising_while_loading_is_an_estimate() -> None:
    found = loaded_weights({**EMBEDDING, **LAYER}, PLAIN, quantization="fp8")
    assert found.by_dtype == {"BF16": 1000, "fp8": 200}
    assert found.doubt


@pytest.mark.parametrize(("tied", "size"), [(True, 1400), (False, 2400)])
def test_a_tied_output_matrix_is_loaded_once(tied: bool, size: int) -> None:
    tensors = {**EMBEDDING, **LAYER, **OUTPUT}
    assert loaded_weights(tensors, {**PLAIN, "tie_word_embeddings": tied}).total == size


@pytest.mark.parametrize(
    ("name", "drafts"),
    [
        ("model.layers.2.eh_proj.weight", True),  # DeepSeek: the layer behind the last
        ("mtp.fc.weight", True),
        ("model.mtp_layers.0.input_proj.weight", True),  # MiMo
        ("model.layers.1.eh_proj.weight", False),
        ("visual.blocks.layers.5.weight", False),  # an encoder has a number of layers of its own
    ],
)
def test_layers_that_only_draft_are_apart(name: str, drafts: bool) -> None:
    found = loaded_weights({name: Tensor("BF16", (99,), 198)}, PLAIN)
    assert (found.total, found.drafter) == ((0, 198) if drafts else (198, 0))


def test_nested_configs_are_read() -> None:
    tensors = {**EMBEDDING, **OUTPUT, "model.language_model.layers.3.x": Tensor("BF16", (1,), 2)}
    found = loaded_weights(tensors, {"text_config": {"num_hidden_layers": 3, "tie_word_embeddings": True}})
    assert (found.total, found.drafter) == (1000, 2)


def test_files_without_headers_are_an_estimate() -> None:
    assert weights_of_size(7).total == 7
    assert "size of the files" in weights_of_size(7).doubt


def test_a_known_models_size() -> None:
    # Qwen3-8B has 8.19 billion parameters.
    assert sum(prod(shape) for shape in shapes(CONFIGS["Qwen3-8B"]).values()) == pytest.approx(8.19e9, rel=0.001)
