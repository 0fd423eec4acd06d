"""What engines say about their memory, in the words of several releases, runners and builds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.engine.memory_log import engine_memory
from tuner.engine.process import Launch, launched_facts
from tuner.records import EngineMemory, Trial
from tuner.store.codec import StoredRecord, decode_record, encode_record

HERE = Path(__file__).parent
GIB = 2**30
REAL = {
    "memory/logs/h200-14b-base.log": EngineMemory(
        weights_bytes=round(26.58 * GIB), kv_bytes=4 * GIB, kv_requests=17.06, graph_bytes=round(0.19 * GIB)
    ),
    "memory/logs/h200-14b-n03-k3.log": EngineMemory(
        weights_bytes=round(26.84 * GIB), kv_bytes=4 * GIB, kv_requests=14.37, graph_bytes=round(0.47 * GIB)
    ),
    "memory/logs/cpu-auto.log": EngineMemory(
        weights_bytes=round(1.88 * GIB) + round(0.25 * GIB),
        kv_bytes=round(2.42 * GIB),
        kv_requests=55.0,
        other_bytes=round(3.16 * GIB),
    ),
    "memory/logs/rtx4090-qwen3-8b.log": EngineMemory(
        kv_bytes=round(6.37 * GIB), kv_requests=2.83, graph_bytes=round(0.52 * GIB)
    ),
    "engine/logs/cuda-draft-model.log": EngineMemory(
        weights_bytes=round(26.84 * GIB), kv_bytes=4 * GIB, kv_requests=14.37
    ),
    "engine/logs/cpu-ngram.log": EngineMemory(kv_bytes=GIB, kv_requests=1365.25),
    "engine/logs/missing-package.log": None,
    "engine/logs/cpu-unknown-key.log": None,
}


@pytest.mark.parametrize(("path", "said"), REAL.items(), ids=[path.rpartition("/")[2] for path in REAL])
def test_real_logs(path: str, said: EngineMemory | None) -> None:
    assert engine_memory((HERE.parent / path).read_text(encoding="utf-8")) == said


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("Model loading took 26.84 GiB memory and 5.791837 seconds", EngineMemory(weights_bytes=round(26.84 * GIB))),
        ("Model loading took 14.2474 GiB and 558.868858 seconds", EngineMemory(weights_bytes=round(14.2474 * GIB))),
        ("Loading model weights took 13.9476 GB", EngineMemory(weights_bytes=round(13.9476 * GIB))),
        ("Available KV cache memory: 6.9 GiB", EngineMemory(kv_bytes=round(6.9 * GIB))),
        ("Available KV cache memory: -1.25 GiB", EngineMemory(kv_bytes=round(-1.25 * GIB))),
        ("Explicitly set (1.0/17.21) GiB for KV cache on node 0.", EngineMemory(kv_bytes=GIB)),
        ("Maximum concurrency for 1,048,576 tokens per request: 1.74x", EngineMemory(kv_requests=1.74)),
        ("Estimated CUDA graph memory: 1.62 GiB total", EngineMemory(graph_bytes=round(1.62 * GIB))),
        ("Model loading took a while", None),
        ("GPU KV cache usage: 3.3%, Prefix cache hit rate: 0.0%", None),
        ("Model loading took . GiB", None),
    ],
)
def test_one_line(line: str, said: EngineMemory | None) -> None:
    assert engine_memory(f"(Worker pid=1) INFO 01-01 00:00:00 [x.py:1] \x1b[32m{line}\x1b[0m\n") == said


def test_of_several_workers_the_one_with_least_room_counts() -> None:
    log = "".join(
        f"(Worker_TP{rank} pid={rank}) Model loading took {14 + rank} GiB\n"
        f"(Worker_TP{rank} pid={rank}) Available KV cache memory: {8 - rank} GiB\n"
        for rank in range(2)
    )
    assert engine_memory(log) == EngineMemory(weights_bytes=15 * GIB, kv_bytes=7 * GIB)


def test_checkpoints_of_one_process_add_up_and_those_of_workers_do_not() -> None:
    files = "".join(
        f"(Worker pid={pid}) INFO x. Checkpoint size: {size} GiB. Available RAM: 9 GiB.\n"
        for pid in (1, 2)
        for size in ("2.00", "0.50")
    )
    assert engine_memory(files) == EngineMemory(weights_bytes=round(2.5 * GIB))


@given(st.text())
def test_any_text_is_survived(text: str) -> None:
    engine_memory(text)
    engine_memory(f"Available KV cache memory: {text} GiB Model loading took {text} GiB Checkpoint size: {text} GiB")


def test_a_record_keeps_what_the_engine_said(tmp_path: Path, make_trial: Callable[..., Trial]) -> None:
    log = tmp_path / "engine.log"
    log.write_text((HERE.parent / "memory/logs/cpu-auto.log").read_text(encoding="utf-8"), encoding="utf-8")
    launch = Launch((), {}, log, 1, "name", "key", 1.0, 1.0, "0.32.0")
    facts = launched_facts(launch)
    assert facts.memory is not None and facts.memory.kv_requests == 55.0
    assert facts.kv_cache_tokens == 56320
    record = make_trial(k=3, memory=facts.memory).record
    read = decode_record(encode_record(StoredRecord(record, "run", "0"))).record
    assert read.engine is not None and read.engine.memory == facts.memory


def test_a_record_without_it_still_loads() -> None:
    paths = list((HERE.parent / "data").glob("h200-14b-grid/trials/*/record.json"))
    assert paths
    for path in paths:
        engine = decode_record(path.read_bytes()).record.engine
        assert engine is not None and engine.memory is None
