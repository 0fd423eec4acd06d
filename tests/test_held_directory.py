"""A directory is there as long as it is held, and gone with the next one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tuner.held_directory import held_directory

KILLED = """
import os, signal, sys
from pathlib import Path
from tuner.held_directory import held_directory
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
