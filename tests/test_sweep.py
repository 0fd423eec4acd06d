"""Whole sweeps against the simulated engine: what is measured, what is kept, what is concluded."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from tests.faults.matrix import Group, fault
from tests.recording_view import RecordingView
from tuner.cli.closing import closing_table
from tuner.errors import NothingMeasured
from tuner.prepare import Prepared, SweepRequest, prepare
from tuner.records import FailureKind, Role, TrialRecord, Verdict
from tuner.report import write_report
from tuner.store import read_run
from tuner.sweep import SweepOptions, SweepResult, run_sweep

SPACE = """
target: simulated
engine_args: {{max_model_len: 2048}}
drafts:
  - {{name: good, method: draft_model, model: good, k: [1, 3]}}
  - {{name: weak, method: draft_model, model: weak, k: [2]}}
load_points:
  - {{eval_set: prompts.jsonl, temperature: 0, concurrency: {concurrency}, max_tokens: 24}}
protocol: {{repeats: {repeats}, lives: {lives}, warmup_requests: 1}}
{more}
"""
PROMPTS = "".join(f'{{"id": "p{i}", "category": "c{i % 2}", "prompt": "{"word " * (i + 1)}"}}\n' for i in range(6))


class Killed(BaseException):
    """Stands for whatever ends the driver in the middle of a sweep."""


@dataclass
class View(RecordingView):
    """Raises Killed once `kill_after` trials are done."""

    kill_after: int | None = None

    def trial_done(self, record: TrialRecord, words: str) -> None:
        super().trial_done(record, words)
        if self.kill_after == len(self.done):
            raise Killed


@pytest.fixture
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prompts.jsonl").write_text(PROMPTS)
    return tmp_path


def prepared(
    faults: Sequence[str] = (),
    *,
    concurrency: str = "1",
    repeats: int = 2,
    lives: int = 1,
    more: str = "",
    noise: str = "",
) -> Prepared:
    Path("space.yaml").write_text(SPACE.format(concurrency=concurrency, repeats=repeats, lives=lives, more=more))
    Path("sim.yaml").write_text(
        "targets: [{match: '*', step_s: 0.004, token_s: 0.00002}]\n"
        "drafts:\n"
        "  - {match: '*weak*', step_s: 0.003, acceptance: [0.1]}\n"
        "  - {match: '*', step_s: 0.0004, acceptance: [0.8]}\n"
        f"{noise}\nfaults: [{', '.join(faults)}]\n"
    )
    return prepare(SweepRequest(space="space.yaml", engine="sim:sim.yaml"))


def sweep(
    inputs: Prepared,
    view: View | None = None,
    out: str = "run",
    retry_failed: bool = False,
    sampler: str = "grid",
    workers: int = 1,
) -> SweepResult:
    options = SweepOptions(Path(out), pool="local", max_workers=workers, retry_failed=retry_failed, sampler=sampler)
    return run_sweep(inputs, options, view or View())


def test_a_grid_measures_every_candidate_between_two_baselines_and_recommends_the_best(workshop: Path) -> None:
    view = View()
    result = sweep(prepared(), view)
    assert [(r.role, r.candidate.label) for r in view.done] == [
        (Role.BASELINE, "no speculation"),
        (Role.CANDIDATE, "good K=1"),
        (Role.CANDIDATE, "good K=3"),
        (Role.CANDIDATE, "weak K=2"),
        (Role.BASELINE_AGAIN, "no speculation"),
    ]
    (answer,) = result.report.findings.answers
    assert (answer.verdict, answer.best.label) == (Verdict.SPECULATE, "good K=3")
    assert answer.objective.low is not None and answer.objective.low > 1
    artifact = yaml.safe_load(result.report.artifact.read_text())
    assert artifact["answers"][0]["recommended"]["speculation"]["num_speculative_tokens"] == 3
    assert "speculative-config" in yaml.safe_load((workshop / "run/serve.yaml").read_text())
    assert "speculative-config" not in yaml.safe_load((workshop / "run/serve.baseline.yaml").read_text())
    assert (result.engine_starts, result.trials) == (5, 5)
    assert 0 <= result.overhead_s < result.wall_s


def test_progress_counts_to_the_plan_and_learns_the_time_left(workshop: Path) -> None:
    view = View()
    sweep(prepared(), view)
    assert view.states[0].left_s is None
    last = view.states[-1]
    assert (last.planned, last.done, last.failed) == (5, 5, 0)
    assert last.best.startswith("good K=3")
    assert any(worker.phase for state in view.states for worker in state.workers)


@pytest.mark.parametrize("kill_after", [1, 3, 5])
def test_an_interrupted_sweep_goes_on_without_measuring_again(workshop: Path, kill_after: int) -> None:
    with pytest.raises(Killed):
        sweep(prepared(), View(kill_after=kill_after))
    view = View()
    result = sweep(prepared(), view)
    assert len(view.done) == 5 - kill_after
    assert [trial.record.number for trial in read_run(workshop / "run")[1]] == [0, 1, 2, 3, 4]
    labels = {figures.candidate.label for figures in result.report.findings.trials}
    assert labels == {"no speculation", "good K=1", "good K=3", "weak K=2"}


def test_a_finished_sweep_is_reported_and_not_measured_again(workshop: Path) -> None:
    first = sweep(prepared())
    view = View()
    again = sweep(prepared(), view)
    assert (again.engine_starts, again.trials, view.done) == (0, 0, [])
    assert again.report.findings == first.report.findings


def test_another_k_is_added_to_a_finished_run_and_closed_with_a_baseline(workshop: Path) -> None:
    sweep(prepared())
    text = Path("space.yaml").read_text()
    Path("space.yaml").write_text(text.replace("k: [1, 3]", "k: [1, 2, 3]"))
    view = View()
    sweep(prepare(SweepRequest(space="space.yaml", engine="sim:sim.yaml")), view)
    assert [(r.role, r.candidate.label) for r in view.done] == [
        (Role.CANDIDATE, "good K=2"),
        (Role.BASELINE_AGAIN, "no speculation"),
    ]


def test_traffic_that_is_added_to_a_finished_run_weighs_anew_what_was_measured(workshop: Path) -> None:
    first = sweep(prepared(concurrency="[1, 4]"))
    view = View()
    again = sweep(prepared(concurrency="[1, 4]", more="traffic: {shares: {1: 0.75, 4: 0.125, 9: 0.125}}"), view)
    assert view.done == []
    assert again.report.run == first.report.run
    (before,), (after,) = first.report.findings.answers, again.report.findings.answers
    assert [load.load_point.weight for load in before.loads] == [1.0, 1.0]
    assert [load.load_point.weight for load in after.loads] == [0.75, 0.125]
    one, four = (math.log(load.figures["speedup_tpot"].value or 0.0) for load in after.loads)
    assert math.log(before.objective.value or 0.0) == pytest.approx((one + four) / 2)
    assert math.log(after.objective.value or 0.0) == pytest.approx((6 * one + four) / 7)
    page = (workshop / "run/report.md").read_text()
    assert "traffic: 12% of the busy time is at a concurrency above 4 (up to 9), which no load point" in page
    artifact = yaml.safe_load(again.report.artifact.read_text())["answers"][0]
    assert artifact["measured"]["traffic"]["shares"] == {"1": 0.75, "4": 0.125}


def test_changed_inputs_get_a_run_of_their_own_beside_the_old_one(workshop: Path) -> None:
    sweep(prepared())
    (workshop / "prompts.jsonl").write_text(PROMPTS + '{"id": "new", "category": "c", "prompt": "more"}\n')
    view = View()
    result = sweep(prepared(), view)
    assert result.report.run != workshop / "run"
    assert result.report.run.parent == workshop
    assert len(view.done) == 5


def test_a_failed_candidate_is_a_record_with_its_reason_and_the_others_stand(workshop: Path) -> None:
    fault = "{kind: crash_at_start, draft: good, k_min: 3, message: 'RuntimeError: draft does not fit'}"
    result = sweep(prepared([fault]))
    (reason,) = result.report.findings.failed.values()
    assert "draft does not fit" in reason
    assert result.report.findings.answers[0].best.label == "good K=1"
    assert "draft does not fit" in (workshop / "run/report.md").read_text()


@fault(
    Group.ENGINE,
    "failed in an earlier session",
    sees="nothing: the failure stands until --retry-failed asks for it again",
    keeps="the failed trial's record, until it is run again",
)
def test_failed_trials_are_kept_on_resume_and_run_again_only_when_asked(workshop: Path) -> None:
    inputs = prepared(["{kind: crash_at_start, draft: good, k_min: 3}"])
    sweep(inputs)
    view = View()
    sweep(inputs, view)
    assert view.done == []
    sweep(inputs, view, retry_failed=True)
    assert [record.candidate.label for record in view.done] == ["good K=3"]


@fault(
    Group.ENGINE,
    "of the baseline failed in an earlier session",
    sees="the next call of the command tries it again, and then the candidates",
    keeps="everything measured",
)
def test_a_failed_baseline_is_tried_again_by_the_next_call_and_its_traces_leave_the_report(workshop: Path) -> None:
    broken = prepared(["{kind: crash_at_start, draft: none}"])
    with pytest.raises(NothingMeasured):
        sweep(broken)
    # The profile is part of the fingerprint, so the engine that works now has to be the same one on paper.
    Path("sim.yaml").write_text(Path("sim.yaml").read_text().replace("{kind: crash_at_start, draft: none}", ""))
    result = sweep(broken)
    assert result.report.findings.answers[0].best.draft_name == "good"
    assert result.report.findings.failed == {}


@pytest.mark.parametrize("sampler", ["guided", "grid", "random"])
def test_without_a_baseline_there_is_one_failed_trial_and_one_ending(workshop: Path, sampler: str) -> None:
    view = View()
    with pytest.raises(NothingMeasured, match="baseline"):
        sweep(
            prepared(["{kind: crash_at_start, draft: none, message: 'ValueError: too large'}"]), view, sampler=sampler
        )
    assert [record.failure.kind for record in view.done if record.failure] == [FailureKind.CRASHED]
    assert [trial.record.role for trial in read_run(workshop / "run")[1]] == [Role.BASELINE]
    assert not (workshop / "run/best_config.yaml").exists()


def test_where_every_draft_is_slower_the_answer_is_do_not_and_serve_has_none(workshop: Path) -> None:
    inputs = prepared()
    Path("sim.yaml").write_text(
        "targets: [{match: '*', step_s: 0.004}]\ndrafts: [{match: '*', step_s: 0.004, acceptance: [0.05]}]\n"
    )
    inputs = prepare(SweepRequest(space="space.yaml", engine="sim:sim.yaml"))
    answer = sweep(inputs).report.findings.answers[0]
    assert answer.verdict is Verdict.DO_NOT
    assert "speculative-config" not in yaml.safe_load((workshop / "run/serve.yaml").read_text())


def test_limits_end_the_sweep_with_what_there_is(workshop: Path) -> None:
    view = View()
    result = sweep(prepared(more="limits: {max_engine_starts: 3}"), view)
    assert len(view.done) == 3
    assert view.done[-1].role is Role.BASELINE_AGAIN
    assert any("not finished" in warning for warning in result.report.findings.warnings)


@pytest.mark.parametrize(
    ("limit", "lives", "still_open"),
    [
        ("max_trials: 2", 1, "candidates"),
        ("max_minutes: 0.02", 1, "candidates"),
        ("max_engine_starts: 3", 1, "candidates"),
        ("max_engine_starts: 9", 3, "fresh lives of the finalists"),
    ],
)
def test_which_limit_ended_the_sweep_and_what_it_left_open_is_said(
    workshop: Path, limit: str, lives: int, still_open: str
) -> None:
    result = sweep(prepared(lives=lives, more=f"limits: {{{limit}}}"), sampler="grid")
    words = f"the sweep is not finished: this is the state so far (the limit {limit} ended it; open: {still_open})"
    assert words in result.report.findings.warnings
    page = Path("run/report.md").read_text()
    assert words in page
    assert ("## Not measured" in page) is (still_open == "candidates")
    if still_open == "candidates":
        assert f"weak: K = 2 not measured: left open, the limit {limit} ended the sweep" in page
    assert words in closing_table(result.report, 300)


def test_each_temperature_has_an_answer_and_a_serve_file_of_its_own(workshop: Path) -> None:
    inputs = prepared()
    text = Path("space.yaml").read_text().replace("temperature: 0,", "temperature: [0, 0.7],")
    Path("space.yaml").write_text(text)
    result = sweep(prepare(SweepRequest(space="space.yaml", engine="sim:sim.yaml")), View(), "two")
    assert [answer.temperature for answer in result.report.findings.answers] == [0.0, 0.7]
    assert (workshop / "two/serve-t0.7.yaml").exists()
    assert inputs.candidates == replace(inputs).candidates


def test_accepting_by_chance_is_never_recommended_however_fast(workshop: Path) -> None:
    prepared()
    text = (
        Path("space.yaml")
        .read_text()
        .replace(
            "model: good, k: [1, 3]}",
            "model: good, k: [3], options: {rejection_sample_method: synthetic, synthetic_acceptance_length: 3.9}}",
        )
    )
    Path("space.yaml").write_text(text)
    answer = sweep(prepare(SweepRequest(space="space.yaml", engine="sim:sim.yaml"))).report.findings.answers[0]
    assert answer.best.draft_name != "good"


def test_two_workers_share_the_candidates_and_each_has_its_own_baselines(workshop: Path) -> None:
    view = View()
    result = sweep(prepared(), view, workers=2)
    devices: dict[str, list[Role]] = {}
    for record in view.done:
        devices.setdefault(record.worker.device_key, []).append(record.role)
    assert len(devices) == 2
    for roles in devices.values():
        assert roles[0] is Role.BASELINE and roles.count(Role.BASELINE) == 1
        assert Role.CANDIDATE not in roles or roles[-1] is Role.BASELINE_AGAIN
    assert sorted(r.candidate.label for r in view.done if r.role is Role.CANDIDATE) == [
        "good K=1",
        "good K=3",
        "weak K=2",
    ]
    assert result.report.findings.answers[0].best.draft_name == "good"


# --- the sampler -----------------------------------------------------------------------------------------------------

SEVERAL = "k: [1, 2, 3, 4, 5, 6, 7, 8]"


def several(more: str = "", faults: Sequence[str] = ()) -> Prepared:
    """Return a sweep of eight K of a good draft and one of a weak one."""
    prepared(faults, more=more)
    Path("space.yaml").write_text(Path("space.yaml").read_text().replace("k: [1, 3]", SEVERAL))
    return prepare(SweepRequest(space="space.yaml", engine="sim:sim.yaml"))


def candidates_of(view: View) -> list[str]:
    return [record.candidate.label for record in view.done if record.role is Role.CANDIDATE]


def test_the_guided_search_measures_few_of_many_and_says_why(workshop: Path) -> None:
    view = View()
    result = sweep(several(), view, sampler="guided")
    measured = candidates_of(view)
    assert measured[0] == "good K=8"
    assert len(measured) == len(set(measured)) < 9
    assert [view.done[0].role, view.done[-1].role] == [Role.BASELINE, Role.BASELINE_AGAIN]
    assert any(message.startswith("good K=8") for message in view.messages)
    assert result.report.findings.finished
    assert any(line.startswith("good: K = ") and " not measured: " in line for line in result.left)
    assert view.states[-1].planned == view.states[-1].done == len(view.done)
    again = View()
    assert sweep(several(), again, sampler="guided").left == result.left
    assert again.done == []
    assert any("finished" in message for message in again.messages)


def test_a_grid_after_a_guided_sweep_measures_the_rest(workshop: Path) -> None:
    first, second, third = View(), View(), View()
    sweep(several(), first, sampler="guided")
    result = sweep(several(), second, sampler="grid")
    measured = candidates_of(first) + candidates_of(second)
    assert sorted(measured) == sorted([*(f"good K={k}" for k in range(1, 9)), "weak K=2"])
    assert second.done[-1].role is Role.BASELINE_AGAIN
    assert (result.left, result.report.findings.finished) == ((), True)
    sweep(several(), third, sampler="guided")
    assert third.done == []


def test_a_guided_sweep_that_was_killed_goes_on_where_it_was(workshop: Path) -> None:
    first, second = View(kill_after=2), View()
    with pytest.raises(Killed):
        sweep(several(), first, sampler="guided")
    result = sweep(several(), second, sampler="guided")
    measured = candidates_of(first) + candidates_of(second)
    assert len(measured) == len(set(measured))
    assert [record.number for record in (*first.done, *second.done)] == list(range(len(first.done) + len(second.done)))
    assert result.report.findings.finished


def test_a_limit_ends_a_guided_sweep_with_what_it_left_open(workshop: Path) -> None:
    view = View()
    result = sweep(several("limits: {max_engine_starts: 3}"), view, sampler="guided")
    assert [record.role for record in view.done] == [Role.BASELINE, Role.CANDIDATE, Role.BASELINE_AGAIN]
    assert not result.report.findings.finished
    assert "a limit of the space is reached" in view.messages
    ended = "left open, the limit max_engine_starts: 3 ended the sweep"
    assert result.left == (f"good: K = 1-7 not measured: {ended}", f"weak: K = 2 not measured: {ended}")


def test_what_ran_out_of_memory_rules_out_what_needs_more(workshop: Path) -> None:
    fault = "{kind: crash_at_start, draft: good, k_min: 6, message: 'torch.OutOfMemoryError: CUDA out of memory.'}"
    view = View()
    result = sweep(several(faults=[fault]), view, sampler="guided")
    failed = [record.candidate.label for record in view.done if not record.ok]
    assert failed[0] == "good K=8" and "good K=7" not in failed[1:2]
    assert len(failed) == len(set(failed))
    assert result.report.findings.answers[0].verdict is Verdict.SPECULATE


def test_two_workers_wait_for_one_another_and_close_once_each(workshop: Path) -> None:
    view = View()
    result = sweep(several(), view, sampler="guided", workers=2)
    closing = [record.worker.device_key for record in view.done if record.role is Role.BASELINE_AGAIN]
    used = {record.worker.device_key for record in view.done if record.role is Role.CANDIDATE}
    assert sorted(closing) == sorted(used)
    assert result.report.findings.finished
    measured = candidates_of(view)
    assert len(measured) == len(set(measured)) < 9


def test_without_a_baseline_the_guided_search_starts_no_candidate(workshop: Path) -> None:
    view = View()
    with pytest.raises(NothingMeasured, match="baseline"):
        sweep(several(faults=["{kind: crash_at_start, draft: none}"]), view, sampler="guided")
    assert [record.role for record in view.done] == [Role.BASELINE]


# --- fresh lives of the finalists -------------------------------------------------------------------------------------


def fresh_lives(done: Sequence[TrialRecord]) -> list[tuple[int | None, str]]:
    return [(record.round, record.candidate.label) for record in done if record.role is Role.FINAL]


def in_rotated_rounds(lives: Sequence[tuple[int | None, str]]) -> bool:
    """Whether three rounds ran of baseline, winner and, until it left, rival: each begins with another arm."""
    arms = [[label for number, label in lives if number == n] for n in range(3)]
    fewer = all(set(later) <= set(earlier) for earlier, later in pairwise(arms))
    both = all({"no speculation"} < set(labels) and len(labels) == len(set(labels)) for labels in arms)
    turned = all(first[0] != second[0] for first, second in pairwise(arms))
    return [number for number, _ in lives] == sorted(number or 0 for number, _ in lives) and fewer and both and turned


def test_the_finalists_are_measured_again_in_rounds_and_the_answer_is_of_these_lives_alone(workshop: Path) -> None:
    view = View()
    result = sweep(prepared(repeats=1, lives=3), view)
    assert {record.role for record in view.done[5:]} == {Role.FINAL}
    assert in_rotated_rounds(fresh_lives(view.done))
    assert len({record.worker.device_key for record in view.done}) == 1
    (answer,) = result.report.findings.answers
    assert (answer.verdict, answer.best.draft_name, answer.lives) == (Verdict.SPECULATE, "good", 3)
    finals = next(f for f in result.report.findings.finals if f.candidate == answer.best)
    assert answer.objective.value == finals.loads[0].figures["speedup_tpot"].value
    assert set(finals.loads[0].rounds) == {0, 1, 2}
    assert answer.screened is not None
    assert answer.screened.value != answer.objective.value
    artifact = yaml.safe_load((workshop / "run/best_config.yaml").read_text())["answers"][0]
    assert artifact["measured"]["engine_lives"] == 3
    assert artifact["measured"]["expected_speedup"]["value"] == pytest.approx(answer.objective.value, rel=1e-5)
    assert view.states[-1].planned == view.states[-1].done == result.engine_starts == len(view.done)
    again = View()
    assert sweep(prepared(repeats=1, lives=3), again).report.findings == result.report.findings
    assert again.done == []


def test_a_sweep_that_was_killed_in_a_round_measures_no_life_twice(workshop: Path) -> None:
    first, second = View(kill_after=6), View()
    with pytest.raises(Killed):
        sweep(prepared(repeats=1, lives=3), first)
    result = sweep(prepared(repeats=1, lives=3), second)
    done = [*first.done, *second.done]
    assert in_rotated_rounds(fresh_lives(done))
    assert [record.number for record in done] == list(range(len(done)))
    assert result.report.findings.answers[0].lives == 3
    assert write_report(workshop / "run").findings.answers == result.report.findings.answers


@fault(
    Group.ENGINE,
    "fails in fresh lives, and did not before",
    sees="the finalist cannot win: 2 of its fresh lives failed",
    keeps="the answer, of the next best candidate and its own fresh lives",
)
def test_a_finalist_that_fails_twice_in_fresh_lives_is_out_and_the_next_best_is_taken(workshop: Path) -> None:
    """Its single life worked: the crash is switched on afterwards, on paper in the same engine."""
    view = View(kill_after=5)
    with pytest.raises(Killed):
        sweep(prepared(repeats=1, lives=3), view)
    inputs = prepared(repeats=1, lives=3)
    best = write_report(workshop / "run").findings.answers[0].best
    fault = f"{{kind: crash_at_start, draft: good, k_min: {best.k}, k_max: {best.k}}}"
    Path("sim.yaml").write_text(Path("sim.yaml").read_text().replace("faults: []", f"faults: [{fault}]"))
    view = View()
    findings = sweep(inputs, view).report.findings
    assert [record.candidate.label for record in view.done if not record.ok] == [best.label] * 2
    (answer,) = findings.answers
    assert (answer.best != best, answer.lives) == (True, 3)
    assert any(b.candidate == best and "2 of its fresh lives failed" in b.bar.text for b in findings.barred)
    assert "2 of its fresh lives failed" in (workshop / "run/report.md").read_text()


def test_a_limit_on_engine_starts_ends_the_finals_with_a_warning(workshop: Path) -> None:
    view = View()
    result = sweep(prepared(repeats=1, lives=3, more="limits: {max_engine_starts: 10}"), view)
    assert len(view.done) == 10
    assert len(fresh_lives(view.done)) == 5
    (answer,) = result.report.findings.answers
    assert answer.lives == 1
    warnings = result.report.findings.warnings
    assert any("of 3 fresh lives of the finalists were measured" in line for line in warnings)
    assert any("not finished" in line for line in warnings)


def test_two_workers_share_the_rounds(workshop: Path) -> None:
    view = View()
    result = sweep(prepared(repeats=1, lives=3), view, workers=2)
    places: dict[int | None, set[str]] = {}
    for record in view.done:
        if record.role is Role.FINAL:
            places.setdefault(record.round, set()).add(record.worker.device_key)
    assert [len(devices) for devices in places.values()] == [1, 1, 1]
    assert len(set.union(*places.values())) == 2
    assert result.report.findings.answers[0].lives == 3
