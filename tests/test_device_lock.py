"""Locks of devices, between processes as they would be between users and checkouts."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from uuid import uuid4

import pytest

from tuner import device_lock
from tuner.device_lock import Holder, Taken, descriptors, release, take, this_process

HOLDS = """
import os, subprocess, sys, time
from tuner.device_lock import descriptors, take, this_process
os.setuid(int(sys.argv[3]))
assert take([sys.argv[1]], this_process("tuner sweep \\x1b[31mred")) is None
if sys.argv[2] == "with an engine":
    engine = [sys.executable, "-c", "import sys; print('engine', flush=True); sys.stdin.read()"]
    subprocess.Popen(engine, pass_fds=descriptors())
else:
    print("held", flush=True)
time.sleep(600)
"""
ME = this_process("tuner sweep mine")


@pytest.fixture
def device() -> Iterator[str]:
    yield f"GPU-{uuid4()}"
    release()


def held_elsewhere(device: str, how: str = "alone", user: int = os.getuid()) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", HOLDS, device, how, str(user)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline()
    return process


def becomes(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 60
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def ended(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()


def test_a_device_has_one_sweep_which_says_who_it_is(device: str) -> None:
    other = held_elsewhere(device)
    taken = take([device], ME)
    assert taken is not None and taken.by is not None
    assert (taken.device, taken.by.pid, taken.by.host) == (device, other.pid, ME.host)
    assert f"{device} is used by process {other.pid} on {ME.host} (user " in taken.words
    assert taken.words.endswith("tuner sweep ?[31mred"), "nothing of another user's reaches the terminal as a control"
    ended(other)
    assert becomes(lambda: take([device], ME) is None)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be another user")
def test_between_two_users(device: str) -> None:
    other = held_elsewhere(device, user=65534)
    taken = take([device], ME)
    assert taken is not None and taken.by is not None and taken.by.user in ("nobody", "65534")
    ended(other)
    assert take([device], ME) is None


def test_the_engine_of_a_killed_sweep_keeps_its_device_until_it_is_gone(device: str) -> None:
    other = held_elsewhere(device, "with an engine")
    os.kill(other.pid, signal.SIGKILL)
    other.wait()
    taken = take([device], ME)
    assert taken is not None
    assert taken.words == f"{device} is still used by the engine of a sweep that ended"
    assert other.stdin is not None and other.stdout is not None
    other.stdin.close()  # and with it the engine ends
    assert becomes(lambda: take([device], ME) is None)
    other.stdout.close()


def test_all_or_none(device: str) -> None:
    other = held_elsewhere(f"{device}-b")
    assert take([f"{device}-c", f"{device}-a", f"{device}-b"], ME) is not None
    assert descriptors() == ()
    ended(other)


def test_of_one_sweep_several_processes_may_share_a_host(device: str) -> None:
    assert take([device], ME) is None
    held = dict(device_lock._held)
    device_lock._held.clear()  # as if it were another worker of this sweep
    try:
        assert take([device], ME) is None
        other = take([device], replace(ME, pid=ME.pid + 1))
        assert other == Taken(device, ME)
    finally:
        device_lock._held.update(held)


def test_given_back_it_is_free_at_once(device: str) -> None:
    for _ in range(20):
        assert take([device], ME) is None
        release()


@pytest.mark.parametrize("answer", [b"", b"{}", b"[1]", b'{"pid": "x"}', b"\xff" * 10])
def test_a_holder_that_answers_nonsense_is_nobody(device: str, answer: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as holds:
        holds.bind(f"\0spec-tuner/{device}")
        holds.listen()
        answering = threading.Thread(target=lambda: _say(holds, answer))
        answering.start()
        assert take([device], ME) == Taken(device, None)
        answering.join()


def _say(holds: socket.socket, answer: bytes) -> None:
    asks, _ = holds.accept()
    with asks:
        asks.sendall(answer)


def test_a_pid_that_was_given_to_another_process_is_gone() -> None:
    assert not device_lock._is_gone(ME)
    assert device_lock._is_gone(replace(ME, began=ME.began - 100))
    assert not device_lock._is_gone(replace(ME, began=ME.began - 100, host="elsewhere")), "not to be told from here"
    assert Holder(ME.pid, ME.host, ME.began, ME.user, ME.command) == ME


@pytest.mark.parametrize(
    "told",
    [
        b"",
        b"[" * 100_000,
        b"[1]",
        b"{}",
        b'{"pid": Infinity, "host": "h", "began": 1, "user": "u", "command": "c"}',
        b'{"pid": -5, "host": "h", "began": 1, "user": "u", "command": "c"}',
        b'{"pid": 10000000000000000000000, "host": "h", "began": 1, "user": "u", "command": "c"}',
        b'{"pid": 5, "host": "h", "began": 1e300, "user": "u", "command": "c"}',
        b'{"pid": 5, "host": "h", "began": NaN, "user": "u", "command": "c"}',
    ],
)
def test_who_says_what_no_process_can_have_is_nobody(told: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        Holder.from_json(told)


def test_a_late_clock_has_words() -> None:
    told = b'{"pid": 5, "host": "h\\u001b[2J", "began": 1099511627775, "user": "u", "command": "c"}'
    assert Holder.from_json(told).words.startswith("process 5 on h?[2J (user u, since 36812-")
