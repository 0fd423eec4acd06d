"""An engine's temporary directory: short, held by whoever inherits it, and gone with the next one at the latest."""

from __future__ import annotations

import getpass
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tuner.engine.temporary import engine_directory, held_directory, with_directory

KILLED = """
import os, signal, sys
from pathlib import Path
from tuner.engine.temporary import held_directory
with held_directory("x-", Path(sys.argv[1])) as held:
    (held.path / "socket").touch()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_left_goes_with_the_next_one(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    (tmp_path / "another").mkdir()
    assert len(list(tmp_path.glob("x-*"))) == 1
    with held_directory("x-", tmp_path) as held:
        assert set(tmp_path.iterdir()) == {held.path, tmp_path / "another"}


def test_whoever_inherits_the_lock_holds_the_directory(tmp_path: Path) -> None:
    with held_directory("x-", tmp_path) as held:
        heir = subprocess.Popen(["sleep", "600"], pass_fds=(held.lock,))
    try:
        with held_directory("x-", tmp_path):
            assert held.path.exists()
    finally:
        heir.kill()
        heir.wait()
    with held_directory("x-", tmp_path):
        assert not held.path.exists()


def test_nothing_that_a_link_leads_to_is_removed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "mine").touch()
    (tmp_path / "x-link").symlink_to(tmp_path / "elsewhere")
    with held_directory("x-", tmp_path):
        assert (tmp_path / "elsewhere" / "mine").exists()


@pytest.fixture
def short() -> Iterator[Path]:
    """Yield a directory with a short path, as tmp_path has none."""
    path = Path(tempfile.mkdtemp(prefix="t-", dir="/tmp"))
    yield path
    shutil.rmtree(path)


def test_a_socket_fits_in_however_long_the_usual_directory_is(short: Path) -> None:
    longest = short / ("x" * (107 - len(f"{short}//tuner-engine-12345678/{uuid4()}")))
    longer = short / f"{longest.name}x"
    for usual, parent in ((longest, longest), (longer, Path("/tmp"))):
        usual.mkdir()
        with engine_directory({"TMPDIR": str(usual)}) as held:
            assert held.path.parent == parent
            assert len(f"{held.path}/{uuid4()}") <= 107
            held.path.rmdir()


def test_a_directory_that_is_not_there_is_passed_over(short: Path) -> None:
    with engine_directory({"TMPDIR": str(short / "none"), "TMP": str(short)}) as held:
        assert held.path.parent == short


def test_caches_stay_where_they_are(tmp_path: Path) -> None:
    assert with_directory({"TMPDIR": str(tmp_path), "A": "b"}, Path("/own")) == {
        "A": "b",
        "TMPDIR": "/own",
        "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / f"torchinductor_{getpass.getuser()}"),
        "TIKTOKEN_RS_CACHE_DIR": str(tmp_path / "tiktoken-rs-cache"),
        "TIKTOKEN_CACHE_DIR": str(tmp_path / "data-gym-cache"),
    }


@pytest.mark.real
def test_pytorch_calls_its_cache_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._inductor.runtime.cache_dir_utils import default_cache_dir

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    env = with_directory({"TMPDIR": str(tmp_path)}, Path("/own"))
    assert env["TORCHINDUCTOR_CACHE_DIR"] == default_cache_dir()


def test_caches_of_the_user_count(tmp_path: Path) -> None:
    own = {"TORCHINDUCTOR_CACHE_DIR": "/mine", "TIKTOKEN_RS_CACHE_DIR": "/mine", "DATA_GYM_CACHE_DIR": "/mine"}
    assert with_directory(own, tmp_path) == {**own, "TMPDIR": str(tmp_path)}
