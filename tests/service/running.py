"""`tuner serve` in a process of its own."""

from __future__ import annotations

import http.client
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.service.conftest import BOTH

PATIENCE_S = 240.0


class Server:
    """A server on a port of its own."""

    def __init__(self, options: dict[str, Any], log: Path) -> None:
        """options: of ServeRequest, which are those of the command line but for `compare`."""
        given = [f"--{name.replace('_', '-')}={value}" for name, value in options.items() if name != "compare"]
        with log.open("ab") as stream:
            began = stream.tell()
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tuner", "serve", "--port", "0", *given], stderr=stream
            )
        told = until(lambda: re.search(r'"event": "listening".*?"port": (\d+)', log.read_text()[began:]))
        self.port = int(told[1])

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers by their names in lower case, and body."""
        sent = {"Authorization": f"Bearer {BOTH}", "Content-Type": "application/json", **headers}
        asked = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        asked.request(method, path, None if body is None else json.dumps(body), sent)
        answer = asked.getresponse()
        found = (answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        asked.close()
        return found

    def json(self, path: str) -> Any:
        """Return a document."""
        return json.loads(self.ask("GET", path)[2])

    def order(self, **order: str) -> str:
        """Ask for a sweep; return where it is to be looked at."""
        status, headers, body = self.ask("POST", "/v1/sweeps", order)
        assert status in (200, 202), body
        return headers["location"]

    def when(self, place: str, *states: str) -> Any:
        """Return a sweep as soon as it is in one of these states."""
        return until(lambda: found if (found := self.json(place))["state"] in states else None)

    def end(self, signum: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and return the exit code."""
        self.process.send_signal(signum)
        return self.process.wait(PATIENCE_S)


def until(found: Callable[[], Any]) -> Any:
    """Return what `found` returns as soon as that is something."""
    end_s = time.monotonic() + PATIENCE_S
    while not (value := found()):
        assert time.monotonic() < end_s, "it did not come"
        time.sleep(0.2)
    return value
