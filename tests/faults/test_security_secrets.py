"""No secret of the user's is written down: canaries in every place that may hold one, and a search for them after."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.faults.matrix import Group, fault
from tests.faults.small_machine import PROFILE, PROMPTS, SPACE, tuner
from tuner.engine.concealing import conceal
from tuner.records.redaction import is_secret_name, redacted, secrets_of, without_credentials, without_json_secrets

VARIABLES = {
    "HF_TOKEN": "hf_canaryvariable1",
    "WANDB_API_KEY": "canary-variable-2",
    "VLLM_S3_SECRET_ACCESS_KEY": "canary-variable-3",
    "PGPASSWORD": "canary-variable-4",
    "VLLM_MIRROR": "https://me:canary-variable-5@mirror.example/x",
    "NCCL_CONF": "https://mirror.example/x?token=canary-variable-6",
}
"""Exported by who calls the tuner; the engine gets them, as they are."""
IN_THE_LOG = "cannot fetch https://user:canary-log-1@hub.example/m with hf_canaryvariable1 or canary-variable-2"
CANARY = "canary"


def calling(monkeypatch: pytest.MonkeyPatch, directory: Path, *arguments: str) -> tuple[int, bytes]:
    """Call the command line there, with the canaries in its environment; return exit code and what it said."""
    for name, value in {**VARIABLES, "XDG_CACHE_HOME": str(directory / "cache"), "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(directory)
    monkeypatch.setattr(sys, "argv", ["tuner", *arguments])
    code, said = tuner(*arguments)
    return code, said.encode()


def holding(directory: Path, said: bytes) -> list[str]:
    """Return what holds a canary: files, by path from the directory, and "said"."""
    files = [path for path in directory.rglob("*") if path.is_file()]
    found = [str(path.relative_to(directory)) for path in files if CANARY.encode() in path.read_bytes()]
    return [*sorted(found), *(["said"] if CANARY.encode() in said else [])]


def write_inputs(directory: Path) -> None:
    """Write the inputs of a sweep whose candidate's engine prints secrets when it dies."""
    traffic = '# prometheus: "http://me:canary-space-1@prometheus.example/api"\n'
    (directory / "space.yaml").write_text(SPACE + traffic)
    (directory / "prompts.jsonl").write_text(PROMPTS)
    crash = f"faults: [{{kind: crash_at_start, k_min: 1, message: 'RuntimeError: {IN_THE_LOG}'}}]\n"
    (directory / "sim.yaml").write_text(PROFILE + crash)


@fault(
    Group.SECURITY,
    "secrets in variables, URLs, the space and what an engine prints",
    sees="`***` in their place, in the terminal as in every file",
    keeps="everything else: records, logs and reports name what failed",
)
def test_a_sweep_its_report_and_its_exports_hold_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs, out = tmp_path / "inputs", tmp_path / "written"
    inputs.mkdir()
    out.mkdir()
    write_inputs(inputs)
    registry = f"file://{out}/registry?password=canary-registry-1"
    options = ["--space", "space.yaml", "--engine", "sim:sim.yaml", "--out", str(out / "run"), "--registry", registry]
    code, said = calling(monkeypatch, inputs, "sweep", "simulated", *options, "--json")
    assert code == 0, said.decode()
    for words in (["report"], ["explain"], ["status"], ["export", "command"], ["export", "compose"]):
        code, more = calling(monkeypatch, inputs, *words, str(out / "run"))
        assert code == 0, more.decode()
        said += more
    assert holding(out, said) == []
    logs = [path.read_text() for path in out.rglob("engine.log")]
    assert any("cannot fetch https://user:***@hub.example/m with *** or ***" in log for log in logs)


@pytest.mark.parametrize(
    "option",
    [
        ["--storage", "postgresql://me:canary-option-1@127.0.0.1:1/studies"],
        ["--storage", "mysql://127.0.0.1:1/studies?password=canary-option-2"],
        ["--registry", "s3://me:canary-option-3@bucket/prefix"],
        ["--registry", "https://canary-option-4@registry.example/x?sig=canary-option-5"],
    ],
)
@fault(
    Group.SECURITY,
    "a storage or registry with a password that cannot be reached",
    sees="an error that names it, with `***` for the password",
    keeps="nothing was started",
)
def test_an_error_names_a_url_without_its_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: list[str]
) -> None:
    (tmp_path / "inputs").mkdir()
    write_inputs(tmp_path / "inputs")
    options = ["--space", "space.yaml", "--engine", "sim:sim.yaml", "--out", str(tmp_path / "written"), *option]
    code, said = calling(monkeypatch, tmp_path / "inputs", "sweep", "simulated", *options, "--json")
    assert code == 2, said.decode()
    assert b"***" in said
    assert holding(tmp_path, said) == ["inputs/sim.yaml", "inputs/space.yaml"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql+psycopg2://me:s:e@host/db", "postgresql+psycopg2://me:***@host/db"),
        ("sqlite:////a/b@c.db", "sqlite:////a/b@c.db"),
        ("http://host:80/a", "http://host:80/a"),
        ("https://ghp_x@host/a, https://b:c@host", "https://***@host/a, https://b:***@host"),
        ("postgresql://me@host/db", "postgresql://me@host/db"),
        ("s3://b/k?X-Amz-Signature=abc&X-Amz-Date=1", "s3://b/k?X-Amz-Signature=***&X-Amz-Date=1"),
        ("mysql://h/d?user=me&password=x#f", "mysql://h/d?user=me&password=***#f"),
        ("token=abc is no URL", "token=abc is no URL"),
    ],
)
def test_a_url_is_shown_without_what_opens_it(text: str, shown: str) -> None:
    assert without_credentials(text) == shown
    assert without_credentials(shown) == shown


def test_names_tell_secrets() -> None:
    secret = ("HF_TOKEN", "WANDB_API_KEY", "PGPASSWORD", "AWS_SECRET_ACCESS_KEY", "api-key", "credentials")
    assert all(map(is_secret_name, secret))
    assert not any(map(is_secret_name, ("TOKENIZERS_PARALLELISM", "MAX_TOKENS", "PATH", "VLLM_USE_V1")))
    assert secrets_of({"A_KEY": "long-enough", "B_KEY": "short", "C": "long-enough-2"}) == ("long-enough",)
    assert redacted("a long-enough b", ["long-enough", "long"]) == "a *** b"
    assert (
        without_json_secrets('{"token": "a\\"b", "k": "v", "n_tokens": "3"}')
        == '{"token": "***", "k": "v", "n_tokens": "3"}'
    )


def test_a_log_without_a_secret_is_left_alone_and_bytes_that_are_no_text_stay(tmp_path: Path) -> None:
    log = tmp_path / "engine.log"
    log.write_bytes(b"\xff one\r\ntwo")
    before = log.stat().st_ino
    conceal(log, ["canary-1234"])
    assert (log.stat().st_ino, log.read_bytes()) == (before, b"\xff one\r\ntwo")
    log.write_bytes(b"\xff one canary-1234\r\ntwo")
    conceal(log, ["canary-1234"])
    assert log.read_bytes() == b"\xff one ***\r\ntwo"
    conceal(tmp_path / "none.log", ["canary-1234"])
