"""K schedules end to end against the simulated engine: derived, measured as deployed, exported only where they pay."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.recording_view import RecordingView
from tuner.cli.closing import closing_table, summary
from tuner.prepare import SweepRequest, prepare
from tuner.records import Role
from tuner.report import write_report
from tuner.sweep import SweepOptions, SweepResult, run_sweep

SPACE = """
target: simulated
drafts:
  - {name: good, method: draft_model, model: good, k: [1, 3]}
load_points:
  - {eval_set: prompts.jsonl, temperature: 0, concurrency: [1, 8], max_tokens: 40}
protocol: {repeats: 2, lives: 1, warmup_requests: 1, losslessness: false, resolve: 0.1}
search: {sampler: grid}
"""
PROFILE = """
targets: [{{match: '*', step_s: 0.02, bend_tokens: 16, bent_token_s: 0.004, schedule_overhead_s: {overhead_s}}}]
drafts: [{{match: '*', step_s: 0.001, acceptance: [0.8]}}]
"""
"""K = 3 is best alone, K = 1 with eight requests: 32 tokens a step are past the bend, 16 are not."""
SCHEDULE = [[1, 2, 3], [3, 8, 1]]


@pytest.fixture
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    # Two long answers go on in small batches, where the schedule is faster at concurrency 8 too: a margin for a busy
    # machine, on which its equal would now and then be slower by more than is tolerated.
    prompts = [
        {"id": f"p{i}", "category": "c", "prompt": "word " * (i + 1), "max_tokens": 8 if i < 14 else 40}
        for i in range(16)
    ]
    Path("prompts.jsonl").write_text("".join(f"{json.dumps(prompt)}\n" for prompt in prompts))
    return tmp_path


def sweep(view: RecordingView, *, overhead_s: float = 0.0) -> SweepResult:
    Path("space.yaml").write_text(SPACE)
    Path("sim.yaml").write_text(PROFILE.format(overhead_s=overhead_s))
    request = SweepRequest(space="space.yaml", engine="sim:sim.yaml")
    return run_sweep(prepare(request), SweepOptions(Path("run"), pool="local"), view)


def schedule_lives(view: RecordingView) -> list[str]:
    return [record.candidate.label for record in view.done if record.role is Role.SCHEDULE]


def test_a_schedule_that_pays_as_deployed_is_exported(workshop: Path) -> None:
    view = RecordingView()
    result = sweep(view)
    findings = result.report.findings
    assert findings.answers[0].best.label == "good K=1"
    assert sorted(schedule_lives(view)) == ["good K=1", "good K=3 (K schedule)", "no speculation"]
    (found,) = findings.schedules
    assert found.candidate is not None and found.candidate.speculation is not None
    assert found.candidate.speculation.options == {"num_speculative_tokens_per_batch_size": SCHEDULE}
    assert found.exportable, found.why
    assert [(point.k, point.obeyed) for point in found.points] == [(3, True), (1, True)]
    assert found.points[0].effective.value == 3.0
    run = workshop / "run"
    served = yaml.safe_load((run / "serve.yaml").read_text())["speculative-config"]
    assert yaml.safe_load(served)["num_speculative_tokens_per_batch_size"] == SCHEDULE
    assert yaml.safe_load(served)["num_speculative_tokens"] == 3
    assert "per_batch_size" not in (run / "serve.static.yaml").read_text()
    answer = yaml.safe_load((run / "best_config.yaml").read_text())["answers"][0]
    assert (answer["measured"]["schedule"]["exportable"], answer["measured"]["schedule"]["ranges"]) == (True, SCHEDULE)
    assert answer["recommended"]["static_serve_config"] == "serve.static.yaml"
    assert "## K schedule" in (run / "report.md").read_text()
    assert f"K schedule: {found.why}" in " ".join(closing_table(result.report, width=2000).split("\n"))
    told = summary(result)["answers"]
    assert isinstance(told, list) and isinstance(told[0], dict)
    assert told[0]["schedule"] == {"exportable": True, "why": found.why}
    again = RecordingView()
    assert sweep(again).report.findings.schedules == findings.schedules
    assert again.done == []
    assert write_report(run).findings.schedules == findings.schedules


def test_a_schedule_that_costs_more_than_it_gives_is_told_of_and_not_exported(workshop: Path) -> None:
    view = RecordingView()
    findings = sweep(view, overhead_s=0.02).report.findings
    assert sorted(schedule_lives(view)) == ["good K=1", "good K=3 (K schedule)", "no speculation"]
    (found,) = findings.schedules
    assert (found.exportable, found.lives) == (False, 1)
    assert "As deployed it is slower than K = 1" in found.why
    assert all(point.obeyed for point in found.points)
    run = workshop / "run"
    assert "per_batch_size" not in (run / "serve.yaml").read_text()
    assert not (run / "serve.static.yaml").exists()
    answer = yaml.safe_load((run / "best_config.yaml").read_text())["answers"][0]
    assert answer["measured"]["schedule"]["exportable"] is False
    assert len(answer["measured"]["schedule"]["load_points"]) == 2
    assert findings.finished
