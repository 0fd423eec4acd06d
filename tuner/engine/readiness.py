"""Whether a starting engine is ready: not yet, ready, someone else, too late or stuck.

vLLM listens only after its model is loaded, so an answer on the port is either the ready engine or a stranger;
which of them, the served model name tells, because every trial has its own.
"""

from __future__ import annotations

import http.client
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from pydantic_core import from_json

from tuner.engine.logscan import printable
from tuner.errors import EngineStuck, EngineTimeout, WrongServer
from tuner.space.versions import parse_release

POLL_S = 0.1
HTTP_TIMEOUT_S = 1.0
"""A probe waits no longer, so that a crash behind a silent port is still noticed within 2 s."""
MAX_BODY_BYTES = 1_000_000
MAX_NAME = 100
"""Characters of a stranger's words that are shown."""

_OTHER_SERVER = "Another process took the port between choosing and using it: run again; `ss -ltnp` shows who listens."


@dataclass(frozen=True)
class Answer:
    """What came back from the port."""

    status: int
    body: bytes


@dataclass(frozen=True)
class Served:
    """What the engine says about itself and the model it serves; None for what it does not say.

    max_model_len: tokens.  version: of vLLM.
    """

    max_model_len: int | None
    version: str | None = None


@dataclass(frozen=True)
class Progress:
    """How far a start has come. All times are of one monotonic clock, in seconds."""

    started_s: float
    log_bytes: int
    last_change_s: float

    def seen(self, log_bytes: int, now_s: float) -> Progress:
        """Return the progress after looking at the log's size again."""
        return self if log_bytes == self.log_bytes else Progress(self.started_s, log_bytes, now_s)


class _Hurried(socket.socket):
    """A socket whose reads take HTTP_TIMEOUT_S together: a timeout alone would begin anew with every byte."""

    def __init__(self, connected: socket.socket) -> None:
        super().__init__(fileno=connected.detach())
        self._deadline_s = time.monotonic() + HTTP_TIMEOUT_S

    def recv_into(self, *args: Any, **kwargs: Any) -> int:
        self.settimeout(max(self._deadline_s - time.monotonic(), 1e-3))
        return super().recv_into(*args, **kwargs)


def fetch(port: int, path: str, api_key: str) -> Answer | None:
    """GET from 127.0.0.1, never through a proxy; None if nobody answers yet.

    Raises WrongServer if what answers does not speak HTTP.
    """
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=HTTP_TIMEOUT_S)
    try:
        connection.connect()
        if connection.sock.getsockname() == connection.sock.getpeername():
            return None  # Where nobody listens yet, the kernel may connect an ephemeral port with itself.
        connection.sock = _Hurried(connection.sock)
        connection.request("GET", path, headers={"Authorization": f"Bearer {api_key}", "Connection": "close"})
        response = connection.getresponse()
        return Answer(response.status, response.read(MAX_BODY_BYTES))
    except (http.client.RemoteDisconnected, OSError):
        return None
    except http.client.HTTPException as error:
        what = f"Port {port} is answered by something that does not speak HTTP ({type(error).__name__})."
        raise WrongServer(what, _OTHER_SERVER) from error
    finally:
        connection.close()


def identify(answer: Answer | None, served_name: str, port: int) -> Served | None:
    """Judge an answer to /v1/models: our engine, or None for not yet. Raises WrongServer for someone else's."""
    if answer is None or answer.status >= 500:
        return None
    if answer.status != 200:
        raise WrongServer(f"Port {port} answers /v1/models with HTTP {answer.status}: not our engine.", _OTHER_SERVER)
    models = _models(answer.body)
    if served_name not in models:
        names = printable(", ".join(sorted(models))[:MAX_NAME]) or "nothing"
        raise WrongServer(f"Port {port} serves {names} instead of {served_name}: not our engine.", _OTHER_SERVER)
    length = models[served_name].get("max_model_len")
    return Served(length if isinstance(length, int) else None)


def _models(body: bytes) -> dict[str, dict[str, object]]:
    try:
        data = from_json(body)["data"]
        return {str(model["id"]): model for model in data if isinstance(model, dict)}
    except (ValueError, KeyError, TypeError):
        return {}


def said_version(answer: Answer | None) -> str | None:
    """Return the version in an answer to /version, None if there is none in it."""
    if answer is None or answer.status != 200:
        return None
    try:
        version = from_json(answer.body)["version"]
    except (ValueError, KeyError, TypeError):
        return None
    return printable(version[:MAX_NAME]) if isinstance(version, str) else None


def other_version(resolved: str, said: str | None) -> str | None:
    """Return words for an engine that says it is another release than the one its environment has; None if it agrees.

    resolved: what the candidates were judged by.  Builds of one release differ in what follows the number.
    """
    if said is None or said == resolved:
        return None
    here, there = parse_release(resolved), parse_release(said)
    if here is not None and here == there:
        return None
    return f"version: {resolved} is installed by its metadata, the engine that ran says {said}"


def check_patience(progress: Progress, now_s: float, start_timeout_s: float, stall_timeout_s: float) -> None:
    """Raise EngineStuck or EngineTimeout when a start takes too long; a silent log is the more telling of the two."""
    silent_s, total_s = now_s - progress.last_change_s, now_s - progress.started_s
    if silent_s > stall_timeout_s:
        raise EngineStuck(
            f"The engine is not ready after {total_s:.0f} s and its log has been silent for {silent_s:.0f} s.",
            "Look at the end of its log. If a longer silence is normal for it (compiling), raise stall_timeout_s.",
        )
    if total_s > start_timeout_s:
        raise EngineTimeout(
            f"The engine is not ready after {total_s:.0f} s, though its log still grows.",
            "Raise start_timeout_s, or make the start cheaper (enforce_eager, a warm VLLM_CACHE_ROOT).",
        )


def wait_until_ready(
    port: int,
    served_name: str,
    api_key: str,
    *,
    start_timeout_s: float,
    stall_timeout_s: float,
    log_bytes: Callable[[], int],
    check_alive: Callable[[], None],
) -> Served:
    """Return when the engine serves `served_name` and is healthy.

    log_bytes: size of its log, now.  check_alive: raises EngineCrashed if the engine ended; called after every probe.
    Raises what check_alive raises, WrongServer, EngineStuck, EngineTimeout.
    """
    now_s = time.monotonic()
    progress = Progress(now_s, log_bytes(), now_s)
    while True:
        check_alive()
        answer = fetch(port, "/v1/models", api_key)
        served = identify(answer, served_name, port)
        if served and (health := fetch(port, "/health", api_key)) and health.status == 200:
            return replace(served, version=said_version(fetch(port, "/version", api_key)))
        now_s = time.monotonic()
        if answer is None:  # Whoever answers writes our own questions into its log: such growth is no progress.
            progress = progress.seen(log_bytes(), now_s)
        check_patience(progress, now_s, start_timeout_s, stall_timeout_s)
        time.sleep(POLL_S)
