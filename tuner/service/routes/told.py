"""What OpenAPI says of the answers that are no success."""

from __future__ import annotations

from typing import Any

from fastapi import Security
from fastapi.security import HTTPBearer

from tuner.service.problems import PROBLEM_TYPE, Problem

NEEDS_TOKEN = [Security(HTTPBearer(auto_error=False, description="A token of the server's token file."))]
"""Says in the document what the gate asks for; it has let the request through by then."""
_WORDS = {
    400: "The request is malformed, or its Host is not this server's.",
    401: "There is no valid token.",
    403: "The token lacks the scope, a name is not on the allow-list, or another site's page asks.",
    404: "There is no such thing.",
    405: "This path does not have that method.",
    406: "No form of the answer is acceptable.",
    408: "The body did not arrive in time.",
    409: "Its state does not allow it.",
    413: "The body is too large.",
    415: "The body is not application/json.",
    422: "A field is missing, unknown or wrong.",
    429: "Too many requests, or the queue is full; Retry-After says when to ask again.",
    503: "The registry or the disk cannot be reached.",
}
_ALWAYS = (400, 401, 403, 429, 503)


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the `responses` of a route that may answer with these, and with what any route may."""
    schema = {"schema": Problem.model_json_schema()}
    return {
        status: {"description": _WORDS[status], "content": {PROBLEM_TYPE: schema}}
        for status in sorted({*_ALWAYS, *statuses})
    }
