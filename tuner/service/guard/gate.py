"""The ASGI layer around everything: rules first, headers last, and a line of log for each request."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tuner.service.guard.body import read_body
from tuner.service.guard.rules import Asked, Rules
from tuner.service.problems import Refused

NOTHING_LOADS = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_HEADERS = {
    "Content-Security-Policy": NOTHING_LOADS,
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""On every answer; what a route sets itself stays."""


@dataclass(frozen=True)
class Answered:
    """One request that was answered.

    path: without the query.  route: its pattern, "" where none matched.  who: name of the token.  client: address.
    """

    id: str
    method: str
    path: str
    route: str
    status: int
    duration_s: float
    client: str
    who: str


class Gate:
    """Wraps the application.  told: called once for each request that was answered, refused ones included."""

    def __init__(self, app: ASGIApp, rules: Rules, told: Callable[[Answered], None]) -> None:
        self._app = app
        self._rules = rules
        self._told = told

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; what is no HTTP request (start and end of the server) is passed on."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        began_s, status, method = time.monotonic(), 500, scope["method"]
        request_id, who = secrets.token_hex(8), ""

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                headers["X-Request-Id"] = request_id
            elif method == "HEAD":
                message = {**message, "body": b""}
            await send(message)

        try:
            asked = _asked(scope)
            who = scope["tuner.who"] = self._rules.admit(asked)
            if method == "HEAD":
                scope["method"] = "GET"
            if not asked.safe:
                receive = await read_body(Headers(scope=scope), receive)
            await self._app(scope, receive, sending)
        except Refused as refused:
            await refused.response()(scope, receive, sending)
        finally:
            route = getattr(scope.get("route"), "path", "")
            took_s = time.monotonic() - began_s
            self._told(Answered(request_id, method, scope["path"], route, status, took_s, _client(scope), who))


def _asked(scope: Scope) -> Asked:
    headers = Headers(scope=scope)
    return Asked(
        method=scope["method"],
        path=scope["path"],
        client=_client(scope),
        hosts=headers.getlist("host"),
        origins=headers.getlist("origin"),
        fetch_site=headers.get("sec-fetch-site", ""),
        authorization=headers.get("authorization", ""),
    )


def _client(scope: Scope) -> str:
    return scope["client"][0] if scope.get("client") else "unknown"
