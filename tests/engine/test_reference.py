"""What is sent besides the load, and, through whole trials on simulated engines, what comes of it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from tuner.analysis.losslessness import sameness
from tuner.engine.load import Work
from tuner.engine.reference import passes
from tuner.engine.resolve import resolve_engine
from tuner.records import (
    DISTRIBUTION_REPEAT,
    REFERENCE_REPEAT,
    Candidate,
    EvalSet,
    LoadPoint,
    Losslessness,
    Prompt,
    Protocol,
    Role,
    SameOutput,
    Sampling,
    Speculation,
    Trial,
    WorkerFacts,
)
from tuner.trial import TrialSpec, run_trial

BASELINE = Candidate({"max_model_len": 2048})
SPECULATING = Candidate({"max_model_len": 2048}, Speculation("draft_model", 4, "good", "good"))
CHAT = tuple(
    Prompt(id=f"p{i:02d}", category="chat", messages=({"role": "user", "content": f"Tell me about number {i}."},))
    for i in range(20)
)
TEXT = tuple(Prompt(id=f"t{i}", category="text", prompt=f"Once upon {i}") for i in range(3))
EVAL_SETS = {"chat": EvalSet("chat", CHAT, ""), "text": EvalSet("text", TEXT, "")}
WARM = Sampling(temperature=0.8)
ALONE = LoadPoint(eval_set="chat", concurrency=1, max_tokens=16, num_prompts=8)
CROWD = LoadPoint(eval_set="chat", concurrency=4, max_tokens=16, num_prompts=8)
SAMPLED = LoadPoint(eval_set="chat", concurrency=8, max_tokens=16, sampling=WARM, num_prompts=8)
PROTOCOL = Protocol(repeats=2, max_repeats=2, losslessness=True)


# --- what is sent -----------------------------------------------------------------------------------------------------


def planned(role: Role, *load_points: LoadPoint, samples: int = 0, candidate: Candidate = BASELINE) -> dict[str, Any]:
    protocol = Protocol(losslessness=True, distribution_samples=samples)
    work = Work(candidate, load_points, EVAL_SETS, protocol, role)
    return {f"{one.load_point.key} {one.repeat}": one for one in passes(work, "engine")}


def test_one_reference_pass_serves_all_concurrencies_at_the_lowest() -> None:
    plan = planned(Role.BASELINE, CROWD, ALONE, SAMPLED)
    assert list(plan) == [f"{ALONE.key} {REFERENCE_REPEAT}"]
    requests = plan[f"{ALONE.key} {REFERENCE_REPEAT}"].requests
    assert [request.prompt for request in requests] == list(CHAT[:8])
    assert all(request.top2 and request.max_tokens == 16 for request in requests)


def test_answers_of_another_length_or_set_need_a_pass_of_their_own() -> None:
    longer = LoadPoint(eval_set="chat", max_tokens=32, num_prompts=8)
    full = LoadPoint(eval_set="chat", max_tokens=16, num_prompts=8, ignore_eos=True)
    text = LoadPoint(eval_set="text", max_tokens=16)
    assert len(planned(Role.BASELINE, ALONE, longer, full, text)) == 4


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.BASELINE])
def test_only_the_first_life_of_a_baseline_has_a_reference_pass(role: Role) -> None:
    assert not planned(role, ALONE)


@pytest.mark.parametrize("role", list(Role))
def test_first_tokens_are_sampled_in_both_arms_and_nowhere_else(role: Role) -> None:
    assert bool(planned(role, SAMPLED, samples=2)) == (role in (Role.BASELINE, Role.CANDIDATE))
    assert not planned(role, SAMPLED)


def test_short_answers_of_the_first_prompts_each_with_a_seed_of_its_own_in_each_arm() -> None:
    wide = LoadPoint(eval_set="chat", concurrency=2, max_tokens=16, sampling=WARM)
    [one] = planned(Role.BASELINE, wide, samples=5).values()
    [other] = planned(Role.CANDIDATE, wide, samples=5, candidate=SPECULATING).values()
    assert one.repeat == DISTRIBUTION_REPEAT
    assert len(one.requests) == 5 * 16
    assert {request.prompt.id for request in one.requests} == {prompt.id for prompt in CHAT[:16]}
    assert {request.max_tokens for request in one.requests} == {4}
    assert {request.sampling for request in one.requests} == {WARM}
    seeds = [request.seed for arm in (one, other) for request in arm.requests]
    assert len(set(seeds)) == 2 * 5 * 16
    assert all(0 <= seed < 2**31 for seed in seeds)


# --- what comes of it, with simulated engines -------------------------------------------------------------------------


def run(
    tmp_path: Path, candidate: Candidate, loads: tuple[LoadPoint, ...], protocol: Protocol, **profile: Any
) -> Trial:
    tmp_path.mkdir(exist_ok=True)
    path = tmp_path / "profile.yaml"
    base = {
        "targets": [{"step_s": 0.0005}],
        "drafts": [{"match": "*", "acceptance": [0.7]}],
        "answers": {"median_tokens": 12, "spread": 0.3},
    }
    path.write_text(yaml.safe_dump(base | profile))
    spec = TrialSpec(
        number=1,
        role=Role.CANDIDATE if candidate.speculation else Role.BASELINE,
        candidate=candidate,
        engine=resolve_engine(f"sim:{path}"),
        target="target",
        load_points=loads,
        eval_sets=EVAL_SETS,
        protocol=protocol,
        log_dir=str(tmp_path / "log"),
        env={},
    )
    trial = run_trial(spec, WorkerFacts(device_key="here", device="cpu", node="here"), lambda _phase: None)
    assert trial.record.failure is None
    return trial


def compared(tmp_path: Path, load: LoadPoint, protocol: Protocol = PROTOCOL, **profile: Any) -> Losslessness:
    def arm(candidate: Candidate) -> Trial:
        return run(tmp_path / candidate.key, candidate, (load,), protocol, **profile)

    with ThreadPoolExecutor() as side_by_side:  # Their texts are compared, not their times.
        baseline, trial = side_by_side.map(arm, (BASELINE, SPECULATING))
    return sameness(trial, [baseline], load)


def test_lossless_speculation_is_identical(tmp_path: Path) -> None:
    found = compared(tmp_path, ALONE)
    assert found.verdict is SameOutput.IDENTICAL, found
    assert (found.equal, found.compared, found.self_equal, found.self_compared) == (16, 16, 16, 16)
    assert found.divergences == ()


@pytest.mark.parametrize("load", [ALONE, CROWD])
def test_other_text_under_speculation_differs(tmp_path: Path, load: LoadPoint) -> None:
    found = compared(tmp_path, load, faults=[{"kind": "lossy", "k_min": 1, "at_token": 2}])
    assert found.verdict is SameOutput.DIFFERS, found
    assert (found.equal, {d.position for d in found.divergences}) == (0, {2})
    assert [d.gap for d in found.divergences] == pytest.approx([3.0] * len(found.divergences))


def test_a_fault_is_found_without_a_reference_pass_too(tmp_path: Path) -> None:
    found = compared(
        tmp_path, ALONE, protocol=Protocol(repeats=2, max_repeats=2), faults=[{"kind": "lossy", "k_min": 1}]
    )
    assert found.verdict is SameOutput.DIFFERS, found
    assert {d.gap for d in found.divergences} == {None}
    assert "probabilities are not known" in found.note


def test_speculation_that_falls_the_other_way_at_near_ties(tmp_path: Path) -> None:
    found = compared(tmp_path, ALONE, near_ties={"rate": 0.15, "gap": 0.125, "speculative_flips": 0.7})
    assert found.verdict is SameOutput.NEAR_TIES, found
    assert 0 < found.equal < found.compared
    assert [d.gap for d in found.divergences] == pytest.approx([0.125] * len(found.divergences))


def test_the_same_with_clear_gaps_differs(tmp_path: Path) -> None:
    ties = {"rate": 0.15, "gap": 1.5, "speculative_flips": 0.7}
    assert compared(tmp_path, ALONE, near_ties=ties).verdict is SameOutput.DIFFERS


def test_a_baseline_that_differs_from_itself_in_a_batch_raises_no_alarm(tmp_path: Path) -> None:
    # Steps so long that requests are a crowd in both arms, however slowly a busy machine sends them.
    slow = [{"step_s": 0.02}]
    found = compared(tmp_path, CROWD, targets=slow, near_ties={"rate": 0.3, "gap": 0.5, "crowded_flips": 0.5})
    assert found.verdict is SameOutput.UNEXPLAINED, found
    assert found.equal < found.compared and found.self_equal < found.self_compared


def test_an_engine_without_log_probabilities_can_be_measured(tmp_path: Path) -> None:
    refusing = {"faults": [{"kind": "logprobs_refused", "status": 400}]}
    baseline = run(tmp_path, BASELINE, (ALONE,), PROTOCOL, **refusing)
    assert {sample.repeat for sample in baseline.samples} == {0, 1}


def test_what_is_measured_stays_if_the_engine_dies_of_being_asked(tmp_path: Path) -> None:
    # 1 probe, 2 warm-ups and 2 repeats of 8 requests come before.
    dying = {"faults": [{"kind": "crash", "after_requests": 20, "at_token": 1}]}
    baseline = run(tmp_path, BASELINE, (ALONE,), PROTOCOL, **dying)
    numbers = [sample.repeat for sample in baseline.samples if sample.ok]
    assert (numbers.count(0), numbers.count(1), numbers.count(REFERENCE_REPEAT)) == (8, 8, 1)
    assert len(baseline.record.loads[0].repeats) == 2


@pytest.mark.parametrize(("faults", "verdict"), [([], "no_difference_found"), (["shifted_samples"], "differs")])
def test_sampled_answers(tmp_path: Path, faults: list[str], verdict: str) -> None:
    protocol = Protocol(repeats=1, max_repeats=1, distribution_samples=48)
    shift = [{"kind": kind, "k_min": 1, "at_token": 1} for kind in faults]
    found = compared(tmp_path, SAMPLED, protocol=protocol, faults=shift)
    assert found.verdict == verdict, found
    assert found.p_value is not None and (found.p_value < 0.01) == (verdict == "differs")


def test_sampled_answers_are_not_compared_unless_asked_for(tmp_path: Path) -> None:
    found = compared(tmp_path, SAMPLED)
    assert found.verdict is SameOutput.NOT_COMPARED
    assert "--check-distribution" in found.note


def test_the_samples_of_a_pass_are_kept_apart_from_the_timed_ones(tmp_path: Path) -> None:
    protocol = Protocol(repeats=1, max_repeats=1, losslessness=True, distribution_samples=3)
    trial = run(tmp_path, BASELINE, (ALONE, SAMPLED), protocol)
    numbers = [sample.repeat for sample in trial.samples]
    assert (numbers.count(REFERENCE_REPEAT), numbers.count(DISTRIBUTION_REPEAT)) == (8, 3 * 8)
    assert all((len(s.top2_gaps) == len(s.token_ids)) == (s.repeat == REFERENCE_REPEAT) for s in trial.samples)
    assert [repeat.requests for load in trial.record.loads for repeat in load.repeats] == [8, 16]
