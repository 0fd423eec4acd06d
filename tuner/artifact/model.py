"""The whole of best_config.yaml at the present schema version."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tuner.artifact.beside import (
    AcceptanceAlert,
    Capacity,
    DragsAlong,
    Lossless,
    Recommended,
    RequestFeature,
    Validity,
)
from tuner.artifact.figures import MeasuredFigure, Number
from tuner.artifact.measured import Measured
from tuner.artifact.part import Part
from tuner.records import Confidence, Json, Metric, Verdict

BEST_CONFIG = "best_config.yaml"
SCHEMA_VERSION = 2
"""A change that an older reader would refuse or misread raises it, with a step in tuner.artifact.migrations and golden
files of the version before."""


class Objective(Part):
    """What decided, and the limits on p95 latencies, seconds, under their names in the search space."""

    metric: Metric
    limits: dict[str, Number]


class ModelIdentity(Part):
    """Which model it was.

    id: directory or hub id as the user wrote it.  hash: of its content, or of its name alone where `of` is "name".
    scheme: number of the way of hashing, hashes of two schemes cannot be compared.  parts: hashes of parts of it.
    revision: of the hub.  null: not known.
    """

    id: str
    hash: str | None
    of: str | None
    scheme: int | None = None
    parts: dict[str, str] = Field(default_factory=dict)
    weight_bytes: int | None = None
    revision: str | None = None


class Identity(Part):
    """drafts: by the draft's name in the search space."""

    target: ModelIdentity
    drafts: dict[str, ModelIdentity]


class Engine(Part):
    """The engine that was measured.

    version, build: vLLM's, "sim" for the simulated engine.  wheel: distribution, as pip names it ("vllm==0.32.0").
    image: of the container.  null: not known.
    """

    version: str
    build: str
    wheel: str | None = None
    image: str | None = None


class DeviceDetail(Part):
    """What one engine ran on.

    device: name and number, as in `devices`.  memory_bytes: of each GPU.  driver: the GPUs'.  cores: of the processor,
    where the engine ran on it.  null: not known.
    """

    device: str
    memory_bytes: int | None = None
    driver: str | None = None
    cores: int | None = None


class MeasuredOn(Part):
    """Where and when.  max_model_len, kv_cache_tokens: of the first baseline.  machine: the tuner's own, in words.

    device_details: one for each kind of device, empty where an older tuner wrote nothing of it.
    """

    devices: tuple[str, ...]
    device_details: tuple[DeviceDetail, ...] = ()
    engine: Engine
    machine: dict[str, Json]
    max_model_len: int | None
    kv_cache_tokens: int | None
    first_trial: str
    last_trial: str


class Failed(Part):
    """An engine life that gave no figures.

    role: why it was started.  kind: a stable name of how it ended.  code: a stable name of the cause, null where it is
    not known.
    """

    candidate: str
    role: str
    why: str
    kind: str | None = None
    code: str | None = None


class Barred(Part):
    """A setting that may not win at a temperature.  kind: a stable name."""

    candidate: str
    engine_args: dict[str, Json]
    temperature: Number
    kind: str
    text: str


class Diagnosis(Part):
    """One cause that the measurements show.  evidence: sentences with figures."""

    code: str
    subject: str
    what: str
    evidence: tuple[str, ...]
    confidence: Confidence
    next_step: str


class ChangedSettings(Part):
    """Log lines in which the engine said that it changed a setting by itself.

    candidates: names of those that said all of `lines`, and whose baseline did not.  everywhere: said by engines
    without speculation too; then candidates is empty.
    """

    candidates: tuple[str, ...]
    lines: tuple[str, ...]
    everywhere: bool = False


class Answer(Part):
    """The answer at one temperature: what to deploy, what goes with it, and what was measured.

    lossless, drags_along, capacity.with_speculation, request_features and alert are those of the recommended
    speculation, of the limit's where that one is recommended below a concurrency; null and empty where there is none.
    """

    temperature: Number
    verdict: Verdict
    why: str
    recommended: Recommended
    validity: Validity
    capacity: Capacity
    lossless: Lossless | None
    drags_along: DragsAlong | None
    request_features: tuple[RequestFeature, ...]
    alert: AcceptanceAlert | None
    measured: Measured


class BestConfig(Part):
    """What to deploy, what it is expected to bring, and what that rests on.

    target: as the user wrote it.  verdict, why: of the first answer.  environment: variables that the engine was
    measured with.  drift, floor: see docs/measuring.md.  fingerprint: what decides whether a sweep is resumed.
    """

    schema_version: Literal[2]
    tuner_version: str
    target: str
    verdict: Verdict
    why: str
    finished: bool
    objective: Objective
    environment: dict[str, str]
    identity: Identity
    answers: tuple[Answer, ...]
    diagnoses: tuple[Diagnosis, ...]
    changed_settings: tuple[ChangedSettings, ...]
    warnings: tuple[str, ...]
    failed: tuple[Failed, ...]
    barred: tuple[Barred, ...]
    drift: dict[str, MeasuredFigure]
    floor: dict[str, MeasuredFigure]
    protocol: dict[str, Json]
    measured_on: MeasuredOn
    fingerprint: dict[str, Json]
