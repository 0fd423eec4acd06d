"""Bodies: small ones, of JSON, and soon."""

from __future__ import annotations

import asyncio

from starlette.datastructures import Headers
from starlette.types import Message, Receive

from tuner.service.problems import Refused

MOST_BYTES = 16 * 1024
WITHIN_S = 10.0


async def read_body(headers: Headers, receive: Receive) -> Receive:
    """Read a body to its end and return what hands it on.  Refused: 413, 415, 408, 400 for a client that left."""
    length = headers.get("content-length", "0")
    if not length.isdigit() or int(length) > MOST_BYTES:
        raise _too_large()
    try:
        body = await asyncio.wait_for(_read(receive), WITHIN_S)
    except TimeoutError as error:
        raise Refused(408, "slow-body", f"The body did not arrive within {WITHIN_S:g} s.") from error
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if body and kind != "application/json":
        raise Refused(415, "not-json", "The body is not application/json.", "Set Content-Type: application/json.")
    handed_on = False

    async def replay() -> Message:
        nonlocal handed_on
        if handed_on:
            return await receive()
        handed_on = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


async def _read(receive: Receive) -> bytes:
    body = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refused(400, "client-left", "The client left before its body was whole.")
        body += bytes(message.get("body", b""))
        if len(body) > MOST_BYTES:
            raise _too_large()
        if not message.get("more_body", False):
            return body


def _too_large() -> Refused:
    return Refused(413, "too-large", f"The body is larger than {MOST_BYTES} bytes.", "A sweep is asked for by names.")
