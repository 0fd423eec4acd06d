"""An engine's life: start it, wait until it serves, hand it out, and leave nothing of it behind.

The engine belongs to a supervisor process (supervisor.py), not to us: however this process ends, the supervisor sees
its pipe close and removes the engine with everything that it started.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tuner.device_lock import descriptors
from tuner.engine import logscan, readiness
from tuner.engine.concealing import conceal
from tuner.engine.environment import engine_env, recorded_env, redacted_command
from tuner.engine.gpu_memory import used_gpu_memory, wait_for_memory
from tuner.engine.memory_log import engine_memory
from tuner.engine.sockets import socket_directory, with_sockets_in
from tuner.errors import EngineCrashed, EngineStuck
from tuner.records import EngineFacts
from tuner.records.redaction import redacted, secrets_of, without_controls

SUPERVISOR = Path(__file__).with_name("supervisor.py")
STARTING = "starting engine"
STOP_GRACE_S = 8.0
KILL_MARGIN_S = 20.0
"""How long after the grace a killed process may need to disappear (unmapping memory) before it counts as stuck."""
PORTS = range(20_000, 32_000)
"""Below Linux' ephemeral ports (32768 on), above those that Ray gives its workers (10002-19999)."""


@dataclass(frozen=True)
class Launch:
    """All it takes to start one engine.

    env: variables on top of ours (CUDA_VISIBLE_DEVICES, the space's `env`).  served_name: new for every
    trial.  api_key: travels in the environment, never in the command.  start_timeout_s: until ready.
    stall_timeout_s: longest silence of the log until ready.  stop_grace_s: between TERM and KILL.
    """

    command: tuple[str, ...]
    env: Mapping[str, str]
    log_path: Path
    port: int
    served_name: str
    api_key: str
    start_timeout_s: float
    stall_timeout_s: float
    version: str
    stop_grace_s: float = STOP_GRACE_S

    @property
    def secrets(self) -> tuple[str, ...]:
        """What of the engine's environment must not be written down."""
        return secrets_of(engine_env(os.environ, self.env, self.api_key))

    @property
    def log(self) -> str:
        """The engine's log so far, see `logscan.read_log`, without secrets and what acts on a terminal."""
        return without_controls(redacted(logscan.read_log(self.log_path), self.secrets))


def free_port() -> int:
    """Return a TCP port of 127.0.0.1 that is free at this moment, from where the system takes none for clients.

    A port of the ephemeral range could be taken by anybody's outgoing connection before the engine binds it.
    """
    for port in random.sample(PORTS, len(PORTS)):
        with socket.socket() as listener, contextlib.suppress(OSError):
            listener.bind(("127.0.0.1", port))
            return port
    raise EngineCrashed(f"No TCP port of {PORTS.start}-{PORTS.stop - 1} is free.", "`ss -ltnp` shows who listens.")


