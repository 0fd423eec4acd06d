"""/v1/targets: what deployments read."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from tuner.service.answers import as_json, as_yaml
from tuner.service.documents import BestConfigAnswer, TargetHistory, Targets
from tuner.service.negotiation import entity_tag, has_it, preferred
from tuner.service.parts import Slug, WithParts
from tuner.service.problems import Refused
from tuner.service.routes.told import NEEDS_TOKEN, problems

JSON, YAML = "application/json", "application/yaml"
router = APIRouter(prefix="/v1/targets", tags=["targets"], dependencies=NEEDS_TOKEN)
_TOLD = {
    "ETag": {"schema": {"type": "string"}, "description": "For If-None-Match."},
    "Tuner-Freshness": {"schema": {"type": "string", "enum": ["fresh", "stale", "unknown"]}},
    "Tuner-Stamp": {"schema": {"type": "string"}, "description": "Of the sweep in the registry."},
}
_BEST: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The artifact, with whether it holds on this server's machine.",
        "model": BestConfigAnswer,
        "headers": _TOLD,
        "content": {YAML: {"schema": {"type": "string", "description": "best_config.yaml below a few comments"}}},
    },
    304: {"description": "The client has it already.", "headers": _TOLD},
    **problems(404, 406),
}


class Which(BaseModel):
    """Which targets are listed.  name: only the one of exactly this name, all if None."""

    model_config = ConfigDict(extra="forbid")

    name: str | None = Field(default=None, max_length=4096, examples=["Qwen/Qwen3-14B"])


@router.get("", responses=problems(422), summary="All targets with their newest answer")
def list_targets(parts: WithParts, which: Annotated[Which, Query()]) -> Targets:
    """Return every target of the registry: its verdict, and whether that still holds."""
    found = parts.answers.targets()
    if which.name is None:
        return found
    return Targets(targets=tuple(one for one in found.targets if one.target == which.name), broken=found.broken)


@router.get("/{target}/best-config", responses=_BEST, response_class=Response, summary="The artifact to deploy")
def best_config(
    target: Slug,
    parts: WithParts,
    request: Request,
    if_none_match: Annotated[list[str] | None, Header()] = None,
) -> Response:
    """Return the newest artifact of a target: YAML that `tuner export` takes, or JSON, as Accept says."""
    form = preferred(", ".join(request.headers.getlist("accept")), (JSON, YAML))
    if form is None:
        raise Refused(406, "not-acceptable", f"This is served as {JSON} and {YAML}.", "Ask for one of them.")
    newest = parts.answers.newest(target)
    freshness = parts.answers.freshness(newest)
    body = (as_json if form == JSON else as_yaml)(newest, freshness)
    tag = entity_tag(body)
    headers = {
        "ETag": tag,
        "Vary": "Accept",
        "Cache-Control": "private, no-cache",
        "Tuner-Freshness": freshness.state.value,
        "Tuner-Stamp": newest.entry.stamp,
    }
    if has_it(", ".join(if_none_match or ()), tag):
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type=form)


@router.get("/{target}/history", responses=problems(404), summary="All sweeps of a target")
def history(target: Slug, parts: WithParts) -> TargetHistory:
    """Return what was measured of a target over time, oldest first, and what changed from one sweep to the next."""
    return parts.answers.history(target)
