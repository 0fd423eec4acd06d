"""Every way in which an engine, its owner or its supervisor can end, with fake engines. Nothing may be left."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import psutil
import pytest

from tests.faults.matrix import Group, fault
from tuner.engine import process
from tuner.engine.process import (
    Launch,
    RunningEngine,
    Supervised,
    exit_words,
    free_port,
    launched_facts,
    running_engine,
)
from tuner.errors import EngineCrashed, EngineStuck, EngineTimeout, WrongServer

FAKES = Path(__file__).with_name("fakes")
NOTICED_S = 10.0
GONE_S = 120.0  # A leaked process would stay for longer; a busy machine may need seconds.

Make = Callable[..., Launch]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Return a function that makes a launch of the fake engine; at the end nothing of any may live or lie about."""
    made: list[Path] = []
    temporary = Path(tempfile.mkdtemp(prefix="engines-", dir="/tmp"))

    def launch(**options: Any) -> Launch:
        name = f"engine{len(made)}"
        port = options.setdefault("port", free_port())
        options.setdefault("served_name", name)
        options["pids"] = str(tmp_path / f"{name}.pids")
        made.append(Path(options["pids"]))
        return Launch(
            command=(sys.executable, "-I", "-S", str(FAKES / "fake_engine.py"), json.dumps(options)),
            env={"TMPDIR": str(temporary)},
            log_path=tmp_path / f"{name}.log",
            port=port,
            served_name=name,
            api_key="sesame-7",
            start_timeout_s=120,
            stall_timeout_s=120,
            version="0.0",
            stop_grace_s=0.2,
        )

    yield launch
    left = [pid for path in made for pid in living(path)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left
    assert wait_until(lambda: not any(temporary.iterdir()), GONE_S), "left in the temporary directory"
    temporary.rmdir()


def pids_of(launch: Launch) -> Path:
    return Path(json.loads(launch.command[-1])["pids"])


def living(pids: Path) -> list[int]:
    """Return those processes of a fake engine that still run its script."""
    noted = [int(word) for word in pids.read_text().split()] if pids.exists() else []
    return [pid for pid in noted if runs_fake(pid)]


def runs_fake(pid: int) -> bool:
    try:
        process = psutil.Process(pid)
        return process.status() != psutil.STATUS_ZOMBIE and "fake_engine" in " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return False


def wait_until(true: Callable[[], bool], limit_s: float) -> bool:
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        if true():
            return True
        time.sleep(0.02)
    return true()


def crash_of(engine: RunningEngine) -> str:
    """Return the message of the crash, which must be noticed."""
    deadline = time.monotonic() + GONE_S
    while time.monotonic() < deadline:
        try:
            engine.check_alive()
        except EngineCrashed as crash:
            return crash.message
        time.sleep(0.02)
    pytest.fail("the crash was not noticed")


def test_serves_and_leaves_nothing(make: Make) -> None:
    launch = make(daemons=2, max_model_len=640, say=["x INFO", "CPU KV cache size: 1,024 tokens"])
    phases: list[str] = []
    began_s = time.monotonic()
    with running_engine(launch, phases.append) as engine:
        assert len(living(pids_of(launch))) == 3
        engine.check_alive()
        assert engine.base_url == f"http://127.0.0.1:{launch.port}"
        assert (engine.facts.max_model_len, engine.facts.kv_cache_tokens) == (640, 1024)
        assert 0 < engine.facts.start_s < time.monotonic() - began_s
    assert living(pids_of(launch)) == []
    assert list(dict.fromkeys(phases)) == ["starting engine", "stopping engine"]
    with pytest.raises(EngineCrashed):
        engine.check_alive()


@pytest.mark.parametrize(("says", "noted"), [("0.0.0", False), ("0.1.0", True)])
def test_an_engine_of_another_release_than_was_resolved_is_noted(make: Make, says: str, noted: bool) -> None:
    with running_engine(make(version=says)) as engine:
        words = [line for line in engine.facts.changed_settings if line.startswith("version: ")]
    assert bool(words) is noted


def test_an_engine_that_ends_on_term_is_not_waited_for(make: Make) -> None:
    launch = replace(make(), stop_grace_s=300)
    with running_engine(launch):
        stopping = time.monotonic()
    assert time.monotonic() - stopping < 120


@fault(
    Group.ENGINE,
    "ignores TERM, and so do its children in sessions of their own",
    sees="the trial takes 8 s longer to stop",
    keeps="everything measured; all its processes are killed",
)
def test_ignoring_term_does_not_help(make: Make) -> None:
    launch = make(daemons=2, ignore_term=True)
    with running_engine(launch):
        pass
    assert living(pids_of(launch)) == []


def test_an_exception_in_the_block_passes_and_leaves_nothing(make: Make) -> None:
    launch = make(daemons=1)
    with pytest.raises(ZeroDivisionError), running_engine(launch):
        _ = 1 / 0
    assert living(pids_of(launch)) == []


def test_a_watcher_that_gave_up_does_not_keep_the_engine(make: Make) -> None:
    def abandons(phase: str) -> None:
        if phase == "stopping engine":
            raise KeyboardInterrupt

    launch = make(daemons=1)
    with pytest.raises(KeyboardInterrupt), running_engine(launch, abandons):
        pass
    assert living(pids_of(launch)) == []


def test_memory_that_does_not_return_is_said_unless_something_else_went_wrong(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "wait_for_memory", lambda before, used: {"0": 3 * 2**30})
    with pytest.raises(EngineStuck, match=r"GPU 0: 3\.0 GiB"), running_engine(make()):
        pass
    with pytest.raises(ZeroDivisionError), running_engine(make()):
        _ = 1 / 0


@fault(
    Group.ENGINE,
    "crashes at start while its port accepts and stays silent",
    sees="`crashed`, with the first causal line of its log, within seconds",
    keeps="the other candidates; none of its processes",
)
@pytest.mark.parametrize("silent_port", [False, True], ids=["nobody-listens", "port-accepts-but-is-silent"])
def test_a_crash_at_start_is_noticed_with_its_cause(make: Make, silent_port: bool) -> None:
    say = ["Traceback (most recent call last):", "  File x", "ValueError: no such layer", "RuntimeError: Failed"]
    launch = make(daemons=1, say=say, exit_code=3, exit_after_s=0.4, silent_port=silent_port, delay_s=60)
    with (
        pytest.raises(EngineCrashed, match=r"exit code 3: ValueError: no such layer") as caught,
        running_engine(launch),
    ):
        pass
    ended = float(launch.log_path.read_text().split("ending at ")[1])
    assert time.time() - ended < NOTICED_S
    assert str(launch.log_path) in caught.value.next_step
    assert living(pids_of(launch)) == []


@fault(
    Group.ENGINE,
    "is killed by the kernel while it serves",
    sees="`crashed`: SIGKILL, often the kernel's out-of-memory killer",
    keeps="the other candidates; its children are ended too",
)
def test_a_crash_while_serving_is_noticed(make: Make) -> None:
    launch = make(daemons=1)
    with running_engine(launch) as engine:
        os.kill(int(pids_of(launch).read_text().split()[0]), signal.SIGKILL)
        assert "SIGKILL (often the kernel's out-of-memory killer)" in crash_of(engine)
        assert wait_until(lambda: living(pids_of(launch)) == [], GONE_S)


@fault(
    Group.ENGINE,
    "cannot be executed at all",
    sees="`not_started`, with the system's reason",
    keeps="the other candidates",
)
def test_a_command_that_does_not_exist(make: Make) -> None:
    launch = replace(make(), command=("/nonexistent/python", "-m", "vllm"))
    with pytest.raises(EngineCrashed, match=r"could not be started: .*/nonexistent/python"), running_engine(launch):
        pass


def test_a_silent_start_is_stuck(make: Make) -> None:
    launch = replace(make(delay_s=60), stall_timeout_s=0.5)
    with pytest.raises(EngineStuck, match="silent"), running_engine(launch):
        pass


@fault(
    Group.ENGINE,
    "is not ready in time although its log grows",
    sees="`slow_start`: raise start_timeout_s or make the start cheaper",
    keeps="the other candidates",
)
def test_a_slow_start_that_logs_is_a_timeout(make: Make) -> None:
    launch = replace(make(delay_s=60, chatter=True), stall_timeout_s=30, start_timeout_s=1.2)
    with pytest.raises(EngineTimeout, match="still grows"), running_engine(launch):
        pass


@fault(
    Group.ENGINE,
    "finds a stranger's server on its port",
    sees="`port_taken`; the next call of the command tries it again",
    keeps="the other candidates",
)
def test_a_stranger_on_the_port(make: Make) -> None:
    class Stranger(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"data": [{"id": "theirs"}]}')

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Stranger)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        launch = make(port=server.server_port, delay_s=60)
        with pytest.raises(WrongServer, match="serves theirs instead of engine0"), running_engine(launch):
            pass
    finally:
        server.shutdown()
        server.server_close()


