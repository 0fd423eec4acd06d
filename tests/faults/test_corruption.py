"""Every file of a run and of its registry entry, damaged in every way: named, set aside, and the rest used."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from fnmatch import fnmatch
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.faults import small_machine
from tests.faults.matrix import Group, fault
from tests.faults.small_machine import TARGET, TRIALS, played, tuner
from tests.recording_view import RecordingView
from tuner.artifact import load_best_config
from tuner.store import read_run
from tuner.store.codec import seal, sha256, unseal

recorded, workshop = small_machine.recorded, small_machine.workshop

Damage = Callable[[Path], None]


def gone(path: Path) -> None:
    path.unlink()


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def cut_in_half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def one_bit_flipped(path: Path) -> None:
    data = bytearray(path.read_bytes() or b"\0")
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def garbage(path: Path) -> None:
    path.write_bytes(b"\xff\x00[[[[" * 9)


def a_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "in it").write_text("x")


def of_a_newer_tuner(path: Path) -> None:
    if path.name in _NEWER:
        _NEWER[path.name](path)


def _newer_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE version_info SET schema_version = 99")
        connection.execute("UPDATE alembic_version SET version_num = 'v99.0.0.a'")


def _newer_record(path: Path) -> None:
    body = unseal(path.read_bytes())
    path.write_bytes(seal({**body, "record": {**body["record"], "version": 99}}))  # type: ignore[dict-item]


def _newer_samples(path: Path) -> None:
    table = pq.read_table(path)
    pq.write_table(table.append_column("mood", [["good"] * len(table)]), path)
    record = path.with_name("record.json")
    record.write_bytes(seal({**unseal(record.read_bytes()), "samples_sha256": sha256(path.read_bytes())}))


def _newer_format(path: Path) -> None:
    path.write_bytes(seal({**unseal(path.read_bytes()), "format": 99}))


def _newer_artifact(path: Path) -> None:
    path.write_text(path.read_text().replace("schema_version: ", "schema_version: 9"))


def _newer_status(path: Path) -> None:
    path.write_text('{"mood": "good"}')


_NEWER: dict[str, Damage] = {
    "study.db": _newer_database,
    "record.json": _newer_record,
    "samples.parquet": _newer_samples,
    "run.json": _newer_format,
    "last_sweep.json": _newer_format,
    "entry.json": _newer_format,
    "best_config.yaml": _newer_artifact,
    ".status.json": _newer_status,
}

DAMAGES = (gone, emptied, cut_in_half, one_bit_flipped, garbage, a_directory, of_a_newer_tuner)
READ = (
    "run/run.json",
    "run/summary.json",
    "run/last_sweep.json",
    "run/best_config.yaml",
    "run/study.db",
    "run/.status.json",
    "run/trials/0000-*/record.json",
    "run/trials/0000-*/samples.parquet",
    "run/trials/0001-*/record.json",
    "run/trials/0001-*/samples.parquet",
    "run/trials/0002-*/record.json",
    "run/trials/0002-*/samples.parquet",
    "registry/*/*/entry.json",
    "registry/*/*/best_config.yaml",
    "registry/*/latest",
)
"""What some command reads; each is damaged alone. Nobody reads the others: they are damaged all at once."""
MEASURED = ("run.json", "summary.json", "last_sweep.json", "record.json", "samples.parquet")
"""What a sweep goes on from: damage to it is told by name."""
READERS = (
    ("status", "run"),
    ("explain", "run"),
    ("compare", "run", "run"),
    ("check", "run"),
    ("export", "command", "run"),
    ("breakeven", "run"),
    ("history", TARGET, "--registry", "registry"),
    ("check", TARGET, "--registry", "registry"),
    ("report", "run"),
)
DOCUMENTED = frozenset(range(5))
SWEEP = ("sweep", "--space", "space.yaml", "--engine", "sim:sim.yaml", "--sampler", "grid", "--registry", "registry")

damages = pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)


def files_of(workshop: Path) -> Iterator[str]:
    for place in ("run", "registry"):
        yield from (str(p.relative_to(workshop)) for p in sorted((workshop / place).rglob("*")) if p.is_file())


def whole(run: Path, at_least: int = TRIALS) -> None:
    """A finished run that lacks nothing and names nothing as broken."""
    manifest, trials = read_run(run)
    assert [trial.record.role.value for trial in trials].count("candidate") == 1
    assert len(trials) >= at_least  # one more closes a session that measured something
    assert manifest.broken == ()
    assert manifest.summary is not None
    assert load_best_config(run).answers
    assert (run / "report.html").is_file()


def survives(file: str, damage: Damage | None = None) -> str:
    """Call every reader and the sweep; return all that they said. An exception is a traceback, and fails."""
    told = ""
    for arguments in READERS:
        code, said = tuner(*arguments)
        assert code in DOCUMENTED
        assert code not in (2, 3) or Path(file).name in said or damage is gone, (arguments, said)
        told += said
    code, said = tuner(*SWEEP, "--out", "run")
    assert code == 0, said
    # Nothing tells that a closing baseline was there whose record is gone.
    whole(Path("run"), TRIALS - 1 if damage is gone else TRIALS)
    assert tuner("history", TARGET, "--registry", "registry")[0] == 0
    return told + said


@fault(
    Group.CORRUPTION,
    "a file of a run or of a registry entry is gone, emptied, cut, has a flipped bit, is garbage, a directory, or of a "
    "newer tuner",
    sees="each command uses the rest and names the file, or says in one message which file it cannot do without; the "
    "next `tuner sweep` names it and where it was moved",
    keeps="all other files; the damaged one in `quarantine/`; only a damaged trial is measured again",
)
@damages
@pytest.mark.parametrize("pattern", READ)
def test_a_damaged_file_is_named_and_the_rest_is_used(workshop: Path, pattern: str, damage: Damage) -> None:
    (file,) = (name for name in files_of(workshop) if fnmatch(name, pattern))
    before = {path: path.read_bytes() for path in sorted((workshop / "run").rglob("record.json"))}
    damage(workshop / file)
    changed = (workshop / file).parent
    said = survives(file, damage)
    for path, data in before.items():
        assert path.parent == changed or path.read_bytes() == data, "a trial that was not damaged is as it was"
    untold = damage is of_a_newer_tuner and Path(file).name in ("summary.json", "last_sweep.json")
    if Path(file).name in MEASURED and damage is not gone and not untold:
        assert list((workshop / "run" / "quarantine").iterdir())
        assert "set aside" in said and Path(file).name in said, said


@damages
def test_what_nobody_reads_may_be_damaged_all_at_once(workshop: Path, recorded: Path, damage: Damage) -> None:
    derived = [name for name in files_of(workshop) if not any(fnmatch(name, pattern) for pattern in READ)]
    assert len(derived) > 20
    lock = "run/.lock"
    for name in derived:
        if name != lock or damage is not a_directory:
            damage(workshop / name)
    for arguments in READERS:
        code, said = tuner(*arguments)
        assert code in (0, 1, 4), said
    assert tuner(*SWEEP, "--out", "run")[0] == 0
    whole(workshop / "run")
    for name in derived:
        if name.startswith("run/") and name.endswith((".yaml", ".env")):
            assert (workshop / name).read_bytes() == (recorded / name).read_bytes()


def unfinished(workshop: Path) -> None:
    """Make of the finished run one whose last trial is missing."""
    (workshop / "run" / "summary.json").unlink()
    shutil.rmtree(next((workshop / "run" / "trials").glob("0002-*")))


@fault(
    Group.CORRUPTION,
    "the study's database is damaged, or of a newer Optuna",
    sees="a note with the reason and where the file was moved",
    keeps="the study, rebuilt from the records; the old file in `quarantine/`",
)
@damages
def test_a_damaged_study_is_rebuilt_from_the_records(workshop: Path, damage: Damage) -> None:
    unfinished(workshop)
    damage(workshop / "run" / "study.db")
    view = RecordingView()
    result = small_machine.sweep(view=view)
    assert result.trials == 1, "nothing that was measured is measured again"
    whole(workshop / "run")
    with closing(sqlite3.connect(workshop / "run" / "study.db")) as connection:
        assert connection.execute("SELECT count(*) FROM trials WHERE state = 'COMPLETE'").fetchone() == (2,)
    if damage not in (
        gone,
        emptied,
        one_bit_flipped,
    ):  # an empty file is an empty database; a bit may be of a free page
        assert any("study.db" in message and "quarantine" in message for message in view.messages), view.messages


@fault(
    Group.CORRUPTION,
    "half-written files of a killed sweep lie about",
    sees="nothing",
    keeps="every whole trial; the halves are removed",
)
def test_leftover_temporary_files_are_removed(workshop: Path) -> None:
    places = [workshop / "run", *(workshop / "run" / "trials").iterdir()]
    for place in places:
        (place / ".record.json.4711.tmp").write_bytes(b'{"record": ')
    survives("nothing")
    assert not list((workshop / "run").rglob("*.tmp"))


@fault(
    Group.CORRUPTION,
    "two trials have one number",
    sees="the later one is named and set aside",
    keeps="the one that began first",
)
def test_of_two_trials_with_one_number_the_earlier_is_used(workshop: Path) -> None:
    first = next((workshop / "run" / "trials").glob("0001-*"))
    body = unseal((first / "record.json").read_bytes())
    record = body["record"]
    assert isinstance(record, dict) and isinstance(record["candidate"], dict)
    second = {**record, "role": "baseline_again", "started_at": "2999-01-01T00:00:00+00:00"}
    baseline = unseal(next((workshop / "run" / "trials").glob("0002-*/record.json")).read_bytes())["record"]
    assert isinstance(baseline, dict)
    second["candidate"] = baseline["candidate"]
    copy = first.with_name(first.name.replace(first.name, f"0001-baseline_again-{_key_of(workshop)}"))
    shutil.copytree(first, copy)
    (copy / "record.json").write_bytes(seal({**body, "record": second}))
    assert [broken.path.name for broken in read_run(workshop / "run")[0].broken] == [copy.name]
    said = survives(copy.name)
    assert f"set aside: {copy}: record.json: its number 1 is that of {first.name} too" in said
    assert (workshop / "run" / "quarantine" / copy.name / "samples.parquet").is_file()


def _key_of(workshop: Path) -> str:
    return next((workshop / "run" / "trials").glob("0002-*")).name.split("-", 2)[2]


def test_the_recorded_run_has_every_kind_of_file(recorded: Path) -> None:
    names = {Path(name).name for name in files_of(recorded)}
    assert names >= {*MEASURED, "study.db", "engine.log", "report.html", "speedup-t0.png", "entry.json", "latest"}
    assert played(recorded / "run").trials.keys() == {
        (trial.record.role.value, trial.record.candidate.key) for trial in read_run(recorded / "run")[1]
    }
