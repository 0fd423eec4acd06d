import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil
import pytest

from tuner.doctor.facts import Leftovers
from tuner.doctor.gather import leftovers
from tuner.doctor.gather.leftovers import engine_processes
from tuner.engine.process import SUPERVISOR
from tuner.store.lock import RunLock

SUPERVISED = ["/p/python", "-I", "-S", str(SUPERVISOR)]
ENGINE = ["/p/python", "-m", "vllm.entrypoints.openai.api_server", "--served-model-name", "trial-3-0a1b2c3d"]
NAME = "0a1b2c3d-0000-4000-8000-0a1b2c3d4e5f"


class Listed:
    """A process as psutil.process_iter gives it."""

    def __init__(self, pid: int, ppid: int, cmdline: list[str]) -> None:
        self.pid = pid
        self.info = {"pid": pid, "ppid": ppid, "name": cmdline[0], "cmdline": cmdline, "create_time": time.time() - 60}


def listed(*processes: tuple[int, int, list[str]]) -> Mapping[int, psutil.Process]:
    return {pid: Listed(pid, ppid, cmdline) for pid, ppid, cmdline in processes}  # type: ignore[misc]


def roles(*processes: tuple[int, int, list[str]]) -> dict[int, tuple[str, bool, bool]]:
    found = engine_processes(listed((1, 0, ["/sbin/init"]), *processes), me=99)
    assert all(59 < process.age_s < 90 for process in found)
    return {process.pid: (process.role, process.parent_alive, process.supervised) for process in found}


def test_a_running_sweep() -> None:
    assert roles(
        (10, 1, ["/p/python", "/p/tuner", "sweep"]),
        (11, 10, SUPERVISED),
        (12, 11, SUPERVISED),
        (13, 12, ENGINE),
        (14, 13, ["VLLM::EngineCore"]),
    ) == {11: ("supervisor", True, False), 13: ("engine", True, True)}


def test_a_supervisor_and_an_engine_whose_sweep_is_gone() -> None:
    assert roles((11, 1, SUPERVISED)) == {11: ("supervisor", False, False)}
    assert roles((13, 1, ENGINE), (14, 13, ["VLLM::EngineCore"])) == {13: ("engine", False, False)}


def test_a_core_whose_server_is_gone() -> None:
    assert roles((14, 1, ["VLLM::EngineCore"])) == {14: ("engine core", False, False)}


@pytest.mark.parametrize(
    "command",
    [
        ["vllm", "serve", "m", "--served-model-name", "production"],
        ["less", "supervisor.py"],
        ["vim", str(SUPERVISOR)],
        ["/p/python", "-m", "http.server"],
    ],
)
def test_other_programs_are_none_of_it(command: list[str]) -> None:
    assert roles((20, 1, command)) == {}


def test_somebodys_own_server_keeps_its_core() -> None:
    assert roles((20, 1, ["vllm", "serve", "m"]), (21, 20, ["VLLM::EngineCore"])) == {}


def test_this_process_is_left_out_and_counts_as_alive() -> None:
    assert roles((99, 1, ["/p/pytest"]), (11, 99, SUPERVISED)) == {11: ("supervisor", True, False)}


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A machine on which only what the test makes is left over; its path is short enough for a socket's name."""
    with tempfile.TemporaryDirectory(prefix="t", dir="/tmp") as name:
        path = Path(name)
        monkeypatch.setenv("TUNER_CACHE", str(path / "cache"))
        monkeypatch.setattr(leftovers, "_shared_memory", lambda: None)
        monkeypatch.setattr(leftovers, "_processes", dict)
        (path / "t").mkdir()
        yield path


def look(path: Path, *runs: Path) -> Leftovers:
    return leftovers.leftovers({"VLLM_RPC_BASE_PATH": str(path / "t"), "RAY_TMPDIR": str(path)}, runs)


def test_nothing_is_left_where_nothing_was(alone: Path) -> None:
    assert look(alone, alone / "runs") == Leftovers()


@pytest.fixture
def dead_socket(alone: Path) -> Iterator[Path]:
    path = alone / "t" / NAME
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))
    yield path


def test_sockets_of_engines_that_ended_and_the_command_that_removes_them(alone: Path, dead_socket: Path) -> None:
    (alone / "t" / "notes").touch()
    (alone / "t" / NAME.replace("0a", "0b")).touch()
    (found,) = look(alone).files
    assert (found.kind, found.count, found.in_use) == ("sockets", 1, False)
    subprocess.run(["/bin/sh", "-c", found.command], check=True)
    assert sorted(path.name for path in (alone / "t").iterdir()) == [NAME.replace("0a", "0b"), "notes"]


def test_sockets_are_in_use_while_one_of_them_is(alone: Path, dead_socket: Path) -> None:
    with socket.socket(socket.AF_UNIX) as living:
        living.bind(str(alone / "t" / NAME.replace("0a", "0c")))
        (found,) = look(alone).files
        assert (found.count, found.in_use) == (1, True)


def test_sessions_of_ray_and_unfinished_demo_models(alone: Path) -> None:
    session = alone / "ray/session_2026-11-30_20-59-48_436473_17108"
    build = alone / "cache/models/smollm2-demo.building-x y"
    for directory in (session, build):
        directory.mkdir(parents=True)
        (directory / "file").write_bytes(bytes(1000))
    sessions, builds = look(alone).files
    assert (sessions.kind, sessions.count, sessions.size_bytes) == ("Ray sessions", 1, 1000)
    assert (builds.kind, builds.count, builds.size_bytes) == ("unfinished demo models", 1, 1000)
    for found in (sessions, builds):
        subprocess.run(["/bin/sh", "-c", found.command], check=True)
    assert not session.exists() and not build.exists()
    assert look(alone) == Leftovers()


def test_a_lock_that_is_held_and_one_whose_sweep_was_killed(alone: Path) -> None:
    killed = alone / "runs/target/killed"
    holding = (
        "import os, sys; from pathlib import Path; from tuner.store.lock import RunLock\n"
        "RunLock.acquire(Path(sys.argv[1])); os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", holding, str(killed)], check=False)
    held = RunLock.acquire(alone / "runs/target/held")
    ended = RunLock.acquire(alone / "runs/target/ended")
    ended.release()
    try:
        before = sorted(alone.rglob("*"))
        found = {Path(run.path).name: run for run in look(alone, alone / "runs").runs}
        assert sorted(alone.rglob("*")) == before
    finally:
        held.release()
    assert set(found) == {"held", "killed"}
    assert found["held"].held and not found["killed"].held
    assert f"process {os.getpid()} on {socket.gethostname()}" == found["held"].holder


def test_a_holder_that_cannot_be_read_is_nobody(alone: Path) -> None:
    run = alone / "runs/a"
    run.mkdir(parents=True)
    (run / ".lock").touch()
    (run / ".holder.json").write_text(json.dumps({"pid": 1}))
    assert look(alone, run).runs == ()
