"""A machine that fails: full disks, missing rights, odd names and locales, a clock that goes back, a lost directory."""

from __future__ import annotations

import builtins
import io
import json
import os
import resource
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from tests.faults import small_machine
from tests.faults.matrix import Group, fault
from tests.faults.small_machine import PROFILE, PROMPTS, TARGET, TRIALS, played, tuner, write_inputs
from tuner.cli.resuming import resume_command
from tuner.engine.api_key import engine_api_key
from tuner.search import database
from tuner.space.model_refs import user_cache
from tuner.status import State, read_status
from tuner.store import read_run
from tuner.trial import TrialSpec

recorded, workshop = small_machine.recorded, small_machine.workshop

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
def engines(recorded: Path, monkeypatch: pytest.MonkeyPatch) -> small_machine.Played:
    """What plays back the trials of this test, to ask which were started."""
    found = played(recorded / "run")
    monkeypatch.setattr("tuner.measuring.run_trial", found)
    return found


# ---- full disks


@contextmanager
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


@fault(
    Group.MACHINE,
    "the disk is full when a record, its samples, the report, the artifact or a plot is written",
    sees="the file, that no space is left, and to free some; exit code 2",
    keeps="all finished trials; the same command goes on",
)
@pytest.mark.parametrize(
    ("pattern", "spared", "measured"),
    [
        (".record.json.*", 1, [0]),
        (".samples.parquet.*", 1, [0]),
        (".run.json.*", 0, None),
        (".last_sweep.json.*", 0, []),
        (".report.md.*", 0, [0, 1, 2]),
        (".report.html.*", 0, [0, 1, 2]),
        (".best_config.yaml.*", 0, [0, 1, 2]),
        (".summary.json.*", 0, [0, 1, 2]),
    ],
)
def test_a_full_disk_is_told_by_file_and_costs_nothing_that_was_finished(
    empty: Path, engines: small_machine.Played, pattern: str, spared: int, measured: list[int] | None
) -> None:
    with full_for(pattern, spared):
        code, said = tuner(*ALONE)
    assert (code, "No space left on device" in said) == (2, True), said
    assert str(empty / "run") in said and "Free space" in said
    assert not list((empty / "run").rglob("*.tmp"))
    if measured is not None:
        assert numbers(empty / "run") == measured
    before, engines.started = engines.started, []
    assert tuner(*ALONE)[0] == 0
    assert len(engines.started) == TRIALS - len(measured or []), (before, engines.started)
    assert read_run(empty / "run")[0].summary is not None


