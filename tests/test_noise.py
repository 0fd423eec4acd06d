"""An engine against itself in a sweep's run directory, with the simulated engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.recording_view import RecordingView
from tuner.errors import SpaceError
from tuner.noise import noise_arm, run_noise, unnamed_drafts
from tuner.prepare import Prepared, SweepRequest, prepare
from tuner.records import Role
from tuner.store import read_run
from tuner.sweep import SweepOptions, run_sweep

SPACE = """
target: simulated
drafts: [{name: good, method: draft_model, model: good, k: [2]}]
load_points: [{eval_set: prompts.jsonl, temperature: 0, concurrency: 1, max_tokens: 12}]
protocol: {repeats: 2, lives: 1, warmup_requests: 1, losslessness: false}
"""
SIM = """
targets: [{match: '*', step_s: 0.006}]
drafts: [{match: '*', step_s: 0.001, acceptance: [0.8]}]
noise: {speculative_life_sd: 0.4}
"""
PROMPTS = "".join(f'{{"id": "p{i}", "category": "c", "prompt": "{"word " * (i + 1)}"}}\n' for i in range(4))


@pytest.fixture(autouse=True)
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prompts.jsonl").write_text(PROMPTS)
    (tmp_path / "space.yaml").write_text(SPACE)
    (tmp_path / "sim.yaml").write_text(SIM)
    return tmp_path


def prepared() -> Prepared:
    return prepare(SweepRequest(space="space.yaml", engine="sim:sim.yaml", command=("tuner", "sweep")))


def test_noise_and_sweep_use_each_others_lives(workshop: Path) -> None:
    options, inputs = SweepOptions(Path("run"), pool="local"), prepared()
    arm, view = noise_arm(inputs, "good", 2), RecordingView()
    found = run_noise(inputs, arm, 2, options, view)
    assert [record.role for record in view.done] == [
        Role.BASELINE,
        Role.CANDIDATE,
        Role.BASELINE_AGAIN,
        Role.CANDIDATE_AGAIN,
    ]
    assert found.engine_starts == 4
    plain, fast = found.arms
    assert (plain.candidate.k, fast.candidate.k) == (0, 2)
    assert [load.lives for load in (*plain.loads, *fast.loads)] == [2, 2]
    document = json.loads((workshop / "run/noise.json").read_text())
    assert [entry["candidate"] for entry in document["arms"]] == ["no speculation", "good K=2"]
    assert document["arms"][1]["load_points"][0]["life_sd"]["df"] == 1
    assert not (workshop / "run/best_config.yaml").exists()

    swept = RecordingView()
    result = run_sweep(inputs, options, swept)
    assert swept.done == []
    assert [(trial.number, trial.candidate.k) for trial in result.report.findings.trials] == [(0, 0), (1, 2), (2, 0)]
    assert any("resuming: 4 trials" in message for message in swept.messages)

    later = RecordingView()
    guest = prepare(SweepRequest(space="space.yaml", engine="sim:sim.yaml"))
    run_noise(guest, None, 3, options, later)
    assert [record.role for record in later.done] == [Role.BASELINE_AGAIN]
    report = (workshop / "run/report.md").read_text()
    assert "## Noise" in report and "not finished" not in report
    assert read_run(workshop / "run")[0].summary is not None
    assert "tuner sweep" in report  # the sweep's own manifest is kept


def test_a_draft_is_named_as_in_the_space_or_added_as_a_model() -> None:
    assert unnamed_drafts("space.yaml", ("good", "/models/other")) == ("/models/other",)
    arm = noise_arm(prepared(), "good", 7)
    assert (arm.k, arm.draft_name) == (7, "good")
    with pytest.raises(SpaceError, match="no draft 'nobody'"):
        noise_arm(prepared(), "nobody", 1)
