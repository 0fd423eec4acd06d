"""One key for all engines of a user: an engine's compile cache may depend on it."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tuner.engine.api_key import FILE_NAME, engine_api_key


def test_every_engine_gets_the_same_key_that_only_the_user_can_read(tmp_path: Path) -> None:
    directory = tmp_path / "cache"
    first = engine_api_key(directory)
    assert engine_api_key(directory) == first and len(first) >= 32
    assert stat.S_IMODE((directory / FILE_NAME).stat().st_mode) == 0o600
    assert [path.name for path in directory.iterdir()] == [FILE_NAME]


def test_engines_that_start_at_once_agree(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(engine_api_key, [tmp_path] * 32))) == 1


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_a_key_that_others_may_know_is_not_used(tmp_path: Path, mode: int) -> None:
    kept = engine_api_key(tmp_path)
    (tmp_path / FILE_NAME).chmod(mode)
    assert engine_api_key(tmp_path) != kept


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"\n"])
def test_a_broken_file_still_gives_a_key(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE_NAME).write_bytes(content)
    (tmp_path / FILE_NAME).chmod(0o600)
    assert len(engine_api_key(tmp_path)) >= 32


def test_where_nothing_can_be_kept_each_engine_has_its_own(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    inside = tmp_path / "file" / "directory"
    assert engine_api_key(inside) != engine_api_key(inside)
