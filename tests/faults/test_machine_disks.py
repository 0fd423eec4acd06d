"""Full disks, met at each kind of file: told by path, and nothing that was finished is lost."""

from __future__ import annotations

import os
import resource
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults import small_machine
from tests.faults.matrix import Group, fault
from tests.faults.small_machine import (
    ALONE,
    KEEPING,
    TRIALS,
    full_for,
    numbers,
    tuner,
)
from tuner.search import database
from tuner.status import State, read_status
from tuner.store import read_run
from tuner.trial import TrialSpec

recorded, workshop = small_machine.recorded, small_machine.workshop
empty, engines = small_machine.empty, small_machine.engines


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
