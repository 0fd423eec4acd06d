"""The main path on real engines: a sweep with vLLM, its artifact, and an engine started from what it wrote."""

import json
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from tests.one_question import metrics_after_one_question
from tuner.analysis.losslessness import sameness
from tuner.engine.process import Launch, free_port
from tuner.records import REFERENCE_REPEAT, Role, SameOutput, Verdict
from tuner.store import read_run
from tuner.store.reading import STATUS_FILE

SPACE = """
description: The smallest sweep that takes every turn, for CI.
target: demo:target
engine_args: {max_model_len: 512, max_num_seqs: 2, enforce_eager: true, gpu_memory_utilization: 0.3}
env: {VLLM_CPU_KVCACHE_SPACE: "1", VLLM_CPU_NUM_OF_RESERVED_CPU: "0"}
drafts:
  - {name: good, method: draft_model, model: "demo:good", k: [1, 4]}
  - {name: ngram, method: ngram, options: {prompt_lookup_min: 2, prompt_lookup_max: 4}, k: [3]}
load_points:
  - {eval_set: demo, temperature: 0, concurrency: 1, max_tokens: 24, num_prompts: 4}
search: {sampler: grid}
protocol: {repeats: 2, lives: 3, warmup_requests: 1, baseline_again: false, reduced: It only proves the path.}
"""


