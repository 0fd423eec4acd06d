"""A short sweep in a process of its own, to be killed or told to stop at some moment."""

from __future__ import annotations

import hashlib
import os
import random
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import psutil

MARK = "SPEC_TUNER_TEST_OWNER"
"""A variable that every process inherits which a sweep starts: so they are found, wherever they end up."""
GONE_WITHIN_S = 60.0
SPACE = """
target: simulated
engine_args: {max_model_len: 2048}
drafts:
  - {name: good, method: draft_model, model: good, k: [3]}
  - {name: weak, method: draft_model, model: weak, k: [2]}
load_points:
  - {eval_set: prompts.jsonl, temperature: 0, concurrency: 1, max_tokens: 8}
protocol: {repeats: 1, lives: LIVES, warmup_requests: 1}
"""
REAL_SPACE = """
engine_args: {max_model_len: 1024, max_num_seqs: 4, enforce_eager: true, gpu_memory_utilization: 0.3}
env: {VLLM_CPU_KVCACHE_SPACE: "1", VLLM_CPU_NUM_OF_RESERVED_CPU: "0"}
drafts:
  - {name: ngram, method: ngram, options: {prompt_lookup_min: 1, prompt_lookup_max: 3}, k: [2]}
load_points:
  - {eval_set: prompts.jsonl, temperature: 0, concurrency: 1, max_tokens: 8}
protocol: {repeats: 1, lives: 1, warmup_requests: 1}
"""
PROMPTS = [f'{{"id": "p{i}", "category": "c", "prompt": "{"word " * (i + 1)}"}}\n' for i in range(8)]
PROFILE = """
targets: [{match: '*', step_s: STEP_S}]
drafts:
  - {match: '*weak*', step_s: 0.004, overhead_s: STEP_S, acceptance: [0.1]}
  - {match: '*', step_s: 0.0005, acceptance: [0.9]}
"""


@dataclass
class Place:
    """A directory with what a sweep reads, and everything that it writes.

    lives: of the finalists, 1 for none.  real: with vLLM's CPU build and a demo model, on Ray.
    step_s: of the simulated engine, the longer the less other processes tell in its figures.
    """

    path: Path
    lives: int = 3
    real: bool = False
    step_s: float = 0.02
    mark: str = field(default_factory=lambda: uuid4().hex)

    def __post_init__(self) -> None:
        self.temporary.mkdir(parents=True)
        space, prompts = (REAL_SPACE, PROMPTS[:3]) if self.real else (SPACE, PROMPTS)
        for name, text in (("space.yaml", space), ("prompts.jsonl", "".join(prompts)), ("sim.yaml", PROFILE)):
            (self.path / name).write_text(text.replace("LIVES", str(self.lives)).replace("STEP_S", str(self.step_s)))

    @property
    def run(self) -> Path:
        return self.path / "run"

    @property
    def temporary(self) -> Path:
        return self.path / "tmp"

    @property
    def arguments(self) -> list[str]:
        """Of `tuner`."""
        target = ["demo:original"] if self.real else ["any", "--engine", "sim:sim.yaml"]
        return ["sweep", *target, "--space", "space.yaml", "--out", "run", "--json"]

    @property
    def ray(self) -> Path:
        """Where Ray has its sessions: a short path, as sockets are in it."""
        return Path("/tmp") / f"k{self.mark[:8]}"

    @property
    def env(self) -> dict[str, str]:
        """TMPDIR and Ray's directory are of this place, so that what is left in them is left by its sweeps."""
        return {**os.environ, MARK: self.mark, "TMPDIR": str(self.temporary), "RAY_TMPDIR": str(self.ray)}

    def command(self) -> str:
        """Return the sweep as a shell command."""
        return shlex.join([sys.executable, "-m", "tuner", *self.arguments])

    def start(self) -> Driver:
        """Start the sweep, or go on with it."""
        return self.paste(self.command())

    def paste(self, command: str) -> Driver:
        """Start what a user would paste into a shell; signals that whoever runs us ignores (nohup, &) count here."""
        said, told = (self.path / f"{name}-{uuid4().hex[:8]}.txt" for name in ("said", "told"))
        with said.open("wb") as err, told.open("wb") as out:
            process = subprocess.Popen(
                ["sh", "-c", f"exec env --default-signal=INT,HUP,TERM {command}"],
                cwd=self.path,
                env=self.env,
                stdout=out,
                stderr=err,
            )
        return Driver(process, said, told)

    def processes(self) -> list[psutil.Process]:
        """Return everything alive that a sweep of this place started, itself included."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.status() != psutil.STATUS_ZOMBIE and process.environ().get(MARK) == self.mark:
                    found.append(process)
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue
        return found

    def left(self, within_s: float = GONE_WITHIN_S) -> tuple[float, list[str]]:
        """Return how long the last process took to be gone, seconds, and those that are not."""
        began_s = time.monotonic()
        while (found := self.processes()) and time.monotonic() - began_s < within_s:
            time.sleep(0.1)
        return time.monotonic() - began_s, [f"{one.pid}: {' '.join(one.cmdline())[:200]}" for one in found]

    def records(self) -> dict[str, str]:
        """Return a digest of each finished trial, record and samples."""
        return {
            record.parent.name: hashlib.sha256(
                record.read_bytes() + (record.parent / "samples.parquet").read_bytes()
            ).hexdigest()
            for record in sorted(self.run.glob("trials/*/record.json"))
        }


@dataclass
class Driver:
    """A running `tuner sweep`.  said, told: where its standard error and its standard output go."""

    process: subprocess.Popen[bytes]
    said: Path
    told: Path

    @property
    def words(self) -> str:
        """What it said so far."""
        return self.said.read_text(errors="replace")

    @property
    def out(self) -> str:
        """What it wrote to standard output so far."""
        return self.told.read_text(errors="replace")

    def says(self, words: str, within_s: float = 900.0) -> bool:
        """Wait until it says this; False where it ended without."""
        deadline_s = time.monotonic() + within_s
        while words not in self.words:
            if self.process.poll() is not None:
                return words in self.words
            if time.monotonic() > deadline_s:
                self.process.kill()
                raise AssertionError(f"it does not say {words!r}: {self.words}")
            time.sleep(0.02)
        return True

    def ends(self, within_s: float = 300.0) -> int:
        """Wait for its end and return its exit code."""
        return self.process.wait(within_s)

    def ends_within(self, seconds: float) -> bool:
        """Wait for its end, so long at most."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
        return self.process.returncode is not None


@dataclass(frozen=True)
class Moment:
    """When to end a driver: so long after it said something, or after its start where `after` is "any"."""

    after: str
    delay_s: float

    def come(self, driver: Driver) -> bool:
        """Wait for it; return whether the driver is still there."""
        if self.after != "any":
            driver.says(self.after)
        return not driver.ends_within(self.delay_s)


def random_moments(draw: random.Random, most_s: float) -> Iterator[Moment]:
    """Yield moments without end: most at any time in the first `most_s` of a session, which start and load fill."""
    while True:
        after = draw.choice(("any",) * 6 + ("trial", "done in", "writing the report", "kept in"))
        yield Moment(after, draw.uniform(0.0, most_s if after == "any" else 0.3))


def kill_at(place: Place, moment: Moment) -> bool:
    """Start the sweep and kill it then; return whether it was still running."""
    driver = place.start()
    running = moment.come(driver)
    driver.process.kill()
    driver.process.wait()
    return running
