"""Bytes of KV cache per token, from config.json; three held against what published logs of vLLM say."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.memory.models import llama
from tuner.preflight.memory_kv import KvNeed, UnknownShape, kv_need, request_bytes

QWEN3_8B = llama(4096, 12288, 36, 32, 8, head_dim=128)
QWEN3_14B = llama(5120, 17408, 40, 40, 8, head_dim=128)
QWEN3_235B = llama(4096, 12288, 94, 64, 4, head_dim=128)
DEEPSEEK: dict[str, Any] = {
    "hidden_size": 7168,
    "num_hidden_layers": 61,
    "num_attention_heads": 128,
    "num_key_value_heads": 128,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
}


@pytest.mark.parametrize(
    ("config", "tensor_parallel", "gib", "tokens"),
    [
        (QWEN3_8B, 1, 6.37, 46368),  # github.com/LMCache/LMCache/issues/3430
        (QWEN3_14B, 1, 6.51, 42656),  # github.com/LMCache/LMCache/issues/1739
        (QWEN3_235B, 4, 8.11, 178880),  # github.com/vllm-project/vllm/issues/21348
    ],
)
def test_published_logs(config: dict[str, Any], tensor_parallel: int, gib: float, tokens: int) -> None:
    need = kv_need(config, tensor_parallel=tensor_parallel)
    assert gib * 2**30 / need.full == pytest.approx(tokens, rel=0.02)
    assert not need.doubts


@pytest.mark.parametrize(
    ("changed", "arguments", "size"),
    [
        ({}, {}, 2 * 2 * 4 * 32 * 2),  # key and value, 2 layers, 4 heads of 32 numbers of 2 bytes
        ({}, {"tensor_parallel": 2}, 2 * 2 * 2 * 32 * 2),
        ({}, {"tensor_parallel": 8}, 2 * 2 * 1 * 32 * 2),  # a head is not divided: every GPU has one
        ({}, {"cache_dtype": "fp8"}, 2 * 2 * 4 * 32),
        ({}, {"cache_dtype": "fp8_e5m2"}, 2 * 2 * 4 * 32),
        ({}, {"dtype": "float32"}, 2 * 2 * 4 * 32 * 4),
        ({}, {"cache_dtype": "auto"}, 2 * 2 * 4 * 32 * 2),
        ({"head_dim": None}, {}, 2 * 2 * 4 * (512 // 8) * 2),
        ({"num_key_value_heads": None}, {}, 2 * 2 * 8 * 32 * 2),
        ({"v_head_dim": 64}, {}, 2 * 4 * (32 + 64) * 2),
        ({"num_kv_shared_layers": 1}, {}, 1 * 2 * 4 * 32 * 2),
        ({"sliding_window": 64, "use_sliding_window": False}, {}, 2 * 2 * 4 * 32 * 2),
    ],
)
def test_grouped_query_attention(changed: dict[str, Any], arguments: dict[str, Any], size: int) -> None:
    need = kv_need({**llama(512, 1024, 2, 8, 4, head_dim=32), **changed}, **arguments)
    assert (need.full, need.windowed, need.doubts) == (size, 0, ())


@pytest.mark.parametrize("tensor_parallel", [1, 8])
def test_latent_attention_has_one_vector_on_every_gpu(tensor_parallel: int) -> None:
    assert kv_need(DEEPSEEK, tensor_parallel=tensor_parallel) == KvNeed(61 * (512 + 64) * 2)


def test_an_indexer_is_an_estimate() -> None:
    need = kv_need({**DEEPSEEK, "index_head_dim": 128})
    assert need.full == 61 * ((512 + 64) * 2 + 132)
    assert need.doubts


KINDS = ["sliding_attention"] * 5 + ["full_attention"]
LAYER = 2 * 4 * 32 * 2


@pytest.mark.parametrize(
    ("changed", "full", "windowed"),
    [
        ({"layer_types": KINDS, "sliding_window": 128}, 1, 5),
        ({"sliding_window_pattern": 3, "sliding_window": 128}, 2, 4),
        ({"sliding_window": 128}, 0, 6),
        ({"text_config": {"layer_types": KINDS, "sliding_window": 128}}, 1, 5),
        ({"layer_types": ["linear_attention", "linear_attention", "full_attention"] * 2}, 2, 0),
        ({"full_attention_interval": 3}, 2, 0),
        ({"hybrid_override_pattern": "M-M*M-"}, 1, 0),
        ({"layers_block_type": ["mamba"] * 5 + ["attention"]}, 1, 0),
        ({"attn_type_list": [0, 0, 1] * 2}, 2, 0),  # MiniMax
        ({"attn_layer_period": 4, "attn_layer_offset": 1}, 2, 0),  # Jamba
        ({"full_attn_idxs": [1, 5]}, 2, 0),  # LFM2
        ({"linear_attn_config": {"full_attn_layers": [3, 6], "kda_layers": [1, 2, 4, 5]}}, 2, 0),  # Kimi Linear
        ({"model_type": "gemma3_text", "sliding_window": 128}, 1, 5),  # their files leave the pattern out
        ({"model_type": "gemma2", "sliding_window": 128}, 3, 3),
    ],
)
def test_hybrid_models_are_estimates(changed: dict[str, Any], full: int, windowed: int) -> None:
    need = kv_need({**llama(512, 1024, 6, 8, 4, head_dim=32), **changed})
    assert (need.full, need.windowed) == (full * LAYER, windowed * LAYER)
    assert need.doubts


def test_layers_of_different_shapes_are_not_planned() -> None:
    with pytest.raises(UnknownShape, match="block_configs"):  # Nemotron-NAS: most of its layers have few heads or none
        kv_need({**llama(512, 1024, 6, 8, 4), "block_configs": [{}] * 6})


def test_falcon_has_one_head_whatever_number_it_names() -> None:
    config = {**llama(512, 1024, 6, 8, 4, head_dim=32), "num_key_value_heads": None, "num_kv_heads": 8}
    assert kv_need({**config, "multi_query": True}).full == 6 * LAYER // 4
    assert kv_need({**config, "multi_query": True, "new_decoder_architecture": True}).full == 6 * LAYER * 2


def test_without_the_hybrid_cache_manager_every_layer_keeps_everything() -> None:
    config = {**llama(512, 1024, 6, 8, 4, head_dim=32), "layer_types": KINDS, "sliding_window": 128}
    assert kv_need(config, hybrid=False).full == 6 * LAYER


def test_a_window_holds_itself_and_what_a_step_adds() -> None:
    need = KvNeed(full=100, windowed=10, window=50)
    assert need.of_request(30, 20) == 30 * 110
    assert need.of_request(1000, 20) == 1000 * 100 + 70 * 10


@pytest.mark.parametrize(
    "asks", [{"kv_cache_scheme": {"num_bits": 8}}, {"quant_method": "modelopt", "kv_cache_quant_algo": "FP8"}]
)
def test_a_checkpoint_may_ask_for_8_bits(asks: dict[str, Any]) -> None:
    need = kv_need({**llama(512, 1024, 2, 8, 4, head_dim=32), "quantization_config": asks})
    assert need.full == 2 * 2 * 4 * 32
    assert need.doubts


@pytest.mark.parametrize("config", [{}, {"num_hidden_layers": 2}, {"hidden_size": 8, "num_attention_heads": 2}])
def test_a_config_that_does_not_tell(config: dict[str, Any]) -> None:
    with pytest.raises(UnknownShape):
        kv_need(config)


@given(
    layers=st.integers(1, 100),
    heads=st.integers(1, 64),
    dim=st.sampled_from([32, 64, 128, 256]),
    parallel=st.sampled_from([1, 2, 4, 8]),
    tokens=st.integers(1, 100_000),
)
def test_gpus_together_hold_at_least_the_whole(layers: int, heads: int, dim: int, parallel: int, tokens: int) -> None:
    config = llama(64, 64, layers, heads, heads, head_dim=dim)
    alone, shared = kv_need(config), kv_need(config, tensor_parallel=parallel)
    assert shared.full * parallel >= alone.full >= shared.full
    assert request_bytes([alone, shared], tokens, 1) == tokens * (alone.full + shared.full)