def tuner(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "tuner", *arguments], cwd=cwd, capture_output=True, text=True)


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """Return the closing JSON and the run directory of a sweep with real engines, under a path that needs quoting."""
    cwd = tmp_path_factory.mktemp("the user's 目录")
    built = tuner("models", "demo", cwd=cwd)
    assert built.returncode == 0, built.stderr
    (cwd / "ci.yaml").write_text(SPACE)
    done = tuner("sweep", "demo:target", "--space", "ci.yaml", "--out", "run", "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    closing = json.loads(done.stdout.splitlines()[-1])
    assert isinstance(closing, dict)
    return closing, cwd / "run"


@pytest.mark.real_ci
def test_the_artifact_holds_an_answer_and_its_evidence(swept: tuple[dict[str, Any], Path]) -> None:
    closing, run = swept
    artifact = yaml.safe_load((run / "best_config.yaml").read_text())
    (answer,) = artifact["answers"]
    # A baseline and three candidates; then three rounds of the baseline with one finalist, and with a second as long as
    # it may still win.
    assert 4 + 3 * 2 <= closing["engine_starts"] <= 4 + 3 * 3
    assert closing["failed"] == 0
    assert artifact["verdict"] == closing["verdict"]
    assert Verdict(artifact["verdict"]) in Verdict
    curves = answer["measured"]["curves"]
    points = {(curve["draft"], point["k"]): point for curve in curves for point in curve["points"]}
    assert {("good", 1), ("good", 4), ("ngram", 3)} <= points.keys()
    for (_, k), point in points.items():
        assert point["tpot_s"]["value"] > 0
        assert point["speedup"]["n"] == (4 if k else 0)  # the baseline's is 1 by definition
    # The good draft is the target with noise: one proposed token is accepted more often than not, four give more.
    assert 1.5 < points["good", 1]["mean_acceptance_length"]["value"] <= 2
    assert (
        points["good", 1]["mean_acceptance_length"]["value"] < points["good", 4]["mean_acceptance_length"]["value"] <= 5
    )
    assert artifact["fingerprint"]["engine"]["version"] == artifact["measured_on"]["engine"]["version"]
    assert (run / "plots" / "speedup-t0.png").stat().st_size > 10_000


@pytest.mark.real_ci
def test_the_answer_comes_from_fresh_lives_whose_outputs_are_the_targets_own(
    swept: tuple[dict[str, Any], Path],
) -> None:
    _, run = swept
    (answer,) = yaml.safe_load((run / "best_config.yaml").read_text())["answers"]
    assert answer["measured"]["engine_lives"] == 3
    assert answer["measured"]["resolution"]["smallest_effect"] > 0
    _, trials = read_run(run)
    fresh = [trial for trial in trials if trial.record.role is Role.FINAL]
    assert {trial.record.round for trial in fresh} == {0, 1, 2}
    firsts = [next(t for t in fresh if t.record.round == number).record.candidate.key for number in range(3)]
    assert len(set(firsts)) > 1, "each round begins with another arm"
    baseline, *candidates = (trial for trial in trials if trial.record.role is not Role.FINAL)
    assert [s.repeat for s in baseline.samples].count(REFERENCE_REPEAT) == 4
    for candidate in candidates:
        same = sameness(candidate, [baseline], candidate.record.loads[0].load_point)
        assert same.verdict in (SameOutput.IDENTICAL, SameOutput.NEAR_TIES), same.note


@pytest.mark.real_ci
def test_the_serve_file_starts_an_engine_that_does_what_was_promised(swept: tuple[dict[str, Any], Path]) -> None:
    _, run = swept
    answer = yaml.safe_load((run / "best_config.yaml").read_text())["answers"][0]
    expected = answer["recommended"]["speculation"]
    assert metrics_of(run, "serve.yaml").count("vllm:spec_decode_num_drafts_total{") == (1 if expected else 0)


@pytest.mark.real_ci
def test_the_same_sweep_again_measures_nothing(swept: tuple[dict[str, Any], Path]) -> None:
    _, run = swept
    again = tuner("sweep", "demo:target", "--space", "ci.yaml", "--out", "run", "--json", cwd=run.parent)
    closing = json.loads(again.stdout.splitlines()[-1])
    assert (again.returncode, closing["engine_starts"], closing["trials"]) == (0, 0, 0)


@pytest.mark.real
def test_ctrl_c_under_load_ends_within_15_seconds_and_leaves_no_engine(tmp_path: Path) -> None:
    assert tuner("models", "demo", cwd=tmp_path).returncode == 0
    (tmp_path / "ci.yaml").write_text(SPACE.replace("max_tokens: 24", "max_tokens: 300"))
    command = [sys.executable, "-m", "tuner", "sweep", "demo:target", "--space", "ci.yaml", "--out", "run", "--json"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as driver:
        try:
            wait_until_measuring(driver, tmp_path / "run" / STATUS_FILE)
            below = psutil.Process(driver.pid).children(recursive=True)
            assert any("vllm" in " ".join(process.cmdline()) for process in below)
            began_s = time.monotonic()
            driver.send_signal(signal.SIGINT)
            out, said = driver.communicate(timeout=60)
            took_s = time.monotonic() - began_s
        finally:
            driver.kill()
    assert (driver.returncode, "Traceback" in said) == (130, False), said
    assert json.loads(out.splitlines()[-1])["exit_code"] == 130
    assert took_s < 15
    assert not psutil.wait_procs(below, 1.0)[1]


def wait_until_measuring(driver: subprocess.Popen[str], status: Path, limit_s: float = 500.0) -> None:
    """Return once the sweep's engine answers requests of a load point."""
    deadline_s = time.monotonic() + limit_s
    while not (status.is_file() and "demo c=1" in status.read_text()):
        assert driver.poll() is None and time.monotonic() < deadline_s
        time.sleep(0.5)


def metrics_of(run: Path, serve_file: str) -> str:
    """Start an engine from a written file exactly as its header says, ask one question, and return its /metrics."""
    port = free_port()
    lines = [line for line in (run / "serve.env").read_text().splitlines() if not line.startswith("#")]
    env = dict(shlex.split(line)[0].split("=", 1) for line in lines)
    entry_point = (sys.executable, "-m", "vllm.entrypoints.openai.api_server")
    launch = Launch(
        command=(*entry_point, "--config", str(run / serve_file), "--host", "127.0.0.1", "--port", str(port)),
        env=env,
        log_path=run / f"{serve_file}.log",
        port=port,
        served_name=yaml.safe_load((run / serve_file).read_text())["model"],
        api_key="",
        start_timeout_s=300,
        stall_timeout_s=120,
        version="",
    )
    return metrics_after_one_question(launch)