@fault(
    Group.MACHINE,
    "the disk is full when a plot is drawn",
    sees="the file, that no space is left, and the `tuner report` that goes on; exit code 2",
    keeps="all finished trials",
)
def test_a_full_disk_under_a_plot(workshop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.chdir(workshop)
    with full_for("speedup-t0.png"):
        code, said = tuner("report", "run")
    assert (code, "No space left on device" in said, "tuner report run" in said) == (2, True, True), said
    assert tuner("report", "run")[0] == 0


@fault(
    Group.MACHINE,
    "the disk is full under the status file",
    sees="nothing; `tuner status` knows less",
    keeps="the whole sweep",
)
def test_a_full_disk_under_the_status_stops_nothing(empty: Path) -> None:
    with full_for(".*status.json*"):
        assert tuner(*ALONE)[0] == 0
    assert read_status(empty / "run").state is State.FINISHED


@fault(
    Group.MACHINE,
    "the disk is full under the study's database",
    sees="study.db, that the disk is full, and to free space; exit code 2",
    keeps="all finished trials; the study goes on from the records",
)
@pytest.mark.parametrize("spare_pages", [0, 1])
def test_a_full_disk_under_the_study(
    empty: Path, engines: small_machine.Played, monkeypatch: pytest.MonkeyPatch, spare_pages: int
) -> None:
    real: Callable[[Path], sqlite3.Connection] = database._connect
    small_machine.sweep(registry=None)
    shutil.rmtree(next((empty / "run" / "trials").glob("0001-*")))
    (empty / "run" / "summary.json").unlink()
    (empty / "run" / "study.db").unlink()
    kept = numbers(empty / "run")

    def nearly_full(path: Path) -> sqlite3.Connection:
        connection = real(path)
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {max(pages + spare_pages, 2)}")
        return connection

    with monkeypatch.context() as patched:
        patched.setattr(database, "_connect", nearly_full)
        code, said = tuner(*ALONE)
    assert (code, "study.db cannot be used" in said, "full" in said) == (2, True, True), said
    assert "Free space" in said and not (empty / "run" / "quarantine").exists(), "a full disk is no damage"
    assert numbers(empty / "run")[: len(kept)] == kept
    assert tuner(*ALONE)[0] == 0


@fault(
    Group.MACHINE,
    "no file can grow beyond a size (`ulimit -f`), at whichever file that is met first",
    sees="the file, and to free space; exit code 2",
    keeps="all finished trials; the same command goes on",
)
@pytest.mark.parametrize("size", [0, 500, 2_500, 60_000])
def test_the_kernel_refuses_to_let_files_grow(empty: Path, engines: small_machine.Played, size: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        code, said = tuner(*ALONE)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert code == 2, said
    assert str(empty) in said and ("Free space" in said or "that you may write in" in said), said
    kept = numbers(empty / "run") if (empty / "run" / "run.json").exists() else []
    engines.started.clear()
    assert tuner(*ALONE)[0] == 0
    assert len(engines.started) == TRIALS - len(kept)


@fault(
    Group.MACHINE,
    "the disk is full under the engine's log",
    sees="the log's path, and to free space; exit code 2",
    keeps="all finished trials",
)
def test_a_full_disk_when_an_engines_log_cannot_be_opened(empty: Path, engines: small_machine.Played) -> None:
    def refuse(spec: TrialSpec) -> None:
        if spec.number == 1:
            raise OSError(28, os.strerror(28), f"{spec.log_dir}/engine.log")

    engines.before = refuse
    code, said = tuner(*ALONE)
    assert (code, "engine.log: No space left" in said, "Free space" in said) == (2, True, True), said
    assert numbers(empty / "run") == [0]


@fault(
    Group.MACHINE,
    "the registry's disk is full when a sweep has ended",
    sees="that it was not kept, why, and to call the same command again",
    keeps="the run with its answer; the next call keeps it without measuring",
)
def test_a_registry_that_fills_up_while_a_sweep_runs(empty: Path, engines: small_machine.Played) -> None:
    with full_for(".best_config.yaml.*", spared=1):  # the first is the run's own
        code, said = tuner(*KEEPING)
    assert (code, "not kept in the registry" in said, "No space left" in said) == (0, True, True), said
    assert not list((empty / "registry").rglob("best_config.yaml"))
    engines.started.clear()
    code, said = tuner(*KEEPING)
    assert (code, "kept in the registry" in said, engines.started) == (0, True, []), said


@fault(
    Group.MACHINE,
    "standard output is full",
    sees="that on standard error; exit code 2",
    keeps="the run with its answer",
)
def test_full_standard_output(workshop: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "tuner", "export", "command", "run"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert (done.returncode, "standard output: No space left" in done.stderr) == (2, True), done.stderr
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr


# ---- missing rights


@pytest.fixture
def shared(recorded: Path, monkeypatch: pytest.MonkeyPatch, engines: small_machine.Played) -> Iterator[Path]:
    """A workshop that every user of the machine can reach: root may do anything, so its tests act as somebody else."""
    with tempfile.TemporaryDirectory(prefix="tuner-rights-") as made:
        directory = Path(made) / "workshop"
        shutil.copytree(recorded, directory)
        for path in (Path(made), directory, *directory.rglob("*")):
            path.chmod(0o777 if path.is_dir() else 0o666)
        monkeypatch.chdir(directory)
        monkeypatch.setattr("tuner.report.save_plots", lambda *_, **__: ())
        yield directory
        for path in (directory, directory / "run", directory / "run" / "trials"):
            if path.exists():
                path.chmod(0o777)


@contextmanager
def not_root() -> Iterator[None]:
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@fault(
    Group.MACHINE,
    "the output directory, its trials or what it lies in may not be written, or not be entered",
    sees="the path that is refused, and what to do; exit code 2, before any engine starts",
    keeps="what is there, and every command that only reads where reading is allowed",
)
@pytest.mark.parametrize("mode", [0o555, 0o666, 0o000], ids=["read-only", "not to be entered", "nothing"])
@pytest.mark.parametrize("place", [".", "run", "run/trials"])
def test_missing_rights_are_told_by_path(shared: Path, engines: small_machine.Played, place: str, mode: int) -> None:
    (shared / "run" / "summary.json").unlink()
    shutil.rmtree(next((shared / "run" / "trials").glob("0002-*")))
    (shared / place).chmod(mode)
    out = shared / ("run2" if place == "." else "run")
    try:
        with not_root():
            code, said = tuner(*ALONE[:-2], out, "--no-registry")
            assert code == 2, said
            assert str(out) in said or (place == "." and mode != 0o555 and "space.yaml" in said), said
            assert engines.started == []
            for command in ("report", "explain", "status", "check", "breakeven"):
                code, said = tuner(command, shared / "run")
                assert code in range(4), said
                assert mode == 0o555 or code in (0, 1) or "Permission denied" in said or "does not exist" in said, said
    finally:
        (shared / place).chmod(0o777)
    assert tuner(*ALONE)[0] == 0
    assert len(engines.started) == 1


@fault(
    Group.MACHINE,
    "the registry may not be written, is a file, or its disk is full",
    sees="the path and why; exit code 2, before any engine starts",
    keeps="everything",
)
@pytest.mark.parametrize("place", ["registry", "registry/*"])
def test_an_unwritable_registry_is_noticed_before_any_engine_starts(
    shared: Path, engines: small_machine.Played, place: str
) -> None:
    shutil.rmtree(shared / "run")
    (locked,) = shared.glob(place)
    for entries in locked.glob("simulated-*"):
        shutil.rmtree(entries)
    locked.chmod(0o555)
    with not_root():
        code, said = tuner(*KEEPING)
    locked.chmod(0o777)
    assert (code, str(locked) in said.replace("registry registry", str(shared / "registry"))) == (2, True), said
    assert (engines.started, (shared / "run").exists()) == ([], False)
    (shared / "file").write_text("")
    assert tuner(*SWEEP, "--registry", "file")[0] == 2
    with full_for(".may-i-write.*"):
        code, said = tuner(*KEEPING)
    assert (code, "No space left" in said, engines.started) == (2, True, []), said


# ---- a lost directory


@fault(
    Group.MACHINE,
    "the run directory is moved or deleted while the sweep runs",
    sees="that it is gone, and to put it back; exit code 2",
    keeps="a moved one with all its finished trials: put back, it goes on",
)
@pytest.mark.parametrize("moved", [True, False], ids=["moved", "deleted"])
def test_a_run_directory_that_goes_away(empty: Path, engines: small_machine.Played, moved: bool) -> None:
    run, elsewhere = empty / "run", empty / "elsewhere"

    def take_away(spec: TrialSpec) -> None:
        if spec.number == 1 and run.exists():
            run.rename(elsewhere) if moved else shutil.rmtree(run)

    engines.before = take_away
    code, said = tuner(*ALONE)
    assert (code, f"{run} was deleted or moved away" in said, "call the same command again" in said) == (2, True, True)
    assert not run.exists() or not list(run.rglob("record.json")), "no half of a run in its place"
    if moved:
        assert numbers(elsewhere) == [0]
        shutil.rmtree(run, ignore_errors=True)
        elsewhere.rename(run)
        engines.started.clear()
        engines.before = lambda spec: None
        assert tuner(*ALONE)[0] == 0
        assert len(engines.started) == TRIALS - 1


# ---- a strange machine

NAME = "a b'c\"d $HOME 模型"
"""A name with a space, both quotes, what a shell would replace, and Chinese."""
STRANGE = """
import sys, time, resource
now_s, steps = time.time(), [0]
def stepping_back():
    steps[0] += 1
    return now_s - 60.0 * steps[0]
time.time = stepping_back
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
from tuner.cli import main
main()
"""


@pytest.fixture
def other_file_system(tmp_path: Path) -> Iterator[Path]:
    """A directory on another file system than the tests' own."""
    shm = Path("/dev/shm")
    if not shm.is_dir() or shm.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("this machine has one file system")
    with tempfile.TemporaryDirectory(dir=shm, prefix="tuner-") as made:
        yield Path(made)


@fault(
    Group.MACHINE,
    "the clock steps back a minute whenever it is read",
    sees="nothing: durations are of the monotonic clock",
    keeps="everything",
)
@fault(Group.MACHINE, "64 file descriptors (`ulimit -n 64`)", sees="nothing", keeps="everything")
@fault(
    Group.MACHINE,
    "a locale that is not UTF-8 (`LC_ALL=C`, `PYTHONUTF8=0`)",
    sees="nothing; what the terminal's encoding lacks is escaped",
    keeps="everything",
)
@fault(
    Group.MACHINE,
    "paths with spaces, quotes, `$` and Chinese characters, of run, space, eval set, models and registry",
    sees="them, quoted where a command is printed",
    keeps="everything",
)
@fault(Group.MACHINE, "`/tmp` on another file system than the run", sees="nothing", keeps="everything")
@fault(
    Group.MACHINE,
    "`~/.cache` cannot be written, `HOME` is not set, and there is no terminal",
    sees="nothing; what is cached is worked out again",
    keeps="everything",
)
def test_a_sweep_on_a_strange_machine(tmp_path: Path, other_file_system: Path) -> None:
    odd = tmp_path / NAME
    odd.mkdir()
    write_inputs(odd)
    (odd / NAME).mkdir()
    (odd / f"{NAME}.jsonl").write_text(PROMPTS)
    space = (odd / "space.yaml").read_text().replace("model: good", f"model: {json.dumps(f'./{NAME}')}")
    (odd / f"{NAME}.yaml").write_text(space)
    (odd / f"{NAME} sim.yaml").write_text(PROFILE)
    env = {
        **{name: value for name, value in os.environ.items() if name not in ("HOME", "LANG", "TUNER_CACHE")},
        **{"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONWARNINGS": "default"},
        **{"XDG_CACHE_HOME": "/proc/nowhere", "TUNER_CACHE": "/proc/nowhere", "TMPDIR": str(other_file_system)},
        "PYTHONPATH": str(Path(small_machine.__file__).parents[2]),
    }
    arguments = ["sweep", "--space", f"{NAME}.yaml", "--eval-set", f"{NAME}.jsonl"]
    arguments += ["--engine", f"sim:{NAME} sim.yaml", "--sampler", "grid", "--out", f"run {NAME}"]
    arguments += ["--registry", f"registry {NAME}", "--json"]
    done = subprocess.run(
        [sys.executable, "-c", STRANGE, *arguments], cwd=odd, env=env, stdin=subprocess.DEVNULL, capture_output=True
    )
    said = done.stderr.decode("utf-8", "surrogateescape")
    assert done.returncode == 0, said
    assert "Traceback" not in said and "Error" not in said
    run = odd / f"run {NAME}"
    manifest, trials = read_run(run)
    assert (manifest.summary is not None, manifest.broken) == (True, ())
    assert all(trial.record.phases.total_s > 0 and trial.record.phases.load_s > 0 for trial in trials)
    assert read_status(run).state is State.FINISHED
    assert len(list((odd / f"registry {NAME}").rglob("entry.json"))) == 1
    assert shlex.split(resume_command(arguments, {}, "tuner"))[-len(arguments) :] == arguments


def test_a_user_without_a_home_has_a_cache_and_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.delenv("TUNER_CACHE", raising=False)
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    assert user_cache() == tmp_path / f"spec-tuner-{os.getuid()}"
    assert engine_api_key(user_cache()) == engine_api_key(user_cache())
    assert engine_api_key(Path("/proc/nowhere")) != engine_api_key(Path("/proc/nowhere"))


def test_a_status_from_the_future_is_not_negative(workshop: Path) -> None:
    run = workshop / "run"
    assert read_status(run, now_s=time.time() - 3600).changed_s in (None, 0.0)
    assert TARGET in tuner("history", TARGET, "--registry", "registry")[1]
