"""Ctrl-C and SIGTERM: leave by way of every `finally`, then say how to go on."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

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


@contextmanager
def ending_cleanly(how_to_go_on: str) -> Iterator[None]:
    """Turn SIGINT and SIGTERM into an orderly end with exit code 130 or 143."""
    before = {signum: signal.signal(signum, _stop) for signum in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    except Stopped as stopped:
        click.echo(f"\nstopped. {how_to_go_on}", err=True)
        sys.exit(stopped.exit_code)
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
