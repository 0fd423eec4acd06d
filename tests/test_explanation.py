"""A sweep that also explains: drafts served alone and a second baseline, against a simulated engine of known costs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.test_sweep import Killed, View
from tuner.cli.diagnosis import diagnosis
from tuner.prepare import Prepared, SweepRequest, prepare
from tuner.records import Role
from tuner.report import write_report
from tuner.sweep import SweepOptions, SweepResult, run_sweep

SPACE = """
target: simulated
drafts:
  - {name: good, method: draft_model, model: good, k: [3]}
  - {name: ngram, method: ngram, options: {prompt_lookup_min: 2, prompt_lookup_max: 4}, k: [2]}
load_points: [{eval_set: prompts.jsonl, temperature: 0, concurrency: 1, max_tokens: 24}]
protocol: {repeats: 2, lives: 1, warmup_requests: 1, baseline_again: false, losslessness: false}
"""
# A plain step takes 12 ms; speculation brings 6 ms with it; the draft alone takes 2 ms.
SIM = """
targets: [{match: 'good', step_s: 0.002}, {match: '*', step_s: 0.012, speculative_overhead_s: 0.006}]
drafts: [{match: 'ngram', acceptance: [0.6]}, {match: '*', step_s: 0.001, acceptance: [0.8]}]
"""
PROMPTS = "".join(f'{{"id": "p{i}", "category": "c", "prompt": "{"word " * (i + 1)}"}}\n' for i in range(5))


@pytest.fixture(autouse=True)
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prompts.jsonl").write_text(PROMPTS)
    (tmp_path / "space.yaml").write_text(SPACE)
    (tmp_path / "sim.yaml").write_text(SIM)
    return tmp_path


def prepared(same_runner: bool = True, drafts_alone: bool = True) -> Prepared:
    request = SweepRequest(
        space="space.yaml", engine="sim:sim.yaml", same_runner=same_runner, drafts_alone=drafts_alone
    )
    return prepare(request)


def sweep(inputs: Prepared, view: View) -> SweepResult:
    return run_sweep(inputs, SweepOptions(Path("run"), pool="local", sampler="grid"), view)


def test_extras_are_measured_after_all_else_resume_and_explain(workshop: Path) -> None:
    plain = View()
    answered = sweep(prepared(same_runner=False, drafts_alone=False), plain)
    assert [record.role for record in plain.done] == [Role.BASELINE, Role.CANDIDATE, Role.CANDIDATE]
    assert "## Draft and target apart" not in (workshop / "run/report.md").read_text()
    assert answered.report.explanation.second == ()

    with pytest.raises(Killed):
        sweep(prepared(), View(kill_after=1))
    view = View()
    result = sweep(prepared(), view)
    assert [record.role for record in view.done] == [Role.SAME_RUNNER]
    assert view.states[-1].planned == view.states[-1].done == 1
    again = View()
    sweep(prepared(), again)
    assert again.done == []

    findings, explained = result.report.findings, result.report.explanation
    assert findings.answers[0].best == answered.report.findings.answers[0].best
    assert [trial.number for trial in findings.trials] == [0, 1, 2]
    (row,) = explained.apart.drafts
    assert row.draft == "good"
    assert 3.0 < (row.ratio.value or 0) < 9.0  # 6 by the profile; the times are real ones, on a shared machine
    (verified,) = explained.apart.verification
    assert (verified.growth.value or 0) > 1.2  # 1.5 by the profile
    (second,) = explained.second
    assert second.changes == ("synchronous scheduling",) and second.how == "--no-async-scheduling"
    assert [split.candidate.label for split in second.splits] == ["good K=3", "ngram K=2"]
    for split in second.splits:
        assert (split.settings.value or 1) < 0.9  # 12 / 18 by the profile
        assert split.speedup.value == pytest.approx((split.settings.value or 0) * (split.speculation.value or 0))

    report = (workshop / "run/report.md").read_text()
    assert "## Draft and target apart" in report and "## What speculation drags along" in report
    assert write_report(workshop / "run").explanation == explained
    told = json.loads(json.dumps(diagnosis(result.report)))
    assert told["draft_and_target"][0]["target_over_draft"]["value"] == row.ratio.value
    assert told["dragged_along"][0]["reproduced_by"] == "--no-async-scheduling"
    causes = {cause.code: cause for cause in result.report.findings.diagnoses}
    assert "these settings alone are 0." in causes["settings_changed"].evidence[0]  # measured, so with its cost
    assert "## Why" in report and causes["settings_changed"].what in report
