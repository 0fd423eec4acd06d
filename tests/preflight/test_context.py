from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.preflight.context import context_limit, parse_max_model_len, trained_context


@pytest.mark.parametrize(
    ("value", "tokens"),
    [
        (4096, 4096),
        ("4096", 4096),
        ("4k", 4000),
        ("4K", 4096),
        ("1.5k", 1500),
        (-1, None),
        (0, None),
        ("auto", None),
        (None, None),
        (True, None),
    ],
)
def test_parse_max_model_len(value: object, tokens: int | None) -> None:
    assert parse_max_model_len(value) == tokens


YARN: dict[str, object] = {"type": "yarn", "factor": 4.0}


@pytest.mark.parametrize(
    ("config", "tokens"),
    [
        ({"max_position_embeddings": 8192}, 8192),
        ({"n_positions": 1024}, 1024),
        ({"text_config": {"max_position_embeddings": 512}, "max_position_embeddings": 9}, 512),
        ({"max_position_embeddings": 8192, "seq_length": 2048}, 2048),
        ({"max_position_embeddings": 100, "rope_scaling": {"type": "linear", "factor": 4.0}}, 400),
        ({"max_position_embeddings": 100, "rope_scaling": {"rope_type": "llama3", "factor": 8.0}}, 100),
        ({"max_position_embeddings": 100, "rope_scaling": None}, 100),
        ({"max_position_embeddings": 100, "rope_parameters": {"rope_type": "default"}}, 100),
        ({}, None),
        # YaRN: Qwen2.5's file has the original length, gpt-oss' and DeepSeek's the scaled one.
        ({"max_position_embeddings": 32, "rope_scaling": YARN | {"original_max_position_embeddings": 32}}, 128),
        ({"max_position_embeddings": 128, "rope_scaling": YARN | {"original_max_position_embeddings": 32}}, 128),
        ({"max_position_embeddings": 32, "rope_scaling": YARN}, 128),
        (
            {
                "max_position_embeddings": 32,
                "rope_parameters": {
                    "full_attention": YARN | {"original_max_position_embeddings": 32},
                    "sliding_attention": {"rope_type": "default"},
                },
            },
            128,
        ),
        (
            {
                "text_config": {
                    "model_type": "gemma3_text",
                    "max_position_embeddings": 128,
                    "rope_scaling": {"rope_type": "linear", "factor": 8.0},
                }
            },
            128,
        ),
        ({"max_position_embeddings": 8192, "model_max_length": 131072}, 131072),  # Command-R
    ],
)
def test_trained_context(config: dict[str, object], tokens: int | None) -> None:
    assert trained_context(config) == tokens


def test_the_smallest_candidate_decides() -> None:
    assert context_limit([4096, "auto"], 2048) == 2048
    assert context_limit([1024, 4096], 2048) == 1024
    assert context_limit([], 2048) == 2048
    assert context_limit([1024], None) == 1024
    assert context_limit([None, 1024], None) == 1024
    assert context_limit([], None) is None


@given(st.lists(st.integers(1, 10**6), min_size=1), st.none() | st.integers(1, 10**6))
def test_explicit_lengths_leave_the_trained_one_out(lengths: list[int], trained: int | None) -> None:
    assert context_limit(lengths, trained) == min(lengths)
