"""A trial against the simulated engine: what comes back when all goes well, and for each way in which it does not."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from tests.faults.matrix import Group, fault
from tuner.engine import measure
from tuner.engine.environment import engine_env
from tuner.engine.resolve import resolve_engine
from tuner.errors import EngineError
from tuner.records import (
    Candidate,
    EngineFacts,
    EvalSet,
    FailureKind,
    LoadPoint,
    Prompt,
    Protocol,
    Role,
    Speculation,
    Trial,
    WorkerFacts,
)
from tuner.store.codec import StoredRecord, decode_record, encode_record
from tuner.trial import TrialSpec, describe_failure, launch_of, note_context_length, run_trial

K = 4
STEP_S = 0.003
BASELINE = Candidate({"max_model_len": 2048})
SPECULATING = Candidate({"max_model_len": 2048}, Speculation("draft_model", K, "good", "good"))
PROMPTS = tuple(
    Prompt(id=f"p{i}", category="chat", messages=({"role": "user", "content": f"Tell me about number {i}."},))
    for i in range(6)
)
LOADS = (
    LoadPoint(eval_set="chat", concurrency=1, max_tokens=20, ignore_eos=True),
    LoadPoint(eval_set="chat", concurrency=4, max_tokens=20, ignore_eos=True),
)
WORKER = WorkerFacts(device_key="here", device="cpu", node="here", gpu_ids=("7",))


def spec(tmp_path: Path, candidate: Candidate, *faults: dict[str, Any], **protocol: Any) -> TrialSpec:
    profile = {
        "targets": [{"step_s": STEP_S}],
        "drafts": [{"match": "*", "step_s": 0.0005, "acceptance": [0.7]}],
        "faults": list(faults),
    }
    path = tmp_path / "profile.yaml"
    path.write_text(yaml.safe_dump(profile))
    return TrialSpec(
        number=3,
        role=Role.CANDIDATE if candidate.speculation else Role.BASELINE,
        candidate=candidate,
        engine=resolve_engine(f"sim:{path}"),
        target="target",
        load_points=LOADS,
        eval_sets={"chat": EvalSet("chat", PROMPTS, sha256="")},
        protocol=Protocol(**{"repeats": 2, "max_repeats": 2, **protocol}),
        log_dir=str(tmp_path / "log"),
        env={"VLLM_LOGGING_LEVEL": "INFO"},
    )


def run(trial_spec: TrialSpec) -> Trial:
    return run_trial(trial_spec, WORKER, report=lambda phase: None)


@pytest.fixture(autouse=True)
def _no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tuner.engine.load.CRASH_GRACE_S", 1.0)
    monkeypatch.setattr(measure, "ALIVE_EVERY_S", 0.2)


def test_a_candidate_is_measured_at_every_load_point(tmp_path: Path) -> None:
    reports: list[str] = []
    trial = run_trial(spec(tmp_path, SPECULATING), WORKER, reports.append)
    record = trial.record
    assert record.failure is None
    assert (record.number, record.role, record.candidate, record.worker) == (3, Role.CANDIDATE, SPECULATING, WORKER)
    assert tuple(load.load_point for load in record.loads) == LOADS
    assert [len(load.repeats) for load in record.loads] == [2, 2]
    assert [repeat.requests for load in record.loads for repeat in load.repeats] == [6, 6, 8, 8]
    assert [repeat.problems for load in record.loads for repeat in load.repeats] == [()] * 4
    for load in record.loads:
        for repeat in load.repeats:
            tokens = sum(
                s.completion_tokens or 0
                for s in trial.samples
                if (s.load_point, s.repeat) == (load.load_point.key, repeat.index)
            )
            assert repeat.counters.generation_tokens == tokens == 20 * repeat.requests
            assert repeat.counters.draft_tokens == K * (repeat.counters.drafts or 0) > 0
    assert len(trial.samples) == 28 and all(sample.ok for sample in trial.samples)
    assert record.engine is not None and record.engine.env["CUDA_VISIBLE_DEVICES"] == "7"
    assert (record.engine.max_model_len, record.engine.env["VLLM_LOGGING_LEVEL"]) == (2048, "INFO")
    assert (tmp_path / "log" / "engine.log").stat().st_size > 0
    assert {"starting engine", "probing", "chat c=4 T=0 repeat 2/2 0/8", "stopping engine"} <= set(reports)


def test_a_baseline_takes_a_step_a_token_and_its_phases_add_up(tmp_path: Path) -> None:
    trial = run(spec(tmp_path, BASELINE))
    assert trial.record.failure is None
    [counters, *_] = [repeat.counters for load in trial.record.loads for repeat in load.repeats]
    assert (counters.drafts, counters.accepted_per_pos) == (None, None)
    assert counters.decode_steps == 6 * 19
    # The quickest: on a busy machine others wait for their turn on a core.
    assert min(sample.tpot_s or 0 for sample in trial.samples) == pytest.approx(STEP_S, rel=0.25)
    phases = trial.record.phases
    parts = (phases.start_s, phases.warmup_s, phases.load_s, phases.stop_s)
    assert min(parts) > 0
    loads = trial.record.loads
    assert phases.warmup_s >= sum(load.warmup_s for load in loads) > 0
    assert phases.load_s == sum(repeat.wall_s for load in loads for repeat in load.repeats)
    # What lies between the phases takes as long as the machine is busy, but is no phase of its own.
    assert 0 <= phases.total_s - sum(parts) < phases.total_s / 4


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        ({"kind": "http_error", "status": 400}, FailureKind.REFUSED, "HTTP 400"),
        ({"kind": "speculation_off"}, FailureKind.SPECULATION_INACTIVE, "does not speculate"),
        ({"kind": "usage_missing"}, FailureKind.REFUSED, "no usage"),
        ({"kind": "crash", "after_requests": 9}, FailureKind.CRASHED, "exit code 1"),
        ({"kind": "hang", "after_requests": 9}, FailureKind.STUCK, "no complete answer after 5 s"),
    ],
)
def test_an_expected_failure_is_a_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: dict[str, Any], kind: FailureKind, words: str
) -> None:
    if kind is FailureKind.CRASHED:  # however long a busy machine takes to tell its end
        monkeypatch.setattr("tuner.engine.load.CRASH_GRACE_S", 120.0)
    patience = {"request_timeout_s": 5.0} if kind is FailureKind.STUCK else {}
    trial = run(spec(tmp_path, SPECULATING, fault, **patience))
    failure = trial.record.failure
    assert failure is not None
    assert (failure.kind, words in failure.message) == (kind, True), failure
    assert failure.next_step and failure.advice and failure.log_tail
    assert (trial.record.loads, trial.samples) == ((), ())
    assert trial.record.phases.load_s > 0


def test_a_crash_at_start_says_why_and_forgets_an_earlier_attempt(tmp_path: Path) -> None:
    log = tmp_path / "log" / "engine.log"
    log.parent.mkdir()
    log.write_text("Traceback (most recent call last):\nRuntimeError: of another life\n")
    fault = {"kind": "crash_at_start", "exit_code": 3, "message": "ValueError: no such head"}
    record = run(spec(tmp_path, SPECULATING, fault)).record
    assert record.failure is not None
    assert record.failure.kind == FailureKind.CRASHED
    assert "no such head" in record.failure.cause
    assert record.engine is not None and "--speculative-config" in record.engine.command
    assert record.phases.start_s == record.phases.total_s > 0


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"kind": "counters_backwards", "after_requests": 11}, "went backwards"),
        ({"kind": "foreign_traffic"}, "foreign traffic"),
    ],
)
def test_counters_that_cannot_be_true_are_told(tmp_path: Path, fault: dict[str, Any], words: str) -> None:
    record = run(spec(tmp_path, SPECULATING, fault)).record
    assert record.failure is None
    assert any(words in problem for load in record.loads for repeat in load.repeats for problem in repeat.problems)


def test_a_request_that_fails_is_counted(tmp_path: Path) -> None:
    # 1 probe, then warm-up and two repeats: 2 + 2 x 6 at concurrency 1, 4 + 2 x 8 at concurrency 4. The last 3 fail.
    trial = run(spec(tmp_path, BASELINE, {"kind": "http_error", "after_requests": 32}))
    failed = sum(not sample.ok for sample in trial.samples)
    assert failed == 3
    assert failed == sum(repeat.failed for load in trial.record.loads for repeat in load.repeats)


@pytest.fixture
def busy_core() -> Iterator[int]:
    """A core that a process of somebody else keeps busy."""
    core = min(os.sched_getaffinity(0))
    burn = f"import os\nos.sched_setaffinity(0, [{core}])\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", burn]) as stranger:
        yield core
        stranger.kill()


def test_a_repeat_beside_somebody_elses_work_is_disturbed_and_measured_again(tmp_path: Path, busy_core: int) -> None:
    long_enough = LoadPoint(eval_set="chat", concurrency=1, max_tokens=120, ignore_eos=True)
    trial_spec = replace(
        spec(tmp_path, BASELINE, repeats=1, max_repeats=2, warmup_requests=0), load_points=(long_enough,)
    )
    reports: list[str] = []
    trial = run_trial(trial_spec, replace(WORKER, cpu_cores=(busy_core,)), reports.append)
    [load] = trial.record.loads
    assert [repeat.problems for repeat in load.repeats] == [(), ()]
    for repeat in load.repeats:
        assert repeat.device is not None and repeat.device.source == "cpu"
        assert any("other processes used" in words for words in repeat.disturbances), repeat
    assert "chat c=1 T=0 repeat 1 (of 1-2) 0/6" in reports
    assert any(report.startswith("chat c=1 T=0 repeat 2 (of 1-2) (CPU ") for report in reports)
    assert decode_record(encode_record(StoredRecord(trial.record, "run", ""))).record == trial.record


@fault(
    Group.ENGINE,
    "is running when the tuner itself fails",
    sees="a traceback: a fault of the tuner is never a failed trial",
    keeps="no engine is left",
)
def test_an_unexpected_exception_propagates_and_leaves_no_engine(tmp_path: Path) -> None:
    def report(phase: str) -> None:
        if phase.startswith("chat"):
            raise KeyError(phase)

    with pytest.raises(KeyError, match="chat c=1"):
        run_trial(spec(tmp_path, BASELINE), WORKER, report)
    assert not [child for child in psutil.Process().children(recursive=True) if "tuner.engine.sim" in child.cmdline()]


@pytest.mark.parametrize(("version", "differs"), [("0.28.0", set()), ("0.29.0", {"VLLM_API_KEY"})])
def test_what_names_the_compile_cache_is_the_same_in_two_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, differs: set[str]
) -> None:
    # It is named by vLLM's environment variables; up to 0.28 the key is among them.
    monkeypatch.setenv("TUNER_CACHE", str(tmp_path))
    engine = replace(spec(tmp_path, BASELINE).engine, version=version)
    specs = (spec(tmp_path, SPECULATING), replace(spec(tmp_path, BASELINE), number=7))
    launches = [launch_of(replace(one, engine=engine), WORKER) for one in specs]
    first, again = (engine_env({}, launch.env, launch.api_key) for launch in launches)
    assert {name for name in first.keys() | again.keys() if first.get(name) != again.get(name)} == differs


def measured_with_keys(trial_spec: TrialSpec) -> tuple[Trial, set[str], str]:
    """Run a trial whose engine prints its key; return it, the keys that it had, and all command lines meanwhile."""
    keys: set[str] = set()
    commands: list[str] = []

    def look(phase: str) -> None:
        if phase.startswith("chat"):
            processes = psutil.Process().children(recursive=True)
            engines = [process for process in processes if "tuner.engine.sim" in process.cmdline()]
            keys.update(process.environ()["VLLM_API_KEY"] for process in engines)
            with (Path(trial_spec.log_dir) / "engine.log").open("a") as log:
                log.write(f"key={keys}\n")
            commands.extend(" ".join(process.cmdline()) for process in processes)

    return run_trial(trial_spec, WORKER, look), keys, "\n".join(commands)


@pytest.mark.parametrize(("version", "different"), [("0.28.0", 1), ("0.32.0", 2)])
def test_an_engine_has_a_key_of_its_own_start_where_that_costs_no_compiling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, different: int
) -> None:
    monkeypatch.setenv("TUNER_CACHE", str(tmp_path / "cache"))
    one = spec(tmp_path, BASELINE, repeats=1, max_repeats=1, warmup_requests=0)
    one = replace(one, engine=replace(one.engine, version=version), load_points=LOADS[:1])
    lives = [measured_with_keys(one), measured_with_keys(one)]
    keys = set[str]().union(*(keys for _, keys, _ in lives))
    assert len(keys) == different and all(len(key) >= 32 for key in keys)
    for trial, _, commands in lives:
        assert trial.record.failure is None and "--served-model-name" in commands
        log = (tmp_path / "log" / "engine.log").read_text()
        written = encode_record(StoredRecord(trial.record, "run", "")).decode() + log
        assert "key={'***'}" in log and not [key for key in keys if key in commands + written]


def test_a_spec_travels_between_processes(tmp_path: Path) -> None:
    trial_spec = spec(tmp_path, SPECULATING)
    assert pickle.loads(pickle.dumps(trial_spec)) == trial_spec


@pytest.mark.parametrize("kind", EngineError.__subclasses__())
def test_every_engine_error_has_a_failure_kind(kind: type[EngineError]) -> None:
    failure = describe_failure(kind("what", "then"), "INFO fine\nERROR RuntimeError: the cause\n")
    assert failure.kind.value.replace("_", "") in kind.__name__.lower().replace("measurement", "")
    assert (failure.message, failure.next_step) == ("what", "then")
    assert failure.log_tail[-1] == "ERROR RuntimeError: the cause"


def test_a_shorter_context_than_asked_for_is_noted() -> None:
    facts = EngineFacts(version="1", command=(), env={}, start_s=1.0, max_model_len=1024, changed_settings=("first",))
    noted = note_context_length(facts, Candidate({"max_model_len": 2048}))
    assert noted.changed_settings == ("first", "max_model_len: 2048 was asked for, the engine serves 1024")
    assert note_context_length(facts, Candidate({"max_model_len": 1024})) == facts
    assert note_context_length(facts, Candidate()) == facts
