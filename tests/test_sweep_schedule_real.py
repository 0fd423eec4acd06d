"""A K schedule on a real engine: it drafts what the schedule says at each concurrency, by its own counters."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tuner.analysis.k_schedule import with_schedule
from tuner.analysis.life import load_view
from tuner.analysis.schedule_obeyed import drafted
from tuner.prepare import SweepRequest, prepare
from tuner.records import Role, WorkerFacts
from tuner.trial import TrialSpec, run_trial

SPACE = """
target: demo:target
engine_args: {max_model_len: 512, max_num_seqs: 4, enforce_eager: true, gpu_memory_utilization: 0.3}
env: {VLLM_CPU_KVCACHE_SPACE: "1", VLLM_CPU_NUM_OF_RESERVED_CPU: "0"}
drafts: [{name: good, method: draft_model, model: "demo:good", k: [3]}]
load_points:
  - {eval_set: demo, temperature: 0, concurrency: [1, 4], max_tokens: 24, num_prompts: 8}
protocol: {repeats: 1, lives: 1, warmup_requests: 1, losslessness: false}
"""


@pytest.mark.real
def test_an_engine_drafts_as_its_schedule_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """K = 3 up to a batch of two, none above: at concurrency 4 only the end of the pass has drafts."""
    monkeypatch.chdir(tmp_path)
    subprocess.run([sys.executable, "-m", "tuner", "models", "demo"], check=True, capture_output=True)
    Path("space.yaml").write_text(SPACE)
    prepared = prepare(SweepRequest(space="space.yaml"))
    static = next(candidate for candidate in prepared.candidates if candidate.speculation)
    assert static.speculation is not None
    scheduled = with_schedule(static, static.speculation, ((1, 2, 3), (3, 4, 0)))
    spec = TrialSpec(
        number=0,
        role=Role.SCHEDULE,
        candidate=scheduled,
        engine=prepared.engine,
        target=prepared.target,
        load_points=prepared.space.load_points,
        eval_sets=prepared.eval_sets,
        protocol=prepared.space.protocol,
        log_dir=str(tmp_path),
        env=prepared.space.env,
        round=0,
    )
    trial = run_trial(spec, WorkerFacts("here/cpu", "CPU", "here"), lambda phase: None)
    assert trial.record.failure is None, trial.record.failure
    views = [load_view(trial, load.key) for load in prepared.space.load_points]
    alone, busy = (drafted(scheduled, [view]) if view else None for view in views)
    assert alone is not None and busy is not None
    assert (alone.measured, alone.obeyed, busy.obeyed) == (3.0, True, True)
    assert busy.high < 1.0
