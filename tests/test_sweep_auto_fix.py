"""Whole sweeps with --auto-fix against a simulated engine whose memory runs out until an argument is lowered."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from tests.recording_view import RecordingView
from tuner.cli.closing import closing_table, summary
from tuner.cli.diagnose import diagnose
from tuner.cli.options import SessionArguments
from tuner.cli.sweep import sweep as sweep_command
from tuner.errors import NothingMeasured
from tuner.prepare import Prepared, SweepRequest, prepare
from tuner.records import Role
from tuner.store import read_run
from tuner.sweep import SweepOptions, SweepResult, run_sweep

SPACE = """
target: simulated
engine_args: {max_model_len: 2048, gpu_memory_utilization: 0.9}
drafts: [{name: good, method: draft_model, model: good, k: [1, 3]}]
load_points: [{eval_set: prompts.jsonl, temperature: 0, max_tokens: 24}]
search: {sampler: SAMPLER}
protocol: {repeats: 2, lives: 1, warmup_requests: 1}
"""
SHORT = "{kind: memory_until_lowered, draft: good, k_min: 3, argument: max_model_len, at_most: 1024}"
EVERYWHERE = "{kind: memory_until_lowered, argument: gpu_memory_utilization, at_most: 0.7}"


@pytest.fixture(autouse=True)
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prompts.jsonl").write_text(
        "".join(f'{{"id": "p{i}", "category": "c", "prompt": "{"word " * (i + 1)}"}}\n' for i in range(4))
    )
    return tmp_path


def prepared(*faults: str, sampler: str = "grid") -> Prepared:
    Path("space.yaml").write_text(SPACE.replace("SAMPLER", sampler))
    Path("sim.yaml").write_text(
        "targets: [{match: '*', step_s: 0.004}]\ndrafts: [{match: '*', step_s: 0.0004, acceptance: [0.8]}]\n"
        f"faults: [{', '.join(faults)}]\n"
    )
    return prepare(SweepRequest(space="space.yaml", engine="sim:sim.yaml"))


def sweep(inputs: Prepared, view: RecordingView, *, auto_fix: bool = True) -> SweepResult:
    return run_sweep(inputs, SweepOptions(Path("run"), pool="local", max_workers=1, auto_fix=auto_fix), view)


def lives(view: RecordingView) -> list[tuple[Role, int, object, bool]]:
    return [(r.role, r.candidate.k, r.candidate.engine_args.get("max_model_len"), r.ok) for r in view.done]


def test_a_candidate_is_tried_again_beside_a_baseline_with_the_same_arguments(workshop: Path) -> None:
    view = RecordingView()
    result = sweep(prepared(SHORT), view)
    again = [record for record in view.done if record.candidate.engine_args["max_model_len"] == 1024]
    assert [(r.role, r.candidate.k, r.ok) for r in again] == [
        (Role.BASELINE, 0, True),
        (Role.CANDIDATE, 3, True),
        (Role.BASELINE_AGAIN, 0, True),
    ]
    assert all(record.fix and "max_model_len 2048 -> 1024 by auto-fix" in record.fix.note for record in again)
    (broken,) = [record for record in view.done if not record.ok]
    assert broken.failure is not None and broken.failure.code == "kv_cache_below_context"
    assert broken.failure.change == {"max_model_len": 1024}
    assert all(record.fix and record.fix.trial == broken.number for record in again)
    page = (workshop / "run/report.md").read_text()
    assert "max_model_len 2048 -> 1024 by auto-fix after kv cache below context" in page
    assert "The KV cache is smaller than one request of max_model_len 2048" in page
    figures = {trial.number: trial for trial in result.report.findings.trials}
    speedup = figures[again[1].number].loads[0].figures["speedup_tpot"]
    assert speedup.value is not None and speedup.value > 1  # against its own baseline, the only one of its group
    closing = closing_table(result.report, width=200)
    assert "2048 → 1024" in closing and "Lower max_model_len to 1024" in closing
    told = summary(result)
    assert told["auto_fix"] == [
        {"trial": record.number, "candidate": record.label, "note": record.fix.note if record.fix else "", "ok": True}
        for record in again
        if record.role is Role.CANDIDATE
    ]
    assert isinstance(told["failures"], list)
    (failure,) = told["failures"]
    assert isinstance(failure, dict)
    assert (failure["code"], failure["candidate"]) == ("kv_cache_below_context", "good K=3")
    assert str(failure["next_step"]).startswith("Lower max_model_len to 1024")


def test_a_finished_sweep_gets_its_retries_when_they_are_asked_for_later_and_only_once(workshop: Path) -> None:
    view = RecordingView()
    sweep(prepared(SHORT, sampler="guided"), view, auto_fix=False)
    assert [r.ok for r in view.done if r.role is Role.CANDIDATE] == [False, True]  # the largest K first
    view = RecordingView()
    sweep(prepared(SHORT, sampler="guided"), view)
    assert lives(view) == [
        (Role.BASELINE, 0, 1024, True),
        (Role.CANDIDATE, 3, 1024, True),
        (Role.BASELINE_AGAIN, 0, 1024, True),
    ]
    view = RecordingView()
    sweep(prepared(SHORT, sampler="guided"), view)
    assert view.done == []


def test_where_the_baseline_fails_the_whole_sweep_is_changed(workshop: Path) -> None:
    view = RecordingView()
    result = sweep(prepared(EVERYWHERE, sampler="guided"), view)
    shares = [(r.candidate.k, r.candidate.engine_args["gpu_memory_utilization"], r.ok) for r in view.done]
    assert shares[:2] == [(0, 0.9, False), (0, 0.7, True)]
    assert all(share == 0.7 and ok for _, share, ok in shares[1:])
    assert 3 in {k for k, _, _ in shares}
    assert result.report.findings.finished
    artifact = yaml.safe_load(result.report.artifact.read_text())
    assert "0.7" in Path("run/serve.yaml").read_text() and artifact["finished"]
    assert (
        "gpu_memory_utilization 0.9 -> 0.7 by auto-fix after memory share not free (trial 0)"
        in Path("run/report.md").read_text()
    )
    again = RecordingView()
    sweep(prepared(EVERYWHERE, sampler="guided"), again)
    assert again.done == []
    assert len(read_run(workshop / "run")[1]) == len(view.done)


def test_the_option_reaches_the_sweep(workshop: Path) -> None:
    given = SessionArguments(None, None, None, None, retry_failed=False, quiet=True, auto_fix=True)
    assert given.options(prepared()).auto_fix
    for command in (sweep_command, diagnose):
        assert any(parameter.name == "auto_fix" for parameter in command.params)


def test_without_the_option_nothing_is_changed(workshop: Path) -> None:
    view = RecordingView()
    with pytest.raises(NothingMeasured):
        sweep(prepared(EVERYWHERE), view, auto_fix=False)
    assert {record.candidate.engine_args["gpu_memory_utilization"] for record in view.done} == {0.9}


def changes(view: RecordingView) -> Sequence[int]:
    return [record.fix.changes if record.fix else 0 for record in view.done if record.role is Role.BASELINE]


def test_different_lacks_take_two_changes_and_a_third_is_not_made(workshop: Path) -> None:
    view = RecordingView()
    length = "{kind: memory_until_lowered, draft: none, argument: max_model_len, at_most: 512}"
    seqs = "{kind: memory_until_lowered, draft: none, argument: max_num_seqs, at_most: 4}"
    with pytest.raises(NothingMeasured):
        sweep(prepared(EVERYWHERE, length, seqs), view)
    assert changes(view) == [0, 1, 2]
    last = next(record for record in reversed(view.done) if record.role is Role.BASELINE)
    assert last.failure is not None and last.failure.code == "out_of_memory_warm_up"
    assert last.failure.change == {"max_num_seqs": 128}