def test_an_engine_that_is_unhealthy_is_not_ready(make: Make) -> None:
    launch = replace(make(status=503), stall_timeout_s=0.5)
    with pytest.raises(EngineStuck), running_engine(launch):
        pass


@contextmanager
def owner_of(launch: Launch, *, fork: bool = False) -> Iterator[subprocess.Popen[str]]:
    """Run a process that holds `launch`; it is handed out when its engine serves, and killed at the end."""
    facts = json.dumps(asdict(launch), default=str)
    command = [sys.executable, str(FAKES / "owner.py"), facts, str(int(fork))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        try:
            assert owner.stdout is not None
            assert owner.stdout.readline() == "serves\n"
            assert len(living(pids_of(launch))) == 3
            yield owner
        finally:
            owner.kill()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_survives_its_owner(make: Make, number: signal.Signals) -> None:
    launch = make(daemons=2, ignore_term=True)
    with owner_of(launch) as owner:
        owner.send_signal(number)
        owner.wait(GONE_S)
    assert wait_until(lambda: living(pids_of(launch)) == [], GONE_S)


def test_nothing_survives_an_owner_interrupted_again_while_it_stops(make: Make) -> None:
    launch = replace(make(daemons=2, ignore_term=True), stop_grace_s=10)
    with owner_of(launch) as owner:
        owner.send_signal(signal.SIGINT)
        assert owner.stdout is not None and owner.stdout.readline() == "stopping engine\n"
        time.sleep(0.5)  # until it waits for the engine's end
        owner.send_signal(signal.SIGINT)
        owner.wait(GONE_S)
        assert living(pids_of(launch)), "it did not wait for the end of the grace"
    assert wait_until(lambda: living(pids_of(launch)) == [], GONE_S)


def test_nothing_survives_an_owner_whose_fork_holds_the_pipe(make: Make) -> None:
    launch = make(daemons=2)
    with owner_of(launch, fork=True) as owner:
        (forked,) = [p for p in psutil.Process(owner.pid).children() if "owner.py" in " ".join(p.cmdline())]
        owner.kill()
        owner.wait(GONE_S)
        assert wait_until(lambda: living(pids_of(launch)) == [], GONE_S)
        forked.kill()


def test_nothing_survives_an_owner_killed_while_the_engine_starts(make: Make) -> None:
    launch = make(daemons=2, delay_s=60, ignore_term=True)
    facts = json.dumps(asdict(launch), default=str)
    with subprocess.Popen([sys.executable, str(FAKES / "owner.py"), facts, "0"]) as owner:
        assert wait_until(lambda: len(living(pids_of(launch))) == 3, GONE_S)
        owner.kill()
    assert wait_until(lambda: living(pids_of(launch)) == [], GONE_S)


@fault(
    Group.ENGINE,
    "loses its supervisor to a KILL",
    sees="`supervisor_ended`: run with --retry-failed",
    keeps="the other candidates; none of its processes",
)
@pytest.mark.parametrize("victim", ["guard", "keeper"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_survives_half_of_its_supervisor(make: Make, victim: str, number: signal.Signals) -> None:
    launch = make(daemons=2, ignore_term=True)
    with running_engine(launch) as engine:
        guard = psutil.Process(engine.supervised.supervisor_pid)
        (keeper,) = guard.children()
        (guard if victim == "guard" else keeper).send_signal(number)
        assert wait_until(lambda: living(pids_of(launch)) == [], GONE_S)
        assert "supervisor was ended" in crash_of(engine)


def test_nothing_survives_a_killed_ray_worker_or_driver(make: Make) -> None:
    launches = [make(daemons=2, ignore_term=True) for _ in range(3)]
    facts = json.dumps([asdict(launch) for launch in launches], default=str)
    env = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    command = [sys.executable, str(FAKES / "ray_owners.py"), facts]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL, env=env) as driver:
        try:
            assert driver.stdout is not None
            assert driver.stdout.readline() == "ready\n"
            assert driver.stdout.readline() == "killed\n"
            assert wait_until(lambda: not (living(pids_of(launches[0])) or living(pids_of(launches[1]))), GONE_S)
            assert len(living(pids_of(launches[2]))) == 3
        finally:
            driver.kill()
    assert wait_until(lambda: living(pids_of(launches[2])) == [], GONE_S)


def test_stop_is_safe_before_the_engine_is_there(make: Make) -> None:
    launch = make(daemons=1)
    Supervised(launch).stop()
    assert living(pids_of(launch)) == []


def test_the_key_is_in_the_environment_and_nowhere_else(make: Make, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("VLLM_PORT", "tcp://10.0.0.1:80")
    monkeypatch.setenv("VLLM_ENGINE_ITERATION_TIMEOUT_S", "60")
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    launch = replace(make(env_file=str(tmp_path / "env.json")), env={"CUDA_VISIBLE_DEVICES": "", "HF_TOKEN": "hf_x"})
    with running_engine(launch) as engine:
        seen = json.loads((tmp_path / "env.json").read_text())
        supervisors = psutil.Process(engine.supervised.supervisor_pid)
        commands = [p.cmdline() for p in [supervisors, *supervisors.children(recursive=True)]]
        facts = engine.facts
    assert seen["VLLM_API_KEY"] == "sesame-7"
    assert not {"VLLM_PORT", "RAY_ADDRESS"} & set(seen)
    assert (seen["HF_HUB_OFFLINE"], seen["VLLM_NO_USAGE_STATS"], seen["HF_TOKEN"]) == ("1", "1", "hf_x")
    assert "sesame-7" not in str(commands)
    assert "sesame-7" not in str(facts) and "hf_x" not in str(facts)
    assert facts.env["VLLM_ENGINE_ITERATION_TIMEOUT_S"] == "60"
    assert facts.env["CUDA_VISIBLE_DEVICES"] == ""


def test_facts_of_an_engine_that_never_got_ready(make: Make) -> None:
    launch = make()
    assert launched_facts(launch).command == launch.command
    assert launched_facts(launch).kv_cache_tokens is None


def test_exit_words() -> None:
    assert exit_words(2) == "exit code 2"
    assert exit_words(-signal.SIGSEGV) == "SIGSEGV"
    assert exit_words(-99) == "signal 99"
    assert "out-of-memory" in exit_words(-signal.SIGKILL)


def test_a_free_port_can_be_bound_and_is_not_ephemeral() -> None:
    port = free_port()
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", port))
    assert port < 32_768  # Linux' default


def test_taken_ports_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = free_port()
    with socket.create_server(("127.0.0.1", taken)):
        monkeypatch.setattr("tuner.engine.process.PORTS", range(taken, taken + 1))
        with pytest.raises(EngineCrashed, match="No TCP port"):
            free_port()
