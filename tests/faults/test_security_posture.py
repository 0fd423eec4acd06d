"""What holds whatever is measured: no network nobody asked for, no code of others, sane permissions, plain YAML."""

from __future__ import annotations

import ast
import os
import socket
import stat
from contextlib import chdir
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from tests.faults.matrix import Group, fault
from tests.faults.small_machine import sweep, write_inputs
from tuner.engine.api_key import FILE_NAME, kept_key
from tuner.engine.argv import engine_command
from tuner.engine.environment import engine_env
from tuner.engine.resolve import resolve_engine
from tuner.records import Candidate, slug

TUNER = Path(__file__).parents[2] / "tuner"
SAFE_LOADERS = {"_Loader", "_Quick", "yaml.SafeLoader", "yaml.CSafeLoader"}
CALLS_OF_CODE = {"eval", "exec", "pickle.loads", "pickle.load", "marshal.loads", "os.system", "os.popen", "shelve.open"}


def calls(path: Path) -> list[tuple[str, ast.Call]]:
    """Return every call in a file with its name as it is written."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [(ast.unparse(node.func), node) for node in ast.walk(tree) if isinstance(node, ast.Call)]


def every_call() -> list[tuple[Path, str, ast.Call]]:
    """Return every call in the package."""
    return [(path, name, call) for path in sorted(TUNER.rglob("*.py")) for name, call in calls(path)]


def test_yaml_is_read_as_plain_data_and_nothing_that_was_read_is_run() -> None:
    seen = every_call()
    loads = [(path, call) for path, name, call in seen if name in ("yaml.load", "yaml.compose", "yaml.parse")]
    assert loads
    for path, call in loads:
        loader = next((ast.unparse(word.value) for word in call.keywords if word.arg == "Loader"), "none")
        assert loader in SAFE_LOADERS, f"{path}:{call.lineno} reads YAML with {loader}"
    unsafe = [f"{path}:{call.lineno}" for path, name, call in seen if name in ("yaml.unsafe_load", "yaml.full_load")]
    run = [f"{path}:{call.lineno}" for path, name, call in seen if name in CALLS_OF_CODE]
    shell = [
        f"{path}:{call.lineno}"
        for path, name, call in seen
        if any(word.arg == "shell" and ast.unparse(word.value) != "False" for word in call.keywords)
        and name.startswith("subprocess")
    ]
    assert (unsafe, run, shell) == ([], [], [])


def test_nothing_but_the_users_own_argument_lets_a_model_run_code() -> None:
    for path, _, call in every_call():
        for word in call.keywords:
            if word.arg == "trust_remote_code":
                assert ast.unparse(word.value) != "True", f"{path}:{call.lineno}"
    engine = resolve_engine("sim")
    assert "--trust-remote-code" not in engine_command(engine, "m", "s", 1, Candidate())
    assert "--trust-remote-code" in engine_command(engine, "m", "s", 1, Candidate({"trust_remote_code": True}))


def test_an_engine_listens_on_loopback_alone_and_gets_no_key_as_an_argument() -> None:
    command = engine_command(resolve_engine("sim"), "m", "s", 1, Candidate())
    assert command[command.index("--host") + 1] == "127.0.0.1"
    assert not any("key" in word for word in command)


def test_engines_are_told_to_report_to_nobody_whatever_is_inherited() -> None:
    env = engine_env({"HF_HUB_OFFLINE": "0", "VLLM_NO_USAGE_STATS": "0", "RAY_USAGE_STATS_ENABLED": "1"}, {}, "k")
    told = {name: env[name] for name in ("HF_HUB_OFFLINE", "VLLM_NO_USAGE_STATS", "DO_NOT_TRACK")}
    assert told == {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
    assert (env["RAY_USAGE_STATS_ENABLED"], env["HF_HUB_DISABLE_TELEMETRY"]) == ("0", "1")


class Outside(Exception):
    """A connection left this machine."""


@fault(
    Group.SECURITY,
    "a network that must not be used",
    sees="nothing: a sweep of local models connects to its own engines alone",
    keeps="everything: files are private where the umask says so, the engines' key always",
)
def test_a_sweep_connects_to_loopback_alone_and_keeps_to_the_umask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, asked = socket.socket.connect, []

    def connect(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            asked.append(address[0])
            if not ip_address(address[0]).is_loopback:
                raise Outside(address)
        real(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write_inputs(tmp_path)
    before = os.umask(0o077)
    try:
        with chdir(tmp_path):
            sweep()
    finally:
        os.umask(before)
    assert asked, "the engines were never asked: this test sees nothing"
    written = [path for top in ("run", "registry") for path in (tmp_path / top).rglob("*")]
    assert [path for path in written if path.stat().st_mode & 0o077] == []


def test_the_key_is_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        kept_key(tmp_path)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / FILE_NAME).stat().st_mode) == 0o600


@pytest.mark.parametrize("name", ["../../x", "/etc/passwd", "..", ".", "a/../b", "\0", "~root", "a\nb", "-rf"])
def test_a_name_of_others_is_one_part_of_a_path(name: str) -> None:
    part = slug(name)
    assert part and "/" not in part and "\0" not in part and part not in (".", "..") and not part.startswith(("-", "."))
