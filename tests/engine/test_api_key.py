"""A key for each start of an engine, or one for all of a user's where the engine's compile cache depends on it."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tuner.engine.api_key import FILE_NAME, engine_api_key, kept_key
from tuner.space.versions import version_row


# Read in vllm/envs.py of these releases. Before 0.12.0 it lists what names the cache, from then on what does not.
@pytest.mark.parametrize(
    ("versions", "keeps_one"),
    [
        (("0.8.5", "0.9.2", "0.10.0", "0.11.0", "0.11.2"), False),
        (("0.12.0", "0.12.0.post2", "0.13.0", "0.14.1", "0.20.0", "0.25.1", "0.26.0", "0.27.1", "0.28.0"), True),
        (("0.29.0", "0.30.0", "0.31.0", "0.32.0", "0.33.0", "0.34.0", "0.1.dev1+g123abc"), False),
    ],
)
def test_a_start_has_a_key_of_its_own_unless_its_release_names_the_cache_by_it(
    tmp_path: Path, versions: tuple[str, ...], keeps_one: bool
) -> None:
    for version in versions:
        keys = {engine_api_key(version, tmp_path) for _ in range(3)}
        assert len(keys) == (1 if keeps_one else 3), version
        assert min(map(len, keys)) >= 32
    assert (tmp_path / FILE_NAME).exists() == keeps_one


def test_the_kept_key_stays_the_same_and_only_the_user_can_read_it(tmp_path: Path) -> None:
    directory = tmp_path / "cache"
    first = kept_key(directory)
    assert kept_key(directory) == first and len(first) >= 32
    assert stat.S_IMODE((directory / FILE_NAME).stat().st_mode) == 0o600
    assert [path.name for path in directory.iterdir()] == [FILE_NAME]


def test_engines_that_start_at_once_agree(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(kept_key, [tmp_path] * 32))) == 1


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_a_key_that_others_may_know_is_not_used(tmp_path: Path, mode: int) -> None:
    kept = kept_key(tmp_path)
    (tmp_path / FILE_NAME).chmod(mode)
    assert kept_key(tmp_path) != kept


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"\n"])
def test_a_broken_file_still_gives_a_key(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE_NAME).write_bytes(content)
    (tmp_path / FILE_NAME).chmod(0o600)
    assert len(kept_key(tmp_path)) >= 32


def test_where_nothing_can_be_kept_each_engine_has_its_own(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    inside = tmp_path / "file" / "directory"
    assert kept_key(inside) != kept_key(inside)


@pytest.mark.real
def test_the_table_says_what_the_installed_release_does() -> None:
    from vllm import __version__, envs

    assert ("VLLM_API_KEY" in envs.compile_factors()) == version_row(__version__).key_names_cache
