"""Sweeps as processes of this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from tuner.errors import PoolError
from tuner.service.guard.tokens import TOKEN_VARIABLE
from tuner.service.queue.runner import Ended, told_code
from tuner.service.queue.sweeps import Sweep

LOGS = "logs"


class LocalRunner:
    """One process at a time, in a session of its own: a signal to the server's terminal is not one to the sweep.

    Its output goes to files, so that it can go on when the server was killed; the next server then waits for its end.
    """

    outlives = False

    def __init__(self, root: Path) -> None:
        """root: the queue's directory."""
        self._logs = root / LOGS
        self._child: subprocess.Popen[bytes] | None = None
        self._process: psutil.Process | None = None
        self._out = self._logs

    def adopt(self, sweep: Sweep) -> bool:
        """Take over a process that an earlier server left; a number that another process has by now is none."""
        self._child, self._process = None, None
        self._out = self._logs / f"{sweep.id}.out"
        if sweep.pid is None:
            return False
        try:
            process = psutil.Process(sweep.pid)
            if process.create_time() == sweep.began_s and process.status() != psutil.STATUS_ZOMBIE:
                self._process = process
        except psutil.NoSuchProcess:
            return False
        return self._process is not None

    def start(self, sweep: Sweep, arguments: Sequence[str]) -> tuple[int | None, float | None]:
        """Start it."""
        environ = {name: value for name, value in os.environ.items() if name != TOKEN_VARIABLE}
        try:
            self._logs.mkdir(exist_ok=True)
            self._out = self._logs / f"{sweep.id}.out"
            with self._out.open("wb") as out, (self._logs / f"{sweep.id}.log").open("ab") as log:
                self._child = subprocess.Popen(
                    [sys.executable, "-m", "tuner", *arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=log,
                    env=environ,
                    start_new_session=True,
                )
        except OSError as error:
            raise PoolError(f"the sweep cannot be started: {error}", "Look after the server's disk.") from error
        self._process = psutil.Process(self._child.pid)
        return self._child.pid, self._process.create_time()

    def ended(self) -> Ended | None:
        """Return how it ended; of one that was taken over nobody saw the exit code, but it may have said it."""
        if self._child is not None:
            code = self._child.poll()
            return None if code is None else Ended(code, self._out.read_text("utf-8", "replace"))
        if self._process is not None and self._process.is_running():
            return None
        said = self._out.read_text("utf-8", "replace") if self._out.is_file() else ""
        return Ended(told_code(said), said)

    def interrupt(self) -> None:
        """Send it what Ctrl-C sends.  psutil makes sure that the number is still that process's."""
        if self._process is not None:
            with suppress(psutil.NoSuchProcess):
                self._process.send_signal(signal.SIGINT)
