"""An engine's temporary directory has a short path, and leaves caches where they are."""

from __future__ import annotations

import getpass
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tuner.engine.temporary import engine_directory, with_directory


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
