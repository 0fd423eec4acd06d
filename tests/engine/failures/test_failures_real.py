"""Real engines that cannot start: the cause and the change that their trials' records get."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.engine.test_process_real import CONFIG, TOKENIZER, TOKENIZER_CONFIG
from tuner.engine.resolve import resolve_engine
from tuner.records import Candidate, EvalSet, Failure, Json, LoadPoint, Prompt, Protocol, Role, Speculation, WorkerFacts
from tuner.trial import TrialSpec, run_trial

pytestmark = pytest.mark.real

WORKER = WorkerFacts(device_key="here", device="cpu", node="here")
ARGS: dict[str, Json] = {"max_model_len": 512, "max_num_seqs": 4, "enforce_eager": True, "load_format": "dummy"}


@pytest.fixture
def spec(tmp_path: Path) -> TrialSpec:
    model = tmp_path / "tiny"
    model.mkdir()
    files = {"config.json": CONFIG, "tokenizer.json": TOKENIZER, "tokenizer_config.json": TOKENIZER_CONFIG}
    for name, content in files.items():
        (model / name).write_text(json.dumps(content))
    return TrialSpec(
        number=0,
        role=Role.BASELINE,
        candidate=Candidate(ARGS),
        engine=resolve_engine(None),
        target=str(model),
        load_points=(LoadPoint("words", max_tokens=4),),
        eval_sets={"words": EvalSet("words", (Prompt("p", "c", prompt="word5 word6"),), "")},
        protocol=Protocol(start_timeout_s=300.0),
        log_dir=str(tmp_path / "trial"),
        env={},
    )


def failure_of(spec: TrialSpec, share: float, speculation: Speculation | None = None) -> Failure:
    candidate = Candidate({**ARGS, "gpu_memory_utilization": share}, speculation)
    record = run_trial(replace(spec, candidate=candidate), WORKER, report=lambda phase: None).record
    assert record.failure is not None
    return record.failure


def test_a_share_that_is_not_free_is_to_be_lowered(spec: TrialSpec) -> None:
    failure = failure_of(spec, 1.0)
    assert failure.code == "memory_share_not_free", failure
    new = failure.change["gpu_memory_utilization"]
    assert isinstance(new, float) and 0 < new < 1


def test_a_share_that_leaves_no_cache_is_to_be_raised(spec: TrialSpec) -> None:
    failure = failure_of(spec, 0.001)
    assert failure.code == "no_memory_for_kv_cache", failure
    new = failure.change["gpu_memory_utilization"]
    assert isinstance(new, float) and new > 0.001


def test_suffix_without_its_package_names_it(spec: TrialSpec) -> None:
    failure = failure_of(spec, 0.3, Speculation("suffix", 4, "suffix"))
    assert failure.code == "missing_package", failure
    assert "pip install arctic-inference" in failure.advice and failure.change == {}
