"""The plan against a CPU engine that is started for it: the demo models, at settings that nothing was fitted to."""

from __future__ import annotations

from pathlib import Path

import pytest

from tuner.engine.argv import engine_command
from tuner.engine.process import Launch, free_port, running_engine
from tuner.engine.resolve import resolve_engine
from tuner.models import demo_dir
from tuner.preflight.memory import memory_plans, read_device
from tuner.preflight.memory_plan import Verdict
from tuner.records import Candidate, Speculation

TOLERANCE = 0.10


@pytest.mark.real
def test_a_cpu_engine_takes_what_was_planned(tmp_path: Path) -> None:
    engine = resolve_engine(None)
    candidate = Candidate(
        {"max_model_len": 2048, "max_num_seqs": 16, "gpu_memory_utilization": 0.27, "enforce_eager": True},
        Speculation("draft_model", 2, "weak", "demo:weak"),
    )
    device = read_device("cpu")
    assert device is not None
    (planned,), unplanned = memory_plans(
        [candidate], demo_dir() / "target", {"weak": demo_dir() / "weak"}, device, default_utilization=0.92
    )
    plan = planned.plan
    assert (unplanned, plan.verdict) == ((), Verdict.FITS)
    port = free_port()
    launch = Launch(
        command=engine_command(engine, "demo:target", "planned", port, candidate),
        env={"VLLM_CPU_NUM_OF_RESERVED_CPU": "0"},
        log_path=tmp_path / "engine.log",
        port=port,
        served_name="planned",
        api_key="planned",
        start_timeout_s=400,
        stall_timeout_s=300,
        version=engine.version,
    )
    with running_engine(launch) as running:
        facts = running.facts
    memory = facts.memory
    assert memory is not None and memory.weights_bytes and memory.kv_bytes and facts.kv_cache_tokens
    print(
        f"weights {plan.weights} / {memory.weights_bytes}, KV cache {plan.kv_tokens} / {facts.kv_cache_tokens} tokens"
    )
    assert plan.weights == pytest.approx(memory.weights_bytes, rel=TOLERANCE)
    assert plan.kv_tokens == pytest.approx(facts.kv_cache_tokens, rel=TOLERANCE)
    assert plan.requests == pytest.approx(memory.kv_requests, rel=TOLERANCE)
