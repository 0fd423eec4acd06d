"""Missing rights, and a run directory that goes away while the sweep runs."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.faults import small_machine
from tests.faults.matrix import Group, fault
from tests.faults.small_machine import (
    ALONE,
    KEEPING,
    SWEEP,
    TRIALS,
    full_for,
    numbers,
    tuner,
)
from tuner.trial import TrialSpec

recorded, workshop = small_machine.recorded, small_machine.workshop
empty, engines = small_machine.empty, small_machine.engines


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
