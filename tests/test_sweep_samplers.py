"""Whole sweeps from the command line against the simulated engine, by the guided search and by Optuna's GP."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tuner.cli import main
from tuner.records import Role, Trial
from tuner.store import read_run

SPACE = """
target: simulated
drafts:
  - {{name: good, method: draft_model, model: good, k: {ks}}}
  - {{name: weak, method: draft_model, model: weak, k: [1, 2]}}
load_points: [{{eval_set: prompts.jsonl, temperature: 0, concurrency: 1, max_tokens: 32}}]
protocol: {{repeats: 2, lives: {lives}, warmup_requests: 1, reduced: A test.}}
"""
ENGINE = """
targets: [{match: '*', step_s: 0.004, token_s: 0.00002}]
drafts:
  - {match: '*weak*', step_s: 0.003, acceptance: [0.1]}
  - {match: '*', step_s: 0.0006, acceptance: [0.75]}
"""


@pytest.fixture(autouse=True)
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    lines = (json.dumps({"id": f"p{i}", "category": "c", "prompt": "word " * (i + 1)}) for i in range(6))
    Path("prompts.jsonl").write_text("\n".join(lines))
    Path("sim.yaml").write_text(ENGINE)
    return tmp_path


def swept(
    sampler: str | None, ks: list[int], lives: int, capsys: pytest.CaptureFixture[str]
) -> tuple[dict[str, Any], tuple[Trial, ...]]:
    """Return the closing line and the trials of a sweep.  sampler: None for the default."""
    Path("space.yaml").write_text(SPACE.format(ks=ks, lives=lives))
    chosen = [] if sampler is None else ["--sampler", sampler]
    with pytest.raises(SystemExit) as ended:
        main(["sweep", "--space", "space.yaml", "--engine", "sim:sim.yaml", "--out", "run", "--json", *chosen])
    assert ended.value.code == 0
    closing: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return closing, tuple(read_run(Path("run"))[1])


def labels(trials: tuple[Trial, ...], role: Role) -> list[str]:
    return [trial.record.candidate.label for trial in trials if trial.record.role is role]


def test_a_guided_sweep_finds_a_good_k_leaves_others_out_and_measures_its_finalists_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    closing, trials = swept(None, list(range(1, 9)), 3, capsys)
    measured = labels(trials, Role.CANDIDATE)
    assert measured[0] == "good K=8"
    assert len(measured) == len(set(measured)) <= 6
    assert labels(trials, Role.BASELINE) == labels(trials, Role.BASELINE_AGAIN) == ["no speculation"]
    fresh = labels(trials, Role.FINAL)
    assert fresh.count("no speculation") == 3
    assert closing["verdict"] == "speculate"
    assert closing["best"]["draft"] == "good"
    assert fresh.count(f"good K={closing['best']['num_speculative_tokens']}") == 3
    assert closing["engine_starts"] == len(trials)
    assert any(line.startswith("good: K = ") and "not measured: predicted" in line for line in closing["not_measured"])


def test_a_gp_sweep_measures_every_candidate_once_and_answers(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    closing, trials = swept("gp", [1, 2, 3, 5], 1, capsys)
    measured = labels(trials, Role.CANDIDATE)
    assert sorted(measured) == ["good K=1", "good K=2", "good K=3", "good K=5", "weak K=1", "weak K=2"]
    assert (closing["verdict"], closing["not_measured"]) == ("speculate", [])
    assert closing["best"]["draft"] == "good"
