"""/healthz, /readyz, /metrics: for what watches the server."""

from __future__ import annotations

from fastapi import APIRouter, Response
from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from tuner.errors import OutputError
from tuner.service.documents import Health
from tuner.service.parts import WithParts
from tuner.service.routes.told import NEEDS_TOKEN, problems

router = APIRouter(tags=["operations"])


@router.get("/healthz", responses=problems(), summary="Whether the process answers")
def healthz() -> Health:
    """Return that it answers."""
    return Health(ok=True)


@router.get(
    "/readyz",
    responses={**problems(), 503: {"model": Health, "description": "Something that it needs cannot be reached."}},
    summary="Whether it can do its work",
)
def readyz(parts: WithParts, response: Response) -> Health:
    """Return whether the registry can be reached and the queue is worked on. It names no paths: it needs no token."""
    found = []
    try:
        parts.answers.check()
    except OutputError:
        found.append("the registry cannot be reached")
    if not parts.working.alive:
        found.append("nobody works on the queue")
    if found:
        response.status_code = 503
    return Health(ok=not found, problems=tuple(found))


@router.get(
    "/metrics", responses=problems(), response_class=Response, dependencies=NEEDS_TOKEN, summary="For Prometheus"
)
def metrics(parts: WithParts) -> Response:
    """Return requests and sweeps counted."""
    return Response(generate_latest(parts.watching.registry), media_type=CONTENT_TYPE_LATEST)
