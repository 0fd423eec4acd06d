"""A log without end: the engine is never held up by it, disk and memory stay bounded, beginning and end are kept."""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.faults.matrix import Group, fault
from tuner.engine import logscan, supervisor
from tuner.engine.process import Launch, free_port, running_engine
from tuner.engine.supervisor import LOG_PART_BYTES, Log

FAKE = Path(__file__).parents[1] / "engine" / "fakes" / "fake_engine.py"
MIB = 2**20
FLOOD_MIB = 1024
PATIENCE_S = 240.0


def flooding(directory: Path, mib: int) -> Launch:
    port = free_port()
    options = {"port": port, "served_name": "m", "flood_mib": mib, "say": ["the first line"]}
    return Launch(
        command=(sys.executable, "-I", "-S", str(FAKE), json.dumps(options)),
        env={},
        log_path=directory / "engine.log",
        port=port,
        served_name="m",
        api_key="k",
        start_timeout_s=300,
        stall_timeout_s=300,
        version="0.0",
    )


def on_disk(path: Path) -> int:
    return path.stat().st_blocks * 512


@fault(
    Group.ENGINE,
    "writes a log of 1 GiB",
    sees="nothing: the engine is measured as any other",
    keeps="the first and the last 16 MiB of the log; the engine is never held up by it",
)
def test_a_log_of_a_gibibyte_is_bounded_on_the_disk_and_in_memory(tmp_path: Path) -> None:
    launch = flooding(tmp_path, FLOOD_MIB)
    with running_engine(launch) as engine:
        assert launch.log_path.stat().st_size > FLOOD_MIB * MIB
        deadline_s = time.monotonic() + PATIENCE_S
        while on_disk(launch.log_path) > 4 * LOG_PART_BYTES and time.monotonic() < deadline_s:
            time.sleep(0.1)
        assert on_disk(launch.log_path) <= 4 * LOG_PART_BYTES
        guard = psutil.Process(engine.supervised.supervisor_pid)
        assert all(one.memory_info().rss < 64 * MIB for one in (guard, *guard.children()))
    assert [path.name for path in tmp_path.iterdir()] == ["engine.log"]
    assert launch.log_path.stat().st_size < 2 * LOG_PART_BYTES + 100
    log = launch.log_path.read_bytes()
    assert log.startswith(b"the first line\n      0 xxx")
    assert b"\0" not in log and log.count(b"bytes are left out here") == 1
    flood = log[: log.rindex(b"INFO world_size")]  # the fake's last line
    assert flood.endswith(b"x" * 55 + b"\n")
    assert flood[LOG_PART_BYTES + 100 :].split(b"\n")[-2].split()[0] == str(FLOOD_MIB - 1).encode()


@pytest.mark.parametrize("size", [0, 2 * LOG_PART_BYTES])
def test_a_log_that_is_short_enough_stays_as_it_is(tmp_path: Path, size: int) -> None:
    path = tmp_path / "engine.log"
    path.write_bytes(b"x" * size)
    log = Log(path)
    log.trim()
    log.close()
    assert path.read_bytes() == b"x" * size


def test_a_disk_without_room_for_the_short_log_keeps_the_long_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "LOG_PART_BYTES", 4096)
    path = tmp_path / "engine.log"
    path.write_bytes(b"a" * 4096 + b"b" * 4096 + b"c" * 4096)
    log = Log(path)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (6000, before[1]))
    try:
        log.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert path.stat().st_size == 3 * 4096
    assert [one.name for one in tmp_path.iterdir()] == ["engine.log"]


def test_what_is_read_while_the_log_grows_is_never_the_hole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "LOG_PART_BYTES", 8192)
    path = tmp_path / "engine.log"
    path.write_bytes(b"")
    log = Log(path)
    with path.open("ab", buffering=0) as engine:
        for number in range(200):
            engine.write(f"{number:>7}\n".encode() * 128)
            log.trim()
            text = logscan.read_log(path, head_bytes=1024, tail_bytes=2048)
            assert "\0" not in text
            assert text.splitlines()[-1].strip() == str(number)
    log.close()
    assert path.stat().st_size < 2 * 8192 + 100
