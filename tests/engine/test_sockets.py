"""An engine's sockets have paths that are short enough, and a directory of their own."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tuner.engine.sockets import PREFIX, socket_directory, with_sockets_in


@pytest.fixture
def short() -> Iterator[Path]:
    """Yield a directory with a short path, as tmp_path has none."""
    path = Path(tempfile.mkdtemp(prefix="t-", dir="/tmp"))
    yield path
    shutil.rmtree(path)


def parent(env: dict[str, str]) -> Path:
    with socket_directory(env) as held:
        assert len(f"{held.path}/{uuid4()}") <= 107
        assert held.path.stat().st_mode & 0o777 == 0o700
        held.path.rmdir()
    return held.path.parent


def test_a_path_that_would_be_too_long_is_not_taken(short: Path) -> None:
    longest = short / ("x" * (107 - len(f"{short}//{PREFIX}12345678/{uuid4()}")))
    longer = short / f"{longest.name}x"
    for usual, taken in ((longest, longest), (longer, Path("/tmp"))):
        usual.mkdir()
        assert parent({"TMPDIR": str(usual)}) == taken


def test_where_the_user_wants_them_comes_first(short: Path) -> None:
    (short / "asked").mkdir()
    env = {"TMPDIR": str(short), "VLLM_RPC_BASE_PATH": str(short / "asked")}
    assert parent(env) == short / "asked"
    assert parent({**env, "VLLM_RPC_BASE_PATH": str(short / "none")}) == short
    assert parent({}) == Path("/tmp")


def test_nothing_else_moves() -> None:
    env = {"TMPDIR": "/scratch", "VLLM_RPC_BASE_PATH": "/scratch", "A": "b"}
    assert with_sockets_in(Path("/own"), env) == {**env, "VLLM_RPC_BASE_PATH": "/own"}


@pytest.mark.real
def test_vllm_leaves_it_out_of_what_names_its_compile_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    from vllm import envs

    for name, value in with_sockets_in(Path("/own"), {}).items():
        monkeypatch.setenv(name, value)
        assert getattr(envs, name) == value
        assert name not in envs.compile_factors()
