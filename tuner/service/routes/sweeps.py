"""/v1/sweeps: asking for a sweep, watching it, ending it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from tuner.service.allowed import Order
from tuner.service.documents import SweepDocument, Sweeps
from tuner.service.parts import SweepId, WithParts
from tuner.service.problems import Refused
from tuner.service.routes.told import NEEDS_TOKEN, problems

router = APIRouter(prefix="/v1/sweeps", tags=["sweeps"], dependencies=NEEDS_TOKEN)
_LOCATION = {"Location": {"schema": {"type": "string"}, "description": "Where the sweep is to be looked at."}}


class HowMany(BaseModel):
    """limit: most sweeps of each kind."""

    model_config = ConfigDict(extra="forbid")

    limit: int = Field(default=50, ge=1, le=200)


@router.get("", responses=problems(422), summary="Sweeps that wait, run or ended")
def list_sweeps(parts: WithParts, many: Annotated[HowMany, Query()]) -> Sweeps:
    """Return the queue's sweeps and runs that were started otherwise, each newest first, at most `limit` of each."""
    return Sweeps(sweeps=parts.runs.listed(many.limit))


@router.get("/{sweep}", responses=problems(404), summary="One sweep")
def get_sweep(sweep: SweepId, parts: WithParts) -> SweepDocument:
    """Return where a sweep is, and what it ended with."""
    return parts.runs.get(sweep)


@router.post(
    "",
    status_code=202,
    responses={
        200: {"description": "The same order waits or runs already; this is it.", "headers": _LOCATION},
        202: {"description": "It is queued.", "headers": _LOCATION},
        **problems(408, 413, 415, 422),
    },
    summary="Ask for a sweep",
)
def add_sweep(order: Order, parts: WithParts, request: Request, response: Response) -> SweepDocument:
    """Queue a sweep by names on the server's allow-list. One that was cancelled or failed is gone on with."""
    allowed = parts.settings.allowed
    if allowed is None:
        step = "Start the server with --allow-list FILE (docs/serving.md)."
        raise Refused(403, "no-allow-list", "This server has no allow-list, so it does not sweep.", step)
    allowed.check(order)
    sweep, is_new = parts.waiting.add(order, _who(request))
    response.status_code = 202 if is_new else 200
    response.headers["Location"] = f"/v1/sweeps/{sweep.id}"
    return parts.runs.get(sweep.id)


@router.delete(
    "/{sweep}", status_code=202, responses=problems(404, 408, 409, 413, 415), summary="End a sweep as Ctrl-C does"
)
def cancel_sweep(sweep: SweepId, parts: WithParts, request: Request) -> SweepDocument:
    """Ask for its end: its engines are stopped, what is measured is kept. One that waits has ended at once."""
    parts.runs.check_cancellable(sweep)
    parts.waiting.cancel(sweep, _who(request))
    return parts.runs.get(sweep)


def _who(request: Request) -> str:
    return str(request.scope["tuner.who"])
