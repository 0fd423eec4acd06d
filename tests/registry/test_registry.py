"""The registry on each kind of place: whole entries or none, nothing overwritten, damage seen."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.faults.matrix import Group, fault
from tuner.errors import ArtifactError, OutputError
from tuner.registry import Registry, parse_stamp, shelf, target_slug
from tuner.registry.entry import ENTRY_FILE, new_stamp
from tuner.store.files import write_atomic

NOW = datetime(2026, 12, 1, 2, 30, 5, 999_999, tzinfo=UTC)
FILES = {"best_config.yaml": b"verdict: x\n", "trials/0000-a/record.json": b"{}", "report.md": b""}
TARGET = "Qwen/Qwen3-14B"
SLUG = target_slug(TARGET)


@pytest.fixture(params=["directory", "file url", "memory url"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    of: dict[str, str] = {
        "directory": str(tmp_path / "registry"),
        "file url": f"file://{tmp_path}/registry",
        "memory url": f"memory://{uuid.uuid4().hex}/deep/registry",
    }
    return of[request.param]


@pytest.fixture
def local(tmp_path: Path) -> Registry:
    return Registry(str(tmp_path / "registry"))


def test_an_entry_is_kept_and_read_again_by_another_process(url: str) -> None:
    assert Registry(url).targets() == ()
    assert Registry(url).entries(TARGET).entries == ()
    entry, is_new = Registry(url).keep(TARGET, FILES, "m1", NOW)
    assert is_new
    assert (entry.stamp, entry.target) == ("20261201T023005Z", TARGET)
    registry = Registry(url)
    assert registry.entries(TARGET).entries == (entry,)
    assert registry.targets() == (TARGET,)
    assert {name: registry.read(entry, name) for name in FILES} == FILES
    assert entry.url == f"{url}/{SLUG}/20261201T023005Z"
    assert entry.kept_at == NOW.replace(microsecond=0)


def test_the_same_second_gets_a_suffix_and_entries_come_in_their_order(url: str) -> None:
    registry = Registry(url)
    registry.keep(TARGET, {"best_config.yaml": b"earlier"}, "m", NOW - timedelta(seconds=1))
    for number in range(12):
        registry.keep(TARGET, {"best_config.yaml": str(number).encode()}, f"m{number}", NOW)
    entries = registry.entries(TARGET).entries
    assert [registry.read(entry, "best_config.yaml") for entry in entries] == [
        b"earlier",
        *(str(number).encode() for number in range(12)),
    ]
    assert entries[2].stamp == "20261201T023005Z-2"


@fault(
    Group.MACHINE,
    "the clock goes back between two sweeps",
    sees="the later sweep is the newest entry of `tuner history`, with the time of the one before it",
    keeps="both entries",
)
@pytest.mark.parametrize("back", [timedelta(seconds=1), timedelta(days=400)])
def test_where_the_clock_went_back_the_later_entry_is_the_newest(url: str, back: timedelta) -> None:
    registry = Registry(url)
    for number, now in enumerate((NOW, NOW - back, NOW - 2 * back)):
        registry.keep(TARGET, {"best_config.yaml": str(number).encode()}, f"m{number}", now)
    entries = registry.entries(TARGET).entries
    assert [registry.read(entry, "best_config.yaml") for entry in entries] == [b"0", b"1", b"2"]
    assert registry._shelf.read(f"{SLUG}/latest").decode().strip() == entries[-1].stamp == "20261201T023005Z-3"


def test_an_entry_that_lost_a_file_is_kept_anew(tmp_path: Path, local: Registry) -> None:
    first, _ = local.keep(TARGET, FILES, "m1", NOW)
    (tmp_path / "registry" / SLUG / first.stamp / next(iter(FILES))).unlink()
    again, is_new = local.keep(TARGET, FILES, "m1", NOW)
    assert is_new and again.stamp != first.stamp
    assert {name: local.read(again, name) for name in FILES} == FILES


def test_the_same_measurements_are_kept_once(url: str) -> None:
    registry = Registry(url)
    first, _ = registry.keep(TARGET, FILES, "m1", NOW)
    again, is_new = registry.keep(TARGET, {"best_config.yaml": b"other"}, "m1", NOW + timedelta(days=1))
    assert (again, is_new) == (first, False)
    assert registry.keep("another", FILES, "m1", NOW)[1]


def test_latest_is_a_file_with_the_newest_stamp(tmp_path: Path, local: Registry) -> None:
    local.keep(TARGET, FILES, "m2", NOW)
    latest = tmp_path / "registry" / SLUG / "latest"
    assert latest.read_text() == "20261201T023005Z\n"
    local.keep(TARGET, FILES, "m3", NOW)
    assert latest.read_text() == "20261201T023005Z-2\n"
    local._point_at(SLUG, "20261201T023005Z")  # of a slower writer
    assert latest.read_text() == "20261201T023005Z-2\n"
    latest.write_bytes(b"\xff nonsense")
    local.keep(TARGET, FILES, "m4", NOW)
    assert latest.read_text() == "20261201T023005Z-3\n"


class Killed(BaseException):
    """The process ends here."""


def killed_at(step: int, calls: Callable[..., object]) -> Callable[..., object]:
    left = [step]

    def call(*args: object, **kwargs: object) -> object:
        if left[0] == 0:
            raise Killed
        left[0] -= 1
        return calls(*args, **kwargs)

    return call


@pytest.mark.parametrize("step", range(5))
def test_a_local_writer_killed_at_any_file_leaves_no_entry(
    tmp_path: Path, local: Registry, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    local.keep(TARGET, FILES, "m1", NOW)
    with monkeypatch.context() as patch:
        patch.setattr(shelf, "write_atomic", killed_at(step, write_atomic))
        if step == 4:
            patch.setattr(os, "rename", killed_at(0, os.rename))
        with pytest.raises(Killed):
            local.keep(TARGET, FILES, "m2", NOW + timedelta(days=1))
    assert [entry.measurements for entry in local.entries(TARGET).entries] == ["m1"]
    assert [entry.name for entry in (tmp_path / "registry" / SLUG).iterdir() if entry.name.startswith(".unfinished")]
    local.keep(TARGET, FILES, "m2", NOW + timedelta(days=1))
    assert [entry.measurements for entry in local.entries(TARGET).entries] == ["m1", "m2"]


@pytest.mark.parametrize("step", range(5))
def test_a_remote_writer_killed_at_any_file_leaves_no_entry_and_nothing_in_the_way(
    monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    registry = Registry(f"memory://{uuid.uuid4().hex}")
    with monkeypatch.context() as patch:
        patch.setattr(registry._shelf._fs, "pipe_file", killed_at(step, registry._shelf._fs.pipe_file))
        with pytest.raises(Killed):
            registry.keep(TARGET, FILES, "m2", NOW)
    assert registry.entries(TARGET).entries == ()
    entry, _ = registry.keep(TARGET, FILES, "m2", NOW)
    assert entry.stamp == ("20261201T023005Z" if step == 0 else "20261201T023005Z-2")
    assert registry.entries(TARGET).entries == (entry,)


def test_a_writer_that_is_really_killed_leaves_whole_entries_alone(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom datetime import UTC, datetime\nfrom tuner.registry import Registry\n"
        "registry = Registry(sys.argv[1])\n"
        "for n in range(10**6):\n"
        "    registry.keep('t' + str(n % 3), {f'f{i}': b'x' * 10000 for i in range(20)}, str(n), datetime.now(UTC))\n"
        "    if n == 0:\n"
        "        print('one is kept', flush=True)\n"
    )
    for round_ in range(2):
        child = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        assert child.stdout.readline() == "one is kept\n"
        time.sleep(0.15 + 0.1 * round_)
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
    registry = Registry(str(tmp_path))
    entries = [entry for target in ("t0", "t1", "t2") for entry in registry.entries(target).entries]
    assert entries
    assert all(len(registry.read(entry, name)) == 10000 for entry in entries for name in entry.files)


def test_what_a_killed_writer_left_is_removed_a_day_later(tmp_path: Path, local: Registry) -> None:
    local.keep(TARGET, FILES, "m1", NOW)
    old = tmp_path / "registry" / SLUG / ".unfinished-x"
    young = old.with_name(".unfinished-y")
    for directory in (old, young):
        directory.mkdir()
        (directory / "file").write_text("x")
    os.utime(old, (0, 0))
    local.keep(TARGET, FILES, "m2", NOW)
    assert (old.exists(), young.exists()) == (False, True)


def test_another_writer_that_takes_the_place_meanwhile_is_not_overwritten(
    tmp_path: Path, local: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = os.rename
    raced: list[Path] = []

    def another_first(source: Path, target: Path) -> None:
        if not raced:
            raced.append(target)
            target.mkdir()
            (target / "theirs").write_text("theirs")
        rename(source, target)

    monkeypatch.setattr(os, "rename", another_first)
    entry, _ = local.keep(TARGET, FILES, "m1", NOW)
    assert entry.stamp == "20261201T023005Z-2"
    assert (raced[0] / "theirs").read_text() == "theirs"


def test_a_changed_or_missing_file_is_not_read(tmp_path: Path, local: Registry) -> None:
    entry, _ = local.keep(TARGET, FILES, "m1", NOW)
    Path(entry.url, "best_config.yaml").write_text("verdict: y\n")
    with pytest.raises(ArtifactError, match="is not what was written"):
        local.read(entry, "best_config.yaml")
    Path(entry.url, "best_config.yaml").unlink()
    with pytest.raises(ArtifactError, match="is missing"):
        local.read(entry, "best_config.yaml")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{}",
        b"\xff",
        b'{"format": 2, "sha256": "aad22bd0eaf6b46e60b3a8c2a7f30d4d5dd3a8a8d3b3a9c1e0a7dd5b7f3d1e4f"}',
    ],
)
def test_a_damaged_entry_is_named_and_the_others_are_used(tmp_path: Path, local: Registry, text: bytes) -> None:
    first, _ = local.keep(TARGET, FILES, "m1", NOW)
    second, _ = local.keep(TARGET, FILES, "m2", NOW)
    Path(second.url, ENTRY_FILE).write_bytes(text)
    listing = local.entries(TARGET)
    assert listing.entries == (first,)
    (broken,) = listing.broken
    assert second.stamp in broken
    assert local.targets() == (TARGET,)


def test_an_entry_in_anothers_place_is_not_believed(tmp_path: Path, local: Registry) -> None:
    entry, _ = local.keep(TARGET, FILES, "m1", NOW)
    Path(entry.url).rename(Path(entry.url).with_name("20270101T000000Z"))
    listing = local.entries(TARGET)
    assert listing.entries == ()
    assert "it belongs to" in listing.broken[0]


def test_foreign_files_and_directories_are_passed_over(tmp_path: Path, local: Registry) -> None:
    entry, _ = local.keep(TARGET, FILES, "m1", NOW)
    (tmp_path / "registry" / "notes.txt").write_text("mine")
    (tmp_path / "registry" / "notes").mkdir()
    (tmp_path / "registry" / SLUG / "20990101T000000Z").mkdir()
    (tmp_path / "registry" / SLUG / "old").mkdir()
    assert local.entries(TARGET).entries == (entry,)
    assert local.targets() == (TARGET,)


@pytest.mark.parametrize(
    ("url", "said"), [("s3://bucket/x", "pip install s3fs"), ("gs://bucket/x", "pip install gcsfs")]
)
def test_a_missing_package_is_named(url: str, said: str) -> None:
    with pytest.raises(OutputError) as caught:
        Registry(url)
    assert said in caught.value.next_step
    assert url in caught.value.message


def test_an_unknown_scheme_and_a_file_in_the_way_are_told(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="nonsense"):
        Registry("nonsense://x")
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="Not a directory"):
        Registry(str(tmp_path / "file")).check(TARGET)
    with pytest.raises(OutputError, match="cannot be used"):
        Registry(str(tmp_path / "file")).keep(TARGET, FILES, "m", NOW)
    Registry(str(tmp_path / "new")).check(TARGET)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_no_password_is_told() -> None:
    with pytest.raises(OutputError) as caught:
        Registry("nonsense://user:secret@host/x")
    assert "secret" not in str(caught.value)


@given(
    st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(9999, 12, 30), timezones=st.just(UTC)),
    st.integers(1, 999),
)
def test_a_stamp_says_its_time_and_suffix(now: datetime, suffix: int) -> None:
    assert parse_stamp(new_stamp(now, suffix)) == (now.replace(microsecond=0), suffix)


@pytest.mark.parametrize("name", ["", "latest", "20261301T000000Z", "20261201T023005Z-", "20261201T023005"])
def test_what_is_no_stamp_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"stamp|match|month|unconverted"):
        parse_stamp(name)
