"""What a sweep prints may lose its reader at any time; the sweep goes on."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

SPEAKS = """
import sys, subprocess
from tuner.cli.streams import outlast_readers
outlast_readers()
sys.stdin.readline()
for _ in range(3):
    print("out", flush=True)
    print("err", file=sys.stderr, flush=True)
child = subprocess.run([sys.executable, "-c", "import os; os.write(1, b'child'); os.write(2, b'child')"])
open(sys.argv[1], "w").write(f"{child.returncode}")
"""


def speak(done: Path, out: int, err: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", SPEAKS, str(done)], stdin=subprocess.PIPE, stdout=out, stderr=err)


def test_a_pipe_whose_reader_left(tmp_path: Path) -> None:
    reads, writes = os.pipe()
    process = speak(tmp_path / "done", writes, writes)
    os.close(writes)
    os.close(reads)
    process.communicate(b"\n", timeout=60)
    assert process.returncode == 0
    assert (tmp_path / "done").read_text() == "0", "what it starts may write there too"


def test_a_terminal_that_was_hung_up(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    process = speak(tmp_path / "done", theirs, theirs)
    os.close(theirs)
    os.close(ours)
    process.communicate(b"\n", timeout=60)
    assert process.returncode == 0
    assert (tmp_path / "done").read_text() == "0"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_takes_the_log_but_not_the_result(tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        process = speak(tmp_path / "log", subprocess.DEVNULL, full.fileno())
        process.communicate(b"\n", timeout=60)
        assert (tmp_path / "log").exists()
        lost = speak(tmp_path / "result", full.fileno(), subprocess.DEVNULL)
        lost.communicate(b"\n", timeout=60)
    assert lost.returncode != 0
    assert not (tmp_path / "result").exists()
