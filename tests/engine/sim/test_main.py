"""The engine as a process: start, exit codes, signals."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tuner.engine.logscan import changed_settings, first_cause, kv_cache_tokens

Start = Callable[..., Any]
DRAFT = ("--speculative-config", '{"method": "draft_model", "model": "good", "num_speculative_tokens": 3}')
PLAIN = 'drafts: [{match: "*", acceptance: [0.8]}]\n'
BODY = {"prompt": "hello there", "max_tokens": 20, "temperature": 0}


def faulty(kind: str, **values: object) -> str:
    return f"{PLAIN}faults: [{json.dumps({'kind': kind, **values})}]\n"


def test_a_life_from_start_to_term(start_engine: Start) -> None:
    engine = start_engine(*DRAFT, "--model", "target", "--served-model-name", "mine", profile=PLAIN).wait_ready()
    assert json.loads(engine.get("/v1/models"))["data"][0]["id"] == "mine"
    assert json.loads(engine.post("/v1/completions", BODY))["usage"]["completion_tokens"] == 20
    engine.process.send_signal(signal.SIGTERM)
    assert engine.process.wait(timeout=60) == 0
    log = engine.log()
    assert "Application startup complete." in log
    assert kv_cache_tokens(log) == 318_857
    assert any("draft_model-based speculative decoding" in line for line in changed_settings(log))
    assert first_cause(log) == ""


def test_term_while_starting_ends_it(start_engine: Start) -> None:
    engine = start_engine(profile="start_s: 60")
    _wait_for_log(engine, "Initializing a V1 LLM engine")
    engine.process.send_signal(signal.SIGTERM)
    assert engine.process.wait(timeout=60) == -signal.SIGTERM


def _wait_for_log(engine: Any, text: str) -> None:
    deadline = time.monotonic() + 120
    while text not in engine.log():
        assert time.monotonic() < deadline, engine.log()
        time.sleep(0.02)


def test_a_hang_at_start_never_answers_and_an_engine_deaf_to_term_lives_on(start_engine: Start) -> None:
    hanging = start_engine(profile=faulty("hang_at_start"))
    deaf = start_engine(profile=faulty("ignore_term")).wait_ready()
    deaf.process.send_signal(signal.SIGTERM)
    _wait_for_log(hanging, "Initializing a V1 LLM engine")
    time.sleep(0.5)
    assert deaf.process.poll() is None
    assert deaf.get("/health") == b""
    with pytest.raises(OSError, match="refused"):
        hanging.get("/health")
    assert hanging.process.poll() is None


@pytest.mark.parametrize(("code", "status"), [(7, 7), (-9, -9)])
def test_a_crash_at_start_leaves_its_cause_in_the_log(start_engine: Start, code: int, status: int) -> None:
    engine = start_engine(profile=faulty("crash_at_start", exit_code=code, message="RuntimeError: no such kernel"))
    assert engine.process.wait(timeout=120) == status
    assert first_cause(engine.log()) == "RuntimeError: no such kernel"


@pytest.mark.parametrize("kind", ["crash", "memory_growth"])
def test_a_crash_under_load_cuts_the_answer_off(start_engine: Start, kind: str) -> None:
    engine = start_engine(profile=faulty(kind, after_requests=1, at_token=5, exit_code=3)).wait_ready()
    engine.post("/v1/completions", BODY)
    with pytest.raises(OSError):
        engine.post("/v1/completions", BODY)
    assert engine.process.wait(timeout=60) == 3


def test_memory_grows_as_asked(start_engine: Start) -> None:
    engine = start_engine(profile=faulty("memory_growth", after_requests=9, size_mib=30)).wait_ready()

    def resident_mib() -> float:
        pages = int(Path(f"/proc/{engine.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    before = resident_mib()
    for _ in range(3):
        engine.post("/v1/completions", BODY)
    assert resident_mib() - before == pytest.approx(90, abs=15)


def test_a_flood_of_log_has_its_size(start_engine: Start) -> None:
    engine = start_engine(profile=faulty("log_flood", size_mib=2)).wait_ready()
    assert engine.log_path.stat().st_size == pytest.approx(2 * 2**20, rel=0.02)


@pytest.mark.parametrize(
    ("flags", "profile", "code", "cause"),
    [
        (("--no-such-flag",), PLAIN, 2, "unrecognized arguments: --no-such-flag"),
        ((), "targts: []", 2, "targts: Extra inputs"),
        (("-sc", '{"method": "ngram", "num_speculative_tokens": 2, "nope": 1}'), PLAIN, 1, "nope"),
        (("--gpu-memory-utilization", "0.301"), PLAIN, 1, "To serve at least one request"),
        (("-sc", '{"method": "ngram", "num_speculative_tokens": 2}'), "", 1, "no draft for 'ngram'"),
    ],
)
def test_what_cannot_start_says_why(start_engine: Start, flags: Any, profile: str, code: int, cause: str) -> None:
    engine = start_engine(*flags, profile=profile)
    assert engine.process.wait(timeout=120) == code
    assert cause in engine.log()
