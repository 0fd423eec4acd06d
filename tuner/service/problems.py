"""Errors as RFC 9457 has them: application/problem+json, with the next step."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

PROBLEM_TYPE = "application/problem+json"


class Problem(BaseModel):
    """What went wrong.  type: a stable name, for scripts.  next_step: what the caller can do about it."""

    model_config = ConfigDict(frozen=True)

    type: str = Field(examples=["urn:tuner:no-such-target"])
    title: str = Field(examples=["Not Found"])
    status: int = Field(examples=[404])
    detail: str = Field(examples=["There is no such target."])
    next_step: str = Field(default="", examples=["GET /v1/targets lists them."])


class Refused(Exception):
    """A request that is answered with a problem.  name: its type without the prefix."""

    def __init__(
        self, status: int, name: str, detail: str, next_step: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.headers = dict(headers or {})
        self.problem = Problem(
            type=f"urn:tuner:{name}",
            title=HTTPStatus(status).phrase,
            status=status,
            detail=detail,
            next_step=next_step,
        )

    def response(self) -> Response:
        """Return the answer."""
        # ASCII, so that a lone surrogate in what is told cannot make the answer one that has no encoding.
        body = json.dumps(self.problem.model_dump()).encode("ascii")
        return Response(body, self.problem.status, self.headers, PROBLEM_TYPE)


def not_found(what: str, where: str) -> Refused:
    """Return the problem of a thing that is not there.  what: "target".  where: the path that lists them."""
    return Refused(404, f"no-such-{what}", f"There is no such {what}.", f"GET {where} lists them.")
