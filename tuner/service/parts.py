"""What the routes work with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Path, Request

from tuner.service.answers import Answers
from tuner.service.queue.waiting import Waiting
from tuner.service.queue.working import Working
from tuner.service.runs import Runs
from tuner.service.settings import Settings
from tuner.service.watching import Watching


@dataclass(frozen=True)
class Parts:
    """Made once, when the application is."""

    settings: Settings
    answers: Answers
    waiting: Waiting
    working: Working
    runs: Runs
    watching: Watching


def parts(request: Request) -> Parts:
    """Return the application's parts."""
    found = request.app.state.parts
    assert isinstance(found, Parts)
    return found


WithParts = Annotated[Parts, Depends(parts)]
Slug = Annotated[
    str,
    Path(
        pattern=r"^[a-z0-9_][a-z0-9._-]{0,68}$",
        description="Directory name of the target in the registry; GET /v1/targets has it.",
        examples=["qwen-qwen3-14b-0f6d3c9b1a2e4d5f6a7b"],
    ),
]
Stamp = Annotated[str, Path(pattern=r"^[0-9]{8}T[0-9]{6}Z(-[0-9]{1,4})?$", examples=["20261201T023005Z"])]
SweepId = Annotated[
    str,
    Path(pattern=r"^([0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}|run-[0-9a-f]{16})$", examples=["20261201T023005Z-7f3a90c2"]),
]
