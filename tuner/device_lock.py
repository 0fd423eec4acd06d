"""One sweep per device: a lock that all users of a machine share, and that the kernel takes back.

A lock is a listening socket with an abstract name: no file that could be stale, be owned by somebody, or be cleaned
away under its holder. It is free when its last descriptor is closed; an engine's supervisor inherits them, so that a
device stays taken until the engine of a killed sweep is gone. Whoever is refused asks the socket who holds it.
Every process of one network namespace sees the same locks: containers with networks of their own do not.
"""

from __future__ import annotations

import getpass
import json
import os
import socket
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass

import psutil
from pydantic_core import from_json

_PREFIX = "\0spec-tuner/"
_ANSWER_S = 2.0
_LONGEST = 8192
_LONGEST_COMMAND = 1000
_LARGEST_PID = 2**31
_LATEST = 2.0**40
"""Seconds since 1970; a clock that is later has no date for it."""
_held: dict[str, tuple[socket.socket, threading.Thread]] = {}


@dataclass(frozen=True)
class Holder:
    """A sweep, by its driver.  began: when its process began, in seconds since 1970, so that a pid says who it is.

    user: who runs it.  command: as it was called.
    """

    pid: int
    host: str
    began: float
    user: str
    command: str

    @staticmethod
    def from_json(data: bytes) -> Holder:
        """Return who told this.  ValueError: it is something else.

        It may be of another user: what no process and no clock can have is refused, and no control reaches a terminal.
        """
        told = from_json(data)
        try:
            pid, began = int(str(told["pid"])), float(str(told["began"]))
            host, user, command = (
                "".join(char if char.isprintable() else "?" for char in str(told[name]))
                for name in ("host", "user", "command")
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"it does not say who it is: {error}") from error
        if not (0 < pid < _LARGEST_PID and 0 <= began < _LATEST):
            raise ValueError(f"there is no process {pid} that began at {began}")
        return Holder(pid, host, began, user, command)

    @property
    def words(self) -> str:
        """Who it is, for those who wait."""
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self.began))
        return f"process {self.pid} on {self.host} (user {self.user}, since {since}): {self.command}"


def this_process(command: str) -> Holder:
    """Return the holder that this process is."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        user = str(os.getuid())
    return Holder(os.getpid(), socket.gethostname(), psutil.Process().create_time(), user, command[:_LONGEST_COMMAND])


@dataclass(frozen=True)
class Taken:
    """A device that somebody else has.  by: who, None where nobody answers: the engine of a dead sweep stops."""

    device: str
    by: Holder | None

    @property
    def words(self) -> str:
        """In words."""
        if self.by is None or _is_gone(self.by):
            return f"{self.device} is still used by the engine of a sweep that ended"
        return f"{self.device} is used by {self.by.words}"


def take(devices: Iterable[str], me: Holder) -> Taken | None:
    """Take all devices for this process and what it starts, or none: return the first that somebody else has.

    What another process of the same sweep has counts as taken.  Never waits longer than an answer takes.
    """
    for device in sorted(devices):
        taken = None if device in _held else _take(device, me)
        if taken is not None:
            release()
            return taken
    return None


def release() -> None:
    """Give back all that this process has; what it started may still hold it.  Safe to call twice."""
    while _held:
        _, (held, answering) = _held.popitem()
        # Closing alone would leave the answering thread in its accept, and with it the lock.
        with suppress(OSError):
            held.shutdown(socket.SHUT_RDWR)
        held.close()
        answering.join(2 * _ANSWER_S)


def descriptors() -> tuple[int, ...]:
    """Return the open locks, for a process that is to hold them too."""
    return tuple(held.fileno() for held, _ in _held.values())


def _take(device: str, me: Holder) -> Taken | None:
    lock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        lock.bind(f"{_PREFIX}{device}")
    except OSError:
        lock.close()
        by = _ask(device)
        return None if by == me else Taken(device, by)
    lock.listen()
    answer = json.dumps(asdict(me)).encode()
    answering = threading.Thread(target=_answer, args=(lock, answer), name=f"holds {device}", daemon=True)
    answering.start()
    _held[device] = lock, answering
    return None


def _answer(lock: socket.socket, answer: bytes) -> None:
    with suppress(OSError):  # it was closed
        while True:
            asks, _ = lock.accept()
            with asks, suppress(OSError):
                asks.settimeout(_ANSWER_S)
                asks.sendall(answer)


def _ask(device: str) -> Holder | None:
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asks:
            asks.settimeout(_ANSWER_S)
            asks.connect(f"{_PREFIX}{device}")
            told = asks.makefile("rb").read(_LONGEST)
        return Holder.from_json(told)
    except (OSError, ValueError):
        return None


def _is_gone(holder: Holder) -> bool:
    """Whether it was of this host and is no more; a zombie holds nothing."""
    if holder.host != socket.gethostname():
        return False
    try:
        process = psutil.Process(holder.pid)
        return process.status() == psutil.STATUS_ZOMBIE or abs(process.create_time() - holder.began) > 1
    except psutil.NoSuchProcess:
        return True
    except psutil.AccessDenied:
        return False
