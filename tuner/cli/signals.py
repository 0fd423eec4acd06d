"""Ctrl-C and SIGTERM: leave by way of every `finally`, then say how to go on."""

from __future__ import annotations

import signal
import sys
from types import FrameType, TracebackType
from typing import Any

import click

from tuner.errors import EXIT_INTERRUPTED, EXIT_TERMINATED


class Stopped(BaseException):
    """A signal asked the process to end. Not an Exception: nothing but `ending_cleanly` may catch it."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.exit_code = EXIT_INTERRUPTED if signum == signal.SIGINT else EXIT_TERMINATED


def _stop(signum: int, frame: FrameType | None) -> None:
    # A second signal must not interrupt the clean-up that the first one began.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Stopped(signum)


class ending_cleanly:
    """Context in which SIGINT and SIGTERM become an orderly end with exit code 130 or 143.

    how_to_go_on: said after everything is cleaned up.
    """

    def __init__(self, how_to_go_on: str) -> None:
        self._how_to_go_on = how_to_go_on
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> None:
        self._before = {signum: signal.signal(signum, _stop) for signum in (signal.SIGINT, signal.SIGTERM)}

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for signum, handler in self._before.items():
            signal.signal(signum, handler)
        if (stopped := _cause(error)) is not None:
            click.echo(f"\nstopped. {self._how_to_go_on}", err=True)
            sys.exit(stopped.exit_code)


def _cause(error: BaseException | None) -> Stopped | None:
    """Return the Stopped that `error` is, or that a C extension (Ray's wait) wrapped in an error of its own."""
    seen = error
    while seen is not None and not isinstance(seen, Stopped):
        seen = seen.__cause__ or seen.__context__
    return seen
