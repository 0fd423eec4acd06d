"""Whether a candidate fits, and what would."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.memory.models import llama
from tuner.preflight.memory_device import Device
from tuner.preflight.memory_need import Load, ModelSize, Source
from tuner.preflight.memory_peaks import GPU_LIBRARIES, graph_bytes, shape, verification_bytes
from tuner.preflight.memory_plan import MOST_K, MemoryPlan, Verdict, plan_memory
from tuner.preflight.memory_settings import Settings
from tuner.preflight.memory_weights import Weights
from tuner.records import Speculation

GIB, MIB = 2**30, 2**20
CONFIG = llama(1024, 2048, 16, 16, 8)
TARGET = ModelSize("target", CONFIG, Weights({"BF16": 10 * GIB}))
DRAFT = ModelSize("small", llama(512, 1024, 8, 8, 4), Weights({"BF16": 1 * GIB}))
GPU = Device("gpu", "card", 40 * GIB)
CPU = Device("cpu", "host", 40 * GIB)
PER_TOKEN = 2 * 16 * 8 * 64 * 2
EASY = Settings(utilization=0.9, max_model_len=4096, max_num_seqs=16, max_num_batched_tokens=2048, k=3)
SPECULATING = Speculation("draft_model", 3, "small", "/small")


def plan(
    settings: Settings = EASY,
    speculation: Speculation | None = SPECULATING,
    draft: ModelSize | None = DRAFT,
    device: Device = GPU,
    *,
    target: ModelSize = TARGET,
    load: Load | None = None,
) -> MemoryPlan:
    return plan_memory(target, speculation, draft, settings, device, load)


def sizes(found: MemoryPlan) -> dict[str, int]:
    return {part.name: part.size for part in found.parts}


def test_the_parts_and_what_is_left() -> None:
    found = plan()
    parts = sizes(found)
    assert parts["target weights"] == 10 * GIB
    assert parts["draft weights"] == GIB
    assert parts["activations"] == 2048 * (3 * 2048 + 2 * 1024) * 2  # gate, up and their product; in and residual
    assert parts["libraries"] == GPU_LIBRARIES
    assert found.limit == 36 * GIB
    assert found.kv_bytes == 36 * GIB - sum(parts.values())
    assert found.kv_bytes_per_token == PER_TOKEN + PER_TOKEN // 4  # half the layers, half the heads
    assert found.kv_tokens == found.kv_bytes // found.kv_bytes_per_token // 16 * 16
    assert (found.verdict, found.reasons, found.doubts) == (Verdict.FITS, (), ())
    files = {part.name for part in found.parts if part.source is Source.FILES}
    assert files == {"target weights", "draft weights"}


def test_without_a_draft_model_only_the_target_counts() -> None:
    found = plan(speculation=Speculation("ngram", 3, "ngram"), draft=None)
    assert "draft weights" not in sizes(found)
    assert found.kv_bytes_per_token == PER_TOKEN


@pytest.mark.parametrize("parallel", [2, 4])
def test_tensor_parallelism_divides(parallel: int) -> None:
    found = plan(replace(EASY, tensor_parallel=parallel))
    assert sizes(found)["target weights"] == 10 * GIB // parallel
    assert sizes(found)["draft weights"] == GIB // parallel
    assert found.kv_bytes_per_token == (PER_TOKEN + PER_TOKEN // 4) // parallel


def test_a_draft_may_be_whole_on_every_gpu() -> None:
    alone = replace(SPECULATING, options={"draft_tensor_parallel_size": 1})
    found = plan(replace(EASY, tensor_parallel=2), alone)
    assert sizes(found)["draft weights"] == GIB
    assert found.kv_bytes_per_token == PER_TOKEN // 2 + PER_TOKEN // 4


def test_pipeline_parallelism_is_an_estimate() -> None:
    found = plan(replace(EASY, pipeline_parallel=2))
    assert sizes(found)["target weights"] == 5 * GIB
    assert all(part.source is Source.ESTIMATE for part in found.parts if part.name == "target weights")


def test_mtp_layers_draft_from_the_targets_own_files() -> None:
    target = replace(TARGET, weights=Weights({"BF16": 10 * GIB}, drafter=2 * GIB))
    found = plan(speculation=Speculation("mtp", 2, "mtp"), draft=None, target=target)
    assert sizes(found)["draft weights"] == 2 * GIB
    assert found.kv_bytes_per_token == PER_TOKEN * 17 // 16
    assert "draft weights" not in sizes(plan(speculation=None, draft=None, target=target))
    assert "draft weights" not in sizes(plan(speculation=Speculation("ngram", 2, "ngram"), draft=None, target=target))


def test_a_target_named_as_its_own_mtp_draft_is_not_loaded_twice() -> None:
    whole = replace(TARGET, weights=Weights({"BF16": 10 * GIB}, drafter=2 * GIB))
    named = plan(speculation=Speculation("mtp", 2, "mtp", "/target"), draft=whole, target=whole)
    unnamed = plan(speculation=Speculation("mtp", 2, "mtp"), draft=None, target=whole)
    assert sizes(named)["draft weights"] == 2 * GIB
    assert named.kv_bytes_per_token == unnamed.kv_bytes_per_token
    alone = plan(speculation=Speculation("mtp", 2, "mtp", "/mtp"))  # a checkpoint of these layers alone
    assert sizes(alone)["draft weights"] == GIB


def test_gpus_that_share_out_the_tokens_need_less_each() -> None:
    large = replace(EASY, max_model_len=10**6)
    assert plan(large).certain
    found = plan(replace(large, context_parallel=4))
    assert found.kv_bytes_per_token == pytest.approx(plan(large).kv_bytes_per_token / 4, abs=2)
    assert not found.certain and any("divided evenly among 4 GPUs" in doubt for doubt in found.doubts)


@pytest.mark.parametrize(("method", "source"), [("eagle3", Source.ESTIMATE), ("draft_model", Source.FILES)])
def test_a_head_may_share_matrices(method: str, source: Source) -> None:
    found = plan(speculation=replace(SPECULATING, method=method))
    assert next(part.source for part in found.parts if part.name == "draft weights") is source


def test_a_draft_may_have_its_own_cache_type() -> None:
    found = plan(speculation=replace(SPECULATING, options={"kv_cache_dtype": "fp8"}))
    assert found.kv_bytes_per_token == PER_TOKEN + PER_TOKEN // 8


def test_eager_engines_capture_nothing() -> None:
    assert "CUDA graphs" in sizes(plan())
    assert "CUDA graphs" not in sizes(plan(replace(EASY, eager=True)))


def test_a_cpu_engine_has_a_process_instead() -> None:
    assert set(sizes(plan(replace(EASY, eager=True), device=CPU))) == {
        "target weights",
        "draft weights",
        "activations",
        "process",
    }


@pytest.mark.parametrize(("device", "block"), [(GPU, 16), (CPU, 128)])
def test_a_cache_that_was_given_is_what_it_is(device: Device, block: int) -> None:
    found = plan(replace(EASY, kv_bytes=GIB, utilization=0.05), device=device)
    assert (found.kv_bytes, found.kv_source, found.limit) == (GIB, Source.GIVEN, 40 * GIB)
    assert found.kv_tokens == GIB // found.kv_bytes_per_token // block * block
    assert found.verdict is Verdict.FITS


@pytest.mark.parametrize(
    ("changed", "weights", "certain", "words"),
    [
        ({"utilization": 0.2}, {}, True, "the weights take 11.00 GiB of 8.00 GiB"),
        ({"utilization": 0.2}, {"doubt": "packed"}, False, "the weights take"),
        ({"utilization": 0.277}, {}, False, "weights, activations and the rest take"),
        ({"utilization": 0.3, "max_model_len": 10**6}, {}, True, "one request of max_model_len 1000000 needs"),
        ({"utilization": 0.3, "max_model_len": 10**6, "context_given": False}, {}, False, "one request"),
        ({"kv_bytes": 2**20}, {}, True, "one request of max_model_len 4096"),
        ({"kv_bytes": 35 * GIB}, {}, True, "with a KV cache of 35.00 GiB take"),
        ({"kv_bytes": 29 * GIB}, {}, False, "with a KV cache of 29.00 GiB take"),
    ],
)
def test_what_does_not_fit(changed: dict[str, Any], weights: dict[str, Any], certain: bool, words: str) -> None:
    target = replace(TARGET, weights=Weights({"BF16": 10 * GIB}, **weights))
    found = plan(replace(EASY, **changed), target=target)
    assert (found.verdict, found.certain) == (Verdict.DOES_NOT_FIT, certain)
    assert words in found.reasons[0]


@pytest.mark.parametrize("shared", [{"offloaded": 5 * GIB}, {"offloads_layers": True}, {"shared_experts": True}])
def test_weights_that_may_be_elsewhere_are_never_certain(shared: dict[str, Any]) -> None:
    assert not plan(replace(EASY, utilization=0.1, **shared)).certain


def test_estimates_without_room_are_tight() -> None:
    found = plan(replace(EASY, utilization=0.287))
    assert found.verdict is Verdict.TIGHT
    assert "of the plan are estimates" in found.reasons[0]
    assert plan(replace(EASY, utilization=0.35)).verdict is Verdict.FITS


@pytest.mark.parametrize(("tokens", "verdict"), [(None, Verdict.FITS), (100, Verdict.FITS), (4000, Verdict.TIGHT)])
def test_a_load_that_the_cache_cannot_hold_is_tight(tokens: int | None, verdict: Verdict) -> None:
    found = plan(replace(EASY, kv_bytes=GIB), load=Load(16, tokens))
    assert found.verdict is verdict
    assert bool(found.reasons) == (verdict is Verdict.TIGHT)


def test_verification_may_need_more_than_a_forward_pass_keeps_free() -> None:
    wide = replace(TARGET, config={**CONFIG, "vocab_size": 256_000})
    settings = replace(EASY, utilization=0.985, max_num_seqs=512, eager=True, k=7)
    found = plan(settings, target=wide)
    assert found.verdict is Verdict.TIGHT
    assert "verification needs" in found.reasons[0]
    assert found.verification.size == 2048 * 256_000 * 6  # a step has no more tokens than a batch
    assert plan(settings, target=wide, load=Load(sequences=8)).verdict is Verdict.FITS


def test_nothing_is_verified_without_speculation() -> None:
    wide = replace(TARGET, config={**CONFIG, "vocab_size": 256_000})
    settings = replace(EASY, utilization=0.99, max_num_seqs=2048, eager=True)
    assert plan(replace(settings, k=1), device=CPU, target=wide).verdict is Verdict.TIGHT
    assert plan(replace(settings, k=0), None, None, CPU, target=wide).verdict is Verdict.FITS


def test_offloaded_weights_are_not_on_the_gpu() -> None:
    found = sizes(plan(replace(EASY, offloaded=4 * GIB)))
    assert (found["target weights"], found["draft weights"]) == (6 * GIB, GIB)


def test_a_draft_checkpoint_is_loaded_whole() -> None:
    draft = replace(DRAFT, weights=Weights({"BF16": GIB}, drafter=GIB))  # layers named as a target's MTP layers are
    assert sizes(plan(draft=draft))["draft weights"] == 2 * GIB


def test_the_largest_values_fit_and_the_next_do_not() -> None:
    wide = replace(TARGET, config={**CONFIG, "vocab_size": 256_000, "max_position_embeddings": 10**6})
    settings = replace(EASY, utilization=0.985, max_num_seqs=128, eager=True, k=7, trained_context=10**6)
    found = plan(settings, target=wide)
    largest = found.largest
    assert largest.k and largest.max_num_seqs and largest.max_model_len is None  # too much is verified at any length
    assert 1 <= largest.k < MOST_K
    k, sequences = largest.k, largest.max_num_seqs
    for fits in (replace(settings, k=k), replace(settings, max_num_seqs=sequences)):
        assert plan(fits, target=wide).verdict is Verdict.FITS
    for one_more in (replace(settings, k=k + 1), replace(settings, max_num_seqs=sequences + 1)):
        assert plan(one_more, target=wide).verdict is not Verdict.FITS


def test_the_longest_context() -> None:
    settings = replace(EASY, utilization=0.4, max_model_len=4096, trained_context=10**6)
    longest = plan(settings).largest.max_model_len
    assert longest is not None and 4096 < longest < 10**6
    assert plan(replace(settings, max_model_len=longest)).verdict is Verdict.FITS
    assert plan(replace(settings, max_model_len=longest + 1)).verdict is not Verdict.FITS


def test_graphs_of_a_recorded_engine_are_counted() -> None:
    # vLLM 0.26: 33 sizes in pieces and 17 whole ones for 32 sequences at K = 3; 11 and 7 without speculation.
    one_layer = replace(shape(CONFIG), layers=1, widest=0, hidden=0)
    assert round(graph_bytes(one_layer, None, 32, 3) / (0.14 * MIB)) == 33 + 17
    assert round(graph_bytes(one_layer, None, 32, 0) / (0.14 * MIB)) == 11 + 7
    assert graph_bytes(one_layer, None, 32, 3, schedule=True) > graph_bytes(one_layer, None, 32, 3)


def test_verification_is_sequences_by_positions_by_vocabulary() -> None:
    assert verification_bytes(shape(CONFIG), 4, 3, 2048) == 4 * (3 + 1) * 49152 * (2 + 4)


def test_experts_that_a_token_uses_count() -> None:
    moe = {**CONFIG, "num_experts_per_tok": 8, "moe_intermediate_size": 512}
    assert shape(moe).widest == 8 * (3 * 512 + 1024)
    assert shape(moe, 2).widest == (8 * (3 * 512 + 2 * 1024)) // 2


@given(
    share=st.floats(0.05, 1.0),
    sequences=st.integers(1, 2048),
    k=st.integers(0, 16),
    context=st.integers(1, 200_000),
    parallel=st.sampled_from([1, 2, 4]),
)
def test_more_memory_never_hurts(share: float, sequences: int, k: int, context: int, parallel: int) -> None:
    settings = Settings(share, context, sequences, 2048, k=k, tensor_parallel=parallel)
    small, large = (plan(settings, device=replace(GPU, total=size * GIB)) for size in (24, 80))
    assert large.kv_bytes >= small.kv_bytes
    assert list(Verdict).index(large.verdict) <= list(Verdict).index(small.verdict)
    assert small.kv_tokens * small.kv_bytes_per_token <= max(small.kv_bytes, 0)
    if small.certain:
        assert small.verdict is Verdict.DOES_NOT_FIT
