"""Running the service until it is told to end."""

from __future__ import annotations

import os
import signal
import sys
from socket import socket
from types import FrameType

import uvicorn

from tuner.errors import OutputError
from tuner.service.app import service
from tuner.service.parts import Parts
from tuner.service.settings import ServeRequest, settings

_DRAIN_S = 10
_MOST_AT_ONCE = 64


def serve(request: ServeRequest) -> None:
    """Serve until SIGTERM or Ctrl-C, then exit with 128 + the signal's number.

    Requests that are being answered get 10 s, a sweep on this machine as long as it needs to stop its engines, and
    waits for the next server.  InputError where it cannot be started as asked.
    """
    made = service(settings(request, os.environ))
    config = uvicorn.Config(
        made.asgi,
        host=request.host,
        port=request.port,
        lifespan="on",
        access_log=False,  # ours has no query and no header in it
        log_level="warning",
        server_header=False,
        proxy_headers=False,  # who asks is who connects
        ws="none",
        timeout_graceful_shutdown=_DRAIN_S,
        limit_concurrency=_MOST_AT_ONCE,
    )
    # uvicorn hands the signal that ended it on to these.
    for signum in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signum, _exit)
    try:
        bound = config.bind_socket()
    except SystemExit as error:  # uvicorn has said why
        raise OutputError(f"{request.host}:{request.port} cannot be listened on", "Give another --port.") from error
    _Server(config, made.parts).run(sockets=[bound])


class _Server(uvicorn.Server):
    """Says when it can be asked."""

    def __init__(self, config: uvicorn.Config, parts: Parts) -> None:
        super().__init__(config)
        self._parts = parts

    async def startup(self, sockets: list[socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        for one in sockets or ():
            host, port = one.getsockname()[:2]
            self._parts.watching.log("listening", host=host, port=port, state=str(self._parts.waiting.root))


def _exit(signum: int, frame: FrameType | None) -> None:
    sys.exit(128 + signum)
