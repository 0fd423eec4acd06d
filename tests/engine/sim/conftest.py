"""A loop whose time only moves when everything waits, and engines to talk to."""

from __future__ import annotations

import asyncio
import json
import selectors
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tuner.engine.sim.batch import Batch, Limits
from tuner.engine.sim.counters import EngineCounters
from tuner.engine.sim.faults import faults_of
from tuner.engine.sim.noise import LifeNoise
from tuner.engine.sim.profile import Profile
from tuner.engine.sim.work import Job, Work, Workshop
from tuner.records import Speculation

T = TypeVar("T")


class _JumpingSelector(selectors.SelectSelector):
    jumped_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("everything waits, and nothing will happen")
        self.jumped_s += max(0.0, timeout)
        return super().select(0)


class JumpingLoop(asyncio.SelectorEventLoop):
    """An event loop in virtual time: a wait takes no time, and the clock shows that it did."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.jumped_s


@pytest.fixture
def in_virtual_time() -> Callable[[Callable[[], Coroutine[Any, Any, T]]], T]:
    """`in_virtual_time(async_function)` runs it in a JumpingLoop."""

    def run(main: Callable[[], Coroutine[Any, Any, T]]) -> T:
        with asyncio.Runner(loop_factory=JumpingLoop) as runner:
            return runner.run(main())

    return run


@dataclass
class Served:
    """What one job got, in virtual seconds since it was submitted: [(time, token ids)], and why it ended."""

    work: Work
    sent_s: float
    chunks: list[tuple[float, tuple[int, ...]]]
    reason: str | None = None
    done: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def token_ids(self) -> tuple[int, ...]:
        return tuple(token for _, tokens in self.chunks for token in tokens)

    @property
    def tpot_s(self) -> float:
        return (self.chunks[-1][0] - self.chunks[0][0]) / (len(self.token_ids) - 1)


class Engine:
    """A batch without HTTP."""

    def __init__(self, profile: Profile, speculation: Speculation | None = None, **limits: Any) -> None:
        life = limits.pop("life", "life")
        self.counters = EngineCounters(speculation.num_speculative_tokens if speculation else None)
        self.faults = faults_of(profile, speculation, life)
        noise = LifeNoise(profile.noise, profile.seed, life, speculation is not None)
        self.workshop = Workshop(profile, "target", speculation, noise.repeat_factor)
        bounds = Limits(**{"max_num_seqs": 256, "kv_tokens": 1_000_000, **limits})
        self.loop: asyncio.Task[None] | None = None
        self.batch = Batch(profile, "target", speculation, bounds, self.counters, noise, self.faults)

    def submit(self, job: Job) -> Served:
        now = asyncio.get_running_loop().time
        sent_s = now()

        def deliver(tokens: Any, reason: str | None) -> None:
            served.chunks.append((now() - sent_s, tuple(tokens)))
            served.reason = reason
            if reason:
                served.done.set()

        served = Served(self.workshop.make(job, deliver), sent_s, [])
        self.batch.submit(served.work)
        return served

    async def until_done(self, served: list[Served], at_most_s: float = 1e5) -> None:
        """Step until these are served, or time is up; the loop goes on from call to call."""
        self.start()
        assert self.loop
        ends: set[asyncio.Future[Any]] = {asyncio.gather(*(one.done.wait() for one in served)), self.loop}
        await asyncio.wait(ends, timeout=at_most_s, return_when=asyncio.FIRST_COMPLETED)
        if self.loop.done():
            self.loop.result()

    def start(self) -> None:
        self.loop = self.loop or asyncio.create_task(self.batch.run())


@pytest.fixture
def make_engine() -> Callable[..., Engine]:
    """`make_engine(profile, speculation, max_num_seqs=..., kv_tokens=...)` -> Engine."""
    return Engine


def build_job(prompt: str = "tell me a story", **changes: Any) -> Job:
    values: dict[str, Any] = {
        "prompt": prompt,
        "prompt_tokens": len(prompt.split()),
        "max_tokens": 33,
        "temperature": 0.0,
        "top_p": 1.0,
        "top_k": -1,
        "seed": 0,
        "ignore_eos": True,
        "cache_salt": "salt",
    }
    return Job(**{**values, **changes})


@pytest.fixture
def make_job() -> Callable[..., Job]:
    """`make_job("prompt", max_tokens=8, ...)` -> Job."""
    return build_job


@dataclass
class EngineProcess:
    """`python -m tuner.engine.sim` in a process of its own."""

    process: subprocess.Popen[bytes]
    port: int
    log_path: Path

    def get(self, path: str) -> bytes:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=120) as answer:
            body: bytes = answer.read()
        return body

    def post(self, path: str, body: object) -> bytes:
        data = json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data)
        with urllib.request.urlopen(request, timeout=120) as answer:
            result: bytes = answer.read()
        return result

    def wait_ready(self, timeout_s: float = 120.0) -> EngineProcess:
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            with suppress(OSError):
                self.get("/health")
                return self
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        raise AssertionError(f"not ready: {self.log()}")

    def log(self) -> str:
        return self.log_path.read_text()


@pytest.fixture
def start_engine(tmp_path: Path) -> Iterator[Callable[..., EngineProcess]]:
    """`start_engine("--flag", "value", profile="yaml text", env=...)` -> EngineProcess, killed after the test."""
    started: list[EngineProcess] = []

    def start(*flags: str, profile: str = "", env: dict[str, str] | None = None) -> EngineProcess:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        profile_path, log_path = tmp_path / f"{port}.yaml", tmp_path / f"{port}.log"
        profile_path.write_text(profile)
        command = [sys.executable, "-m", "tuner.engine.sim", "--port", str(port), "--sim-profile", str(profile_path)]
        with log_path.open("wb") as log:
            process = subprocess.Popen([*command, *flags], stdout=log, stderr=subprocess.STDOUT, env=env)
        started.append(EngineProcess(process, port, log_path))
        return started[-1]

    yield start
    for engine in started:
        engine.process.kill()
        engine.process.wait()