class Supervised:
    """An engine under its supervisor. Not thread-safe."""

    def __init__(self, launch: Launch) -> None:
        """Start both. Raises OSError if not even the supervisor can be started."""
        self._launch = launch
        self._unread = b""
        self._events: dict[str, dict[str, object]] = {}
        self._closed = False
        self.started_s = time.monotonic()
        env = engine_env(os.environ, launch.env, launch.api_key)
        launch.log_path.parent.mkdir(parents=True, exist_ok=True)
        with launch.log_path.open("ab") as log, socket_directory(env) as sockets:
            self._supervisor = subprocess.Popen(
                [sys.executable, "-I", "-S", str(SUPERVISOR)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
                pass_fds=(*descriptors(), sockets.lock),
                bufsize=0,
            )
        assert self._supervisor.stdin is not None and self._supervisor.stdout is not None
        self._order, self._reports = self._supervisor.stdin, self._supervisor.stdout
        os.set_blocking(self._reports.fileno(), False)
        self._send_request(with_sockets_in(sockets.path, env), sockets.path)

    def _send_request(self, env: Mapping[str, str], sockets: Path) -> None:
        request = {
            "command": list(self._launch.command),
            "env": env,
            "sockets": str(sockets),
            "log_path": str(self._launch.log_path.absolute()),
            "grace_s": self._launch.stop_grace_s,
            "owner": os.getpid(),
        }
        rest = memoryview(json.dumps(request).encode() + b"\n")
        try:
            while rest:
                rest = rest[self._order.write(rest) or 0 :]
        except BrokenPipeError:
            return  # It is gone already; check_alive says so.

    @property
    def supervisor_pid(self) -> int:
        """Process id of the supervisor's guard; the keeper is its child."""
        return self._supervisor.pid

    def check_alive(self) -> None:
        """Raise EngineCrashed if the engine, or what watches over it, has ended. Never waits."""
        self._read_reports()
        if self._closed or {"exited", "failed", "lost", "gone"} & set(self._events):
            raise self._crash()

    def stop(self) -> None:
        """End the engine and everything that it started, and return when it is gone.

        Raises EngineStuck when something of it cannot be killed. Interrupted, it leaves the rest to the supervisor.
        """
        self._order.close()
        deadline = time.monotonic() + self._launch.stop_grace_s + KILL_MARGIN_S
        with selectors.DefaultSelector() as selector:
            selector.register(self._reports, selectors.EVENT_READ)
            while not self._closed and (left := deadline - time.monotonic()) > 0:
                selector.select(left)
                self._read_reports()
        if not self._closed:
            raise EngineStuck(
                f"The engine's processes do not go away although they were killed (supervisor {self._supervisor.pid}).",
                "They are probably stuck in the GPU's driver: look at `dmesg`; the device may need a reset.",
            )
        self._reports.close()
        self._supervisor.wait()

    def _read_reports(self) -> None:
        while not self._closed:
            part = self._reports.read(65536)
            if part is None:
                return
            self._closed = part == b""
            *lines, self._unread = (self._unread + part).split(b"\n")
            for line in lines:
                report = json.loads(line)
                self._events[report["event"]] = report

    def _crash(self) -> EngineCrashed:
        after = f"after {time.monotonic() - self.started_s:.1f} s"
        cause = logscan.first_cause(self._launch.log)
        code = None
        if "failed" in self._events:
            what, cause = f"The engine could not be started: {self._events['failed']['error']}", ""
        elif "exited" in self._events:
            code = int(str(self._events["exited"]["code"]))
            what = f"The engine ended {after} with {exit_words(code)}"
        else:
            what = f"The engine's supervisor was ended by someone {after}, and the engine with it"
        return EngineCrashed(f"{what}: {cause}" if cause else f"{what}.", f"Its log: {self._launch.log_path}", code)


def exit_words(code: int) -> str:
    """Return words for an exit code; negative codes are signals."""
    if code >= 0:
        return f"exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    hint = " (often the kernel's out-of-memory killer)" if -code == signal.SIGKILL else ""
    return f"{name}{hint}"


@dataclass(frozen=True)
class RunningEngine:
    """An engine that serves. base_url: without a trailing slash, without /v1."""

    base_url: str
    served_name: str
    api_key: str
    facts: EngineFacts
    supervised: Supervised

    def check_alive(self) -> None:
        """Raise EngineCrashed, with the cause from its log, if the engine has ended."""
        self.supervised.check_alive()


def _silent(_: str) -> None:
    pass


@contextlib.contextmanager
def running_engine(launch: Launch, on_phase: Callable[[str], None] = _silent) -> Iterator[RunningEngine]:
    """Start an engine, yield it when it serves, stop it however the block ends, and wait for its memory to return.

    Raises EngineCrashed, EngineTimeout, EngineStuck or WrongServer while starting; EngineStuck after a block that ended
    well if the memory does not return: somebody else used the GPU meanwhile, or the next engine will find less of it.
    """
    devices = launch.env.get("CUDA_VISIBLE_DEVICES", "")
    memory_before = used_gpu_memory(devices)
    on_phase(STARTING)
    supervised = Supervised(launch)
    try:
        yield _ready(launch, supervised, on_phase)
    finally:
        try:
            on_phase("stopping engine")
        finally:
            supervised.stop()
            conceal(launch.log_path, launch.secrets)
        missing = wait_for_memory(memory_before, lambda: used_gpu_memory(devices))
    if missing:
        more = ", ".join(f"GPU {name}: {size / 2**30:.1f} GiB" for name, size in missing.items())
        raise EngineStuck(
            f"More GPU memory is in use than before the engine, although the engine is gone ({more}).",
            "`nvidia-smi` shows whose it is; nothing else may use the GPU. Then sweep again with --retry-failed.",
        )


def _ready(launch: Launch, supervised: Supervised, on_phase: Callable[[str], None]) -> RunningEngine:
    def check_alive() -> None:
        on_phase(STARTING)  # again and again: who listens may end the wait by raising
        supervised.check_alive()

    served = readiness.wait_until_ready(
        launch.port,
        launch.served_name,
        launch.api_key,
        start_timeout_s=launch.start_timeout_s,
        stall_timeout_s=launch.stall_timeout_s,
        log_bytes=lambda: launch.log_path.stat().st_size,
        check_alive=check_alive,
    )
    facts = launched_facts(launch)
    other = readiness.other_version(launch.version, served.version)
    facts = replace(
        facts,
        start_s=time.monotonic() - supervised.started_s,
        max_model_len=served.max_model_len,
        changed_settings=(*facts.changed_settings, *([other] if other else [])),
    )
    base_url = f"http://127.0.0.1:{launch.port}"
    return RunningEngine(base_url, launch.served_name, launch.api_key, facts, supervised)


def launched_facts(launch: Launch) -> EngineFacts:
    """Return what is known of an engine from its launch and its log; also of one that never got ready (start_s 0)."""
    log = launch.log
    env = engine_env(os.environ, launch.env, launch.api_key)
    return EngineFacts(
        version=launch.version,
        command=redacted_command(launch.command, launch.api_key),
        env=recorded_env(env, launch.env),
        start_s=0.0,
        kv_cache_tokens=logscan.kv_cache_tokens(log),
        changed_settings=logscan.changed_settings(log),
        memory=engine_memory(log),
    )
