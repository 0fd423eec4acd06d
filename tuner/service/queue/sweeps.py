"""One sweep that was asked for: what, and how far it is."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from enum import StrEnum

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from tuner.service.allowed import Order

ID = r"^[0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}$"


class SweepState(StrEnum):
    """Where a sweep is.  The last three are ends."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


ENDS = frozenset({SweepState.DONE, SweepState.FAILED, SweepState.CANCELLED})


class Outcome(BaseModel):
    """What a sweep ended with.

    verdict: "" where there is none.  measured: False where the last sweep still held.  error, next_step: of a failure.
    exit_code: of `tuner sweep`, None where it is not known.  directory: name of the one it measured in, which lies
    beside the one that was asked for where that held a run of another engine or model; "" where it measured nothing.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    exit_code: int | None = Field(default=None, examples=[0])
    verdict: str = Field(default="", examples=["speculate"])
    measured: bool = False
    error: str = ""
    next_step: str = ""
    directory: str = ""


class Sweep(BaseModel):
    """One file of the queue.

    run: id of the sweep that first measured in the run directory; one that was stopped is gone on with.
    attempt: how often it was started.  pid, began_s: the process on this machine and its birth, seconds since 1970.
    cancelled_by: who asked for its end, "" for nobody.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(pattern=ID)
    order: Order
    state: SweepState = SweepState.QUEUED
    run: str = Field(pattern=ID)
    asked_by: str
    asked_at: AwareDatetime
    started_at: AwareDatetime | None = None
    ended_at: AwareDatetime | None = None
    attempt: int = 0
    pid: int | None = None
    began_s: float | None = None
    cancelled_by: str = ""
    outcome: Outcome | None = None


def new_id(now: datetime) -> str:
    """Return an id that sorts by time."""
    return f"{now.astimezone(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}"
