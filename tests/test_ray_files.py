"""A directory of Ray's goes with its sweep, or with the next one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tuner.errors import PoolError
from tuner.pool.ray_files import ray_files

KILLED = """
import os, signal
from tuner.pool.ray_files import ray_files
with ray_files() as path:
    (path / "session_1").mkdir()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path / "ray"))
    return tmp_path / "ray"


@pytest.mark.parametrize("ending", [None, KeyboardInterrupt, SystemExit])
def test_nothing_is_left_of_an_orderly_end(parent: Path, ending: type[BaseException] | None) -> None:
    try:
        with ray_files() as path:
            (path / "session_1").mkdir()
            if ending is not None:
                raise ending
    except (KeyboardInterrupt, SystemExit):
        pass
    assert list(parent.iterdir()) == []


def test_what_a_killed_sweep_left_goes_with_the_next_one_and_what_a_running_one_has_stays(parent: Path) -> None:
    with ray_files() as running:
        subprocess.run([sys.executable, "-c", KILLED], check=False)
        assert len(list(parent.iterdir())) == 2
        with ray_files() as ours:
            assert set(parent.iterdir()) == {running, ours}
    assert list(parent.iterdir()) == []


def test_logs_stay_for_who_is_told_to_look_at_them(parent: Path) -> None:
    with pytest.raises(PoolError), ray_files() as path:
        (path / "log").touch()
        raise PoolError("Ray did not start")
    assert (path / "log").exists()
    with ray_files():
        assert not path.exists()


def test_what_is_of_something_else_stays(parent: Path) -> None:
    for name in ("tuner-ray-old", "another"):
        (parent / name).mkdir(parents=True)
    with ray_files() as ours:
        assert {path.name for path in parent.iterdir()} == {"another", ours.name}
