"""What a faulty engine does to its processes, its port and its streams."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import time

from aiohttp import web

from tuner.engine.sim.faults import Faults
from tuner.engine.sim.profile import Fault, FaultKind

PROMISED_BYTES = 10**6
_SLOW_S = 60.0
_STUBBORN_S = 600.0
_BREAKS: tuple[FaultKind, ...] = ("truncated_stream", "half_event", "slow_stream")


def fork_as_told(faults: Faults) -> None:
    """Become a daemon, or start one that does nothing. Call it while this process has one thread and no event loop."""
    if faults.of_life("stubborn_child") and _in_a_session_of_its_own():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(_STUBBORN_S)
        os._exit(0)
    if faults.of_life("daemonizes") and not _in_a_session_of_its_own():
        os._exit(0)


def _in_a_session_of_its_own() -> bool:
    """Fork twice, as daemons do; return True in the grandchild, False here."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return False
    os.setsid()
    if os.fork():
        os._exit(0)
    return True


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that takes the port and on which nobody ever answers."""
    return socket.create_server((host, port))


def break_of(faults: Faults, number: int) -> Fault | None:
    """Return how the stream of the number-th request breaks off, if it does."""
    return next((fault for kind in _BREAKS if (fault := faults.of_request(kind, number))), None)


async def break_off(fault: Fault, request: web.Request, response: web.StreamResponse, chunk: bytes) -> None:
    """End a stream as the fault says, at `chunk`."""
    if fault.kind == "half_event":
        await response.write(chunk[: len(chunk) // 2])
        await response.write_eof()
    elif fault.kind == "slow_stream":
        for at in range(len(chunk)):
            await response.write(chunk[at : at + 1])
            await asyncio.sleep(_SLOW_S)
    elif request.transport is not None:
        request.transport.abort()
