"""What of a candidate's arguments its memory depends on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tuner.preflight.memory_device import Device
from tuner.preflight.memory_settings import FALLBACK_CONTEXT, Settings, settings_of
from tuner.records import SCHEDULE, Candidate, Speculation

GIB = 2**30
H100 = Device("gpu", "NVIDIA H100 80GB HBM3", 79 * GIB)
CPU = Device("cpu", "host", 32 * GIB)


def of(
    args: dict[str, Any],
    device: Device = H100,
    *,
    trained: int | None = 8192,
    env: Mapping[str, str] | None = None,
    speculation: Speculation | None = None,
) -> Settings:
    candidate = Candidate(args, speculation)
    return settings_of(candidate, device, trained_context=trained, default_utilization=0.92, env=env or {})


def test_gpus_that_share_out_the_tokens() -> None:
    assert (of({}).context_parallel, of({"decode_context_parallel_size": 4}).context_parallel) == (1, 4)


def test_layers_in_host_memory() -> None:
    assert (of({}).offloads_layers, of({"offload_group_size": 8}).offloads_layers) == (False, True)


def test_the_engines_own_defaults() -> None:
    found = of({})
    assert (found.utilization, found.max_model_len, found.context_given, found.k) == (0.92, 8192, False, 0)
    assert (found.max_num_batched_tokens, found.max_num_seqs, found.kv_bytes, found.eager) == (8192, 1024, None, False)


@pytest.mark.parametrize(
    ("device", "batched", "sequences"),
    [
        (H100, 8192, 1024),
        (Device("gpu", "NVIDIA B200", 178 * GIB), 16384, 1024),
        (Device("gpu", "NVIDIA A100-SXM4-80GB", 79 * GIB), 2048, 256),
        (Device("gpu", "NVIDIA L4", 22 * GIB), 2048, 256),
        (CPU, 2048, 128),
    ],
)
def test_batch_defaults_follow_the_device(device: Device, batched: int, sequences: int) -> None:
    found = of({}, device)
    assert (found.max_num_batched_tokens, found.max_num_seqs) == (batched, sequences)


def test_what_is_said_counts() -> None:
    args = {
        "gpu_memory_utilization": 0.5,
        "max_model_len": "4k",
        "max_num_seqs": 8,
        "max_num_batched_tokens": 512,
        "tensor_parallel_size": 2,
        "pipeline_parallel_size": 3,
        "enforce_eager": True,
        "kv_cache_dtype": "fp8",
        "dtype": "float32",
        "cpu_offload_gb": 1.5,
        "disable_hybrid_kv_cache_manager": True,
        "kv_cache_memory_bytes": 7,
    }
    found = of(args)
    assert (found.utilization, found.max_model_len, found.context_given) == (0.5, 4000, True)
    assert (found.max_num_seqs, found.max_num_batched_tokens) == (8, 512)
    assert (found.tensor_parallel, found.pipeline_parallel, found.eager, found.width) == (2, 3, True, 4)
    assert (found.kv_cache_dtype, found.offloaded, found.hybrid, found.kv_bytes) == ("fp8", 1.5 * GIB, False, 7)


def test_a_batch_is_no_larger_than_all_contexts_together() -> None:
    assert of({"max_num_seqs": 2, "max_model_len": 100}).max_num_batched_tokens == 200


def test_without_chunked_prefill_a_step_holds_a_whole_prompt() -> None:
    assert of({"enable_chunked_prefill": False}, trained=32768).max_num_batched_tokens == 32768
    assert of({"enable_chunked_prefill": True}, trained=32768).max_num_batched_tokens == 8192


@pytest.mark.parametrize("trained", [None, 100])
def test_contexts_come_from_the_model(trained: int | None) -> None:
    assert of({}, trained=trained).max_model_len == (trained or FALLBACK_CONTEXT)


def test_the_longest_context_is_the_trained_one_unless_more_is_asked() -> None:
    assert of({"max_model_len": 100}).longest_context == 8192
    assert of({"max_model_len": 10000}).longest_context == 10000


@pytest.mark.parametrize(
    ("device", "space", "given"), [(CPU, "3", 3 * GIB), (CPU, "", None), (CPU, "x", None), (H100, "3", None)]
)
def test_the_cpu_builds_own_variable(device: Device, space: str, given: int | None) -> None:
    assert of({}, device, env={"VLLM_CPU_KVCACHE_SPACE": space}).kv_bytes == given


def test_a_cpu_engine_captures_no_graphs() -> None:
    assert of({}, CPU).eager


def test_a_schedule_is_seen() -> None:
    speculation = Speculation("draft_model", 5, "d", "/d", {SCHEDULE: [[1, 4, 5]]})
    found = of({}, speculation=speculation)
    assert (found.k, found.schedule) == (5, True)


@pytest.mark.parametrize(("parallel", "shared"), [(1, False), (2, True)])
def test_experts_are_shared_out_among_replicas(parallel: int, shared: bool) -> None:
    assert of({"enable_expert_parallel": True, "data_parallel_size": parallel}).shared_experts is shared
