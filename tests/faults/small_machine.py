"""A sweep that takes three engine starts, recorded once, and played back where the engine is not what is tested."""

from __future__ import annotations

import builtins
import contextlib
import io
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from tests.recording_view import RecordingView
from tuner.cli import main
from tuner.prepare import Prepared, SweepRequest, prepare
from tuner.records import Trial, WorkerFacts
from tuner.store import read_run
from tuner.sweep import SweepOptions, SweepResult, run_sweep
from tuner.trial import TrialSpec

SPACE = """
target: simulated
engine_args: {max_model_len: 2048}
drafts:
  - {name: good, method: draft_model, model: good, k: [2]}
load_points:
  - {eval_set: prompts.jsonl, temperature: 0, concurrency: 1, max_tokens: 12}
protocol: {repeats: 1, lives: 1, warmup_requests: 1}
"""
PROMPTS = "".join(f'{{"id": "p{i}", "category": "c", "prompt": "word word {i}"}}\n' for i in range(3))
PROFILE = """
targets: [{match: '*', step_s: 0.002, token_s: 0.00002}]
drafts: [{match: '*', step_s: 0.0002, acceptance: [0.8]}]
"""
TRIALS = 3
TARGET = "simulated"


def write_inputs(directory: Path) -> None:
    """Write what a sweep reads: a space, an eval set, a profile of the simulated engine."""
    for name, text in (("space.yaml", SPACE), ("prompts.jsonl", PROMPTS), ("sim.yaml", PROFILE)):
        (directory / name).write_text(text)


def inputs() -> Prepared:
    """Return them, read and checked; they lie in the current directory."""
    return prepare(SweepRequest(space="space.yaml", engine="sim:sim.yaml"))


def sweep(
    out: Path | str = "run", view: RecordingView | None = None, registry: str | None = "registry", pool_size: int = 1
) -> SweepResult:
    """Run the sweep of the current directory's inputs."""
    options = SweepOptions(Path(out), pool="local", max_workers=pool_size, sampler="grid", registry=registry)
    return run_sweep(inputs(), options, view or RecordingView())


@dataclass
class Played:
    """Stands in for `run_trial`: the trial of the same candidate in the same role, as it was recorded.

    started: numbers of the trials that were asked for.  before: called with the trial's specification first.
    """

    trials: Mapping[tuple[str, str], Trial]
    started: list[int] = field(default_factory=list)
    before: Callable[[TrialSpec], None] = lambda spec: None

    def __call__(self, spec: TrialSpec, worker: WorkerFacts, report: Callable[[str], None]) -> Trial:
        self.started.append(spec.number)
        self.before(spec)
        found = self.trials[spec.role.value, spec.candidate.key]
        return Trial(replace(found.record, number=spec.number), found.samples)


def played(run: Path) -> Played:
    """Return what plays back the trials of a run."""
    return Played({(trial.record.role.value, trial.record.candidate.key): trial for trial in read_run(run)[1]})


def tuner(*arguments: object) -> tuple[int, str]:
    """Call the command line in this process; return its exit code and all that it said. What it raises is a bug."""
    said = io.StringIO()
    code = 0
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            main([str(one) for one in arguments])
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else 1
    return code, said.getvalue()


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with inputs, `run`, a finished sweep of them, and `registry`, where it is kept. Not to be changed."""
    directory = tmp_path_factory.getbasetemp() / "recorded"
    if directory.exists():  # each module that imports this has a fixture of its own
        return directory
    directory.mkdir()
    write_inputs(directory)
    with contextlib.chdir(directory):
        assert sweep().trials == TRIALS
    return directory


@pytest.fixture
def workshop(recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of what was recorded, as the current directory; engines are played back, plots are not drawn."""
    directory = tmp_path / "workshop"
    shutil.copytree(recorded, directory)
    monkeypatch.chdir(directory)
    monkeypatch.setattr("tuner.measuring.run_trial", played(recorded / "run"))
    monkeypatch.setattr("tuner.report.save_plots", lambda *_, **__: ())
    yield directory


SWEEP = ("sweep", "--space", "space.yaml", "--engine", "sim:sim.yaml", "--sampler", "grid", "--out", "run")
KEEPING = (*SWEEP, "--registry", "registry")
ALONE = (*SWEEP, "--no-registry")


@pytest.fixture
def empty(workshop: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The workshop before its first sweep."""
    shutil.rmtree(workshop / "run")
    shutil.rmtree(workshop / "registry")
    yield workshop


def numbers(run: Path) -> list[int]:
    return [trial.record.number for trial in read_run(run)[1]]


@pytest.fixture
def engines(recorded: Path, monkeypatch: pytest.MonkeyPatch) -> Played:
    """What plays back the trials of this test, to ask which were started."""
    found = played(recorded / "run")
    monkeypatch.setattr("tuner.measuring.run_trial", found)
    return found


@contextlib.contextmanager
def full_for(pattern: str, spared: int = 0) -> Iterator[None]:
    """Let every file whose name matches be written to /dev/full: the kernel itself says that there is no space.

    spared: so many are written before the disk is full.
    """
    left, real = [spared], io.open

    def opened(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        writes = any(letter in mode for letter in "wax+")
        if writes and isinstance(file, (str, Path)) and fnmatch(Path(file).name, pattern):
            if not left[0]:
                return real("/dev/full", mode.replace("x", "w"), *args, **kwargs)
            left[0] -= 1
        return real(file, mode, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(io, "open", opened)
        patched.setattr(builtins, "open", opened)
        yield
