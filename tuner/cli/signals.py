"""Ctrl-C, SIGTERM and a lost terminal: leave by way of every `finally`, then say how to go on."""

from __future__ import annotations

import atexit
import json
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any, ClassVar

import click

STOPPING = "stopping: engines are ended first"
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(BaseException):
    """A signal asked the process to end. Not an Exception: nothing but `ending_cleanly` may catch it."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signal = signal.Signals(signum)
        self.exit_code = 128 + signum


class ending_cleanly:
    """Context in which SIGINT, SIGTERM and SIGHUP become an orderly end with exit code 128 + the signal's number.

    A signal that is ignored on entry stays ignored: `nohup`, and what a shell's script runs in the background.
    kept: what is not lost, in a sentence.  resume: returns the command that goes on.  as_json: say both as one JSON
    object on standard output too. They are said after everything is cleaned up.
    """

    _current: ClassVar[ending_cleanly | None] = None
    on_screen: ClassVar[bool] = False
    """Whether a live display shows what goes on: it says by itself that this ends, and a line would garble it."""
    begun: ClassVar[bool] = False
    """Whether a signal has come."""

    def __init__(self, kept: str, resume: Callable[[], str], *, as_json: bool = False) -> None:
        self._kept = kept
        self._resume = resume
        self._as_json = as_json
        self._before: dict[signal.Signals, Any] = {}
        self._over = False

    def __enter__(self) -> None:
        found = {signum: signal.getsignal(signum) for signum in _ENDING}
        self._before = {signum: handler for signum, handler in found.items() if handler is not signal.SIG_IGN}
        for signum in self._before:
            signal.signal(signum, self._stop)
        ending_cleanly._current = self
        atexit.register(self._ignore)  # what is left then is short, and its exit code is to be that of the work

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        ending_cleanly._current, ending_cleanly.begun = None, False
        if (stopped := _cause(error)) is not None:
            # The signals stay ignored: the interpreter is about to end, and has exit handlers to finish.
            self._say(stopped)
            sys.exit(stopped.exit_code)
        for signum, handler in self._before.items():
            signal.signal(signum, handler)

    def _ignore(self) -> None:
        self._over = True
        for signum in self._before:
            signal.signal(signum, signal.SIG_IGN)

    def _stop(self, signum: int, frame: FrameType | None) -> None:
        if self._over:
            return
        # A second signal must not interrupt the clean-up that the first one began.
        self._ignore()
        ending_cleanly.begun = True
        if not self.on_screen:
            # Not through a buffered stream: the signal may have come in the middle of a write to it.
            with suppress(OSError):
                os.write(2, f"\n{STOPPING}\n".encode())
        raise Stopped(signum)

    def _say(self, stopped: Stopped) -> None:
        resume = self._resume()
        click.echo(f"stopped. {self._kept} Resume with: {resume}", err=True)
        if self._as_json:
            told = {"interrupted": stopped.signal.name, "resume": resume, "exit_code": stopped.exit_code}
            click.echo(json.dumps(told))


def work_is_done() -> None:
    """From here on a signal comes too late: everything is written, and what is printed is to be whole."""
    if ending_cleanly._current is not None:
        ending_cleanly._current._ignore()


def _cause(error: BaseException | None) -> Stopped | None:
    """Return the Stopped that `error` is, or that a C extension (Ray's wait) wrapped in an error of its own."""
    seen = error
    while seen is not None and not isinstance(seen, Stopped):
        seen = seen.__cause__ or seen.__context__
    return seen
