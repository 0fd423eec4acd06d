"""A short simulated sweep in a process of its own, to be killed or told to stop; and what must hold afterwards."""

from __future__ import annotations

import hashlib
import os
import random
import shlex
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil
import yaml

from tuner.records import Role, Trial
from tuner.store import read_run

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
PROMPTS = "".join(f'{{"id": "p{i}", "category": "c", "prompt": "{"word " * (i + 1)}"}}\n' for i in range(8))
PROFILE = """
targets: [{match: '*', step_s: 0.02}]
drafts:
  - {match: '*weak*', step_s: 0.004, acceptance: [0.1]}
  - {match: '*', step_s: 0.0005, acceptance: [0.9]}
"""


@dataclass
class Place:
    """A directory with what a sweep reads, and everything that it writes.

    lives: of the finalists, 1 for none.  real: with vLLM's CPU build and a demo model, on Ray.
    """

    path: Path
    lives: int = 3
    real: bool = False
    mark: str = field(default_factory=lambda: uuid4().hex)

    def __post_init__(self) -> None:
        self.temporary.mkdir(parents=True)
        space = REAL_SPACE if self.real else SPACE
        for name, text in (("space.yaml", space), ("prompts.jsonl", PROMPTS), ("sim.yaml", PROFILE)):
            (self.path / name).write_text(text.replace("LIVES", str(self.lives)))

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
        """Start what a user would paste into a shell."""
        said, told = (self.path / f"{name}-{uuid4().hex[:8]}.txt" for name in ("said", "told"))
        with said.open("wb") as err, told.open("wb") as out:
            process = subprocess.Popen(
                ["sh", "-c", f"exec env {command}"], cwd=self.path, env=self.env, stdout=out, stderr=err
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


def told_done(driver_words: str) -> int:
    """Return how many trials a driver said were done."""
    return sum(" done in " in line for line in driver_words.splitlines())


def faults_after(place: Place, before: Mapping[str, str]) -> list[str]:
    """Return what is wrong right after a kill.  before: the digests that were there before."""
    now = place.records()
    wrong = [f"{name} is lost" for name in before if name not in now]
    wrong += [f"{name} was measured again" for name in before if name in now and now[name] != before[name]]
    said = sum(told_done(path.read_text(errors="replace")) for path in place.path.glob("said-*.txt"))
    if said > len(now):
        wrong.append(f"{said} trials were said to be done and {len(now)} are kept")
    _, left = place.left()
    return wrong + [f"left: {one}" for one in left]


def faults_at_the_end(place: Place, before: Mapping[str, str]) -> list[str]:
    """Return what is wrong with a finished sweep.  before: digests of what its sessions kept."""
    wrong = faults_after(place, before)
    trials = read_run(place.run)[1]
    again = [key for key, count in Counter(map(_question, trials)).items() if count > 1]
    wrong += [f"measured twice: {key}" for key in again]
    wrong += [f"failed: {trial.record.name}" for trial in trials if not trial.record.ok]
    numbers = [trial.record.number for trial in trials]
    if numbers != list(range(len(trials))):
        wrong.append(f"the trials' numbers are {numbers}")
    if (place.run / "quarantine").exists():
        wrong.append("something was found damaged")
    wrong += [f"not a trial: {path.name}" for path in (place.run / "trials").iterdir() if not _whole(path)]
    wrong += [f"half-written: {path}" for path in place.run.rglob(".*.tmp")]
    wrong += [f"left in TMPDIR: {path.name}" for path in place.temporary.iterdir()]
    wrong += [f"left of Ray: {path}" for path in place.ray.rglob("session_*")]
    wrong += _study_against(place, trials)
    entries = [path.parent.name for path in place.path.glob("artifacts/*/*/entry.json")]
    return wrong if len(entries) == 1 else [*wrong, f"entries in the registry: {entries}"]


def decisions(place: Place) -> dict[str, Any]:
    """Return what must not depend on interruptions: the decisions, the candidates, the figures without time."""
    artifact = yaml.safe_load((place.run / "best_config.yaml").read_text())
    trials = read_run(place.run)[1]
    accepted = {
        trial.record.candidate.label: trial.record.loads[0].repeats[0].counters.accepted_tokens
        for trial in trials
        if trial.record.role in (Role.BASELINE, Role.CANDIDATE)
    }
    return {
        "finished": artifact["finished"],
        "answers": place.real  # what a few prompts on a real engine say differs from run to run
        or [
            {"temperature": answer["temperature"], "verdict": answer["verdict"], "recommended": answer["recommended"]}
            for answer in artifact["answers"]
        ],
        "candidates": sorted(accepted),
        "accepted": dict(sorted(accepted.items())),
    }


def _question(trial: Trial) -> str:
    record = trial.record
    return f"{record.role} {record.candidate.key} {record.round} {record.served}"


def _whole(trial: Path) -> bool:
    return {path.name for path in trial.iterdir()} == {"engine.log", "record.json", "samples.parquet"}


def _study_against(place: Place, trials: tuple[Trial, ...]) -> list[str]:
    """Return how the Optuna study differs from the records, as anybody's Optuna reads it."""
    import optuna
    from optuna.trial import TrialState

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    storage = f"sqlite:///{place.run / 'study.db'}"
    (name,) = optuna.get_all_study_names(storage)
    kept = optuna.load_study(study_name=name, storage=storage).get_trials(deepcopy=False)
    told = [one for one in kept if one.user_attrs.get("told")]
    wrong = [f"study: trial {one.number} is {one.state.name}" for one in kept if not one.state.is_finished()]
    of_study = Counter((one.user_attrs["candidate"], one.user_attrs["trial"]) for one in told)
    of_records = Counter(
        (trial.record.candidate.key, trial.record.number)
        for trial in trials
        if trial.record.role in (Role.BASELINE, Role.CANDIDATE)
    )
    if of_study != of_records:
        wrong.append(f"study has {sorted(of_study)}, the records {sorted(of_records)}")
    wrong += [f"study: {one.number} has no value" for one in told if one.state is not TrialState.COMPLETE]
    return wrong
