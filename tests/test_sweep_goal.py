"""Whole sweeps against the simulated engine for another goal than the best TPOT."""

from __future__ import annotations

from pathlib import Path

import optuna
import pytest
import yaml

from tests.test_sweep import PROMPTS, View
from tuner.prepare import Prepared, SweepRequest, prepare
from tuner.records import BarKind, Metric, Verdict
from tuner.sweep import SweepOptions, run_sweep

SPACE = """
target: simulated
engine_args: {max_model_len: 2048}
drafts: [{name: good, method: draft_model, model: good, k: [1, 8]}]
load_points: [{eval_set: prompts.jsonl, temperature: 0, concurrency: 4, max_tokens: 19}]
protocol: {repeats: 3, lives: 1, warmup_requests: 1}
"""
# A step takes 80 ms without speculation, 120 ms with K = 1 and 400 ms with K = 8, which gives up to nine tokens. A
# request that arrives waits for the step that runs.
ENGINE = """
targets: [{match: '*', step_s: 0.08}]
drafts: [{match: '*', step_s: 0.04, acceptance: [0.995]}]
prefill: {base_s: 0.005}
"""


def inputs(objective: str = "") -> Prepared:
    Path("prompts.jsonl").write_text(PROMPTS)
    Path("space.yaml").write_text(SPACE + objective)
    Path("sim.yaml").write_text(ENGINE)
    return prepare(SweepRequest(space="space.yaml", engine="sim:sim.yaml"))


def test_throughput_under_a_limit_on_ttft_is_another_answer_than_tpot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options, view = SweepOptions(Path("run"), pool="local"), View()
    result = run_sweep(inputs("objective: {metric: throughput, limits: {p95_ttft_s: 0.3}}"), options, view)
    assert any("knows TPOT alone" in message for message in view.messages)
    found = result.report.findings
    (answer,) = found.answers
    assert (answer.verdict, answer.best.k) == (Verdict.SPECULATE, 1)
    assert "(throughput, 95 %" in answer.why
    assert [(barred.candidate.k, barred.bar.kind) for barred in found.barred] == [(8, BarKind.OVER_LIMIT)]
    assert answer.curves[0].metric is Metric.THROUGHPUT

    page = Path("run/report.md").read_text()
    assert "## What decided: throughput" in page
    assert "| good K=8 | prompts.jsonl, concurrency 4, T=0, up to 19 tokens | 1 | TTFT 0." in page
    storage = f"sqlite:///{tmp_path}/run/study.db"
    (name,) = (name for name in optuna.get_all_study_names(storage) if name.endswith("-throughput"))
    told = {t.params["k"]: t for t in optuna.load_study(study_name=name, storage=storage).trials}
    assert {k: all(value <= 0 for value in trial.constraints.values()) for k, trial in told.items()} == {
        0: True,
        1: True,
        8: False,
    }
    assert told[1].values[0] < told[0].values[0]

    artifact = yaml.safe_load(Path("run/best_config.yaml").read_text())
    assert artifact["objective"] == {"metric": "throughput", "limits": {"p95_ttft_s": 0.3}}
    assert artifact["answers"][0]["measured"]["expected_speedup"]["n_of"] == "repeats"
    assert artifact["answers"][0]["measured"]["load_points"][0]["figures"]["speedup_tpot"]["value"] > 1

    again = View()
    (by_tpot,) = run_sweep(inputs(), options, again).report.findings.answers
    assert again.done == []  # what was measured is judged by the new goal
    assert (by_tpot.verdict, by_tpot.best.k) == (Verdict.SPECULATE, 8)
