"""What the API answers with."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from tuner.records import Verdict
from tuner.service.allowed import Order
from tuner.service.queue.sweeps import Outcome

STAMP = "20261201T023005Z"
SLUG = "qwen-qwen3-14b-0f6d3c9b1a2e4d5f6a7b"


class Document(BaseModel):
    """Base of all answers."""

    model_config = ConfigDict(frozen=True)


class Hold(StrEnum):
    """Whether an artifact holds on the machine of this server."""

    FRESH = "fresh"
    STALE = "stale"
    UNKNOWN = "unknown"


class Changed(Document):
    """One thing that is not as it was.  why: why it matters.  stale: it may change the answer."""

    field: str = Field(examples=["engine.version"])
    measured: Any = Field(examples=["0.31.0"])
    now: Any = Field(examples=["0.32.0"])
    why: str = ""
    stale: bool = True


class Freshness(Document):
    """Whether the answer holds here, as `tuner check` says it.

    reason: why that is not known, or why it does not hold whatever differs; "" otherwise.
    """

    state: Hold
    reason: str = ""
    differences: tuple[Changed, ...] = ()


class Target(Document):
    """One target with its newest answer.  target: its name as the sweep was given it.  slug: its name in URLs."""

    slug: str = Field(examples=[SLUG])
    target: str = Field(examples=["Qwen/Qwen3-14B"])
    stamp: str = Field(examples=[STAMP], description="Of its newest sweep: when it was kept, UTC.")
    sweeps: int = Field(examples=[3], description="Sweeps of it that the registry has.")
    verdict: Verdict
    why: str = Field(examples=["good K=3 runs at 1.66x of no speculation."])
    finished: bool
    freshness: Freshness


class Targets(Document):
    """broken: what of the registry cannot be read, with the reason."""

    targets: tuple[Target, ...]
    broken: tuple[str, ...] = ()


class BestConfigAnswer(Document):
    """The newest artifact of a target.  best_config: as docs/artifact.md explains it."""

    slug: str = Field(examples=[SLUG])
    target: str = Field(examples=["Qwen/Qwen3-14B"])
    stamp: str = Field(examples=[STAMP])
    freshness: Freshness
    best_config: dict[str, Any]


class ShortAnswer(Document):
    """The answer at one temperature.  draft, k: None and 0 for no speculation."""

    temperature: float
    verdict: Verdict
    draft: str | None
    k: int
    up_to_concurrency: int | None
    speedup: dict[str, Any]
    mean_acceptance_length: tuple[dict[str, Any], ...]


class PastSweep(Document):
    """One sweep of a target.  changed: since the sweep before, None for the first."""

    stamp: str = Field(examples=[STAMP])
    kept_at: datetime
    tuner_version: str
    engine: dict[str, Any]
    devices: tuple[str, ...]
    verdict: Verdict
    answers: tuple[ShortAnswer, ...]
    changed: tuple[Changed, ...] | None


class TargetHistory(Document):
    """All sweeps of a target, oldest first."""

    slug: str = Field(examples=[SLUG])
    target: str = Field(examples=["Qwen/Qwen3-14B"])
    sweeps: tuple[PastSweep, ...]
    broken: tuple[str, ...] = ()


class Worker(Document):
    """What one engine is at.  Durations in seconds."""

    device: str
    trial: str
    phase: str
    running_s: float
    usual_s: float | None


class Progress(Document):
    """Where a run is, as `tuner status` says it.  left_s: seconds, None where it is not known.  verdict: when done.

    left_between_s: the least and the most seconds, as long as it is open whether further trials are wanted.
    """

    state: str = Field(examples=["measuring"])
    trials: int
    done: int | None = None
    planned: int | None = None
    failed: int | None = None
    left_s: float | None = None
    left_between_s: tuple[float, float] | None = None
    best: str = ""
    verdict: str = ""
    workers: tuple[Worker, ...] = ()


class Shown(StrEnum):
    """Where a sweep is.  STOPPED: a run that this server did not start, not finished, in which nobody measures."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    STOPPED = "stopped"


class SweepDocument(Document):
    """A sweep of the queue, or a run that was started otherwise and is only shown.

    order: None for such a run.  progress: None before its run directory is there.
    """

    id: str = Field(examples=[f"{STAMP}-7f3a90c2"])
    state: Shown
    stopping: bool = Field(default=False, description="It was asked to end and has not yet.")
    name: str = Field(examples=["qwen3-14b, default, vllm"])
    order: Order | None = None
    asked_by: str = ""
    asked_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    outcome: Outcome | None = None
    progress: Progress | None = None
    report: bool = Field(default=False, description="Whether there is a report to look at.")


class Sweeps(Document):
    """Newest first."""

    sweeps: tuple[SweepDocument, ...]


class Health(Document):
    """Whether the server can do its work.  problems: what is in the way."""

    ok: bool
    problems: tuple[str, ...] = ()
