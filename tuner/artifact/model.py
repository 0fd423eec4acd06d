"""The whole of best_config.yaml at the present schema version."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, TypeAdapter

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
from tuner.records import Confidence, FingerprintParts, Json, Metric, Verdict

BEST_CONFIG = "best_config.yaml"
SCHEMA_VERSION = 2
"""A change that an older reader would refuse or misread raises it, with a step in tuner.artifact.migrations and golden
files of the version before."""


@cache
def _parts() -> TypeAdapter[FingerprintParts]:
    return TypeAdapter(FingerprintParts)


def _with_known_parts(fingerprint: dict[str, Json]) -> dict[str, Json]:
    _parts().validate_python(fingerprint)
    return fingerprint


class Objective(Part):
    """What decided.

    metric: TPOT, E2E latency or throughput.  limits: on p95 latencies, seconds, under their names in the search space.
    """

    metric: Metric
    limits: dict[str, Number]


class ModelIdentity(Part):
    """Which model it was.

    id: directory or hub id as the user wrote it.  hash: of its content, or of its name alone where `of` is "name".
    of: what was hashed.  scheme: number of the way of hashing, hashes of two schemes cannot be compared.
    parts: hashes of parts of it.  weight_bytes: size of its weights.  revision: of the hub.  null: not known.
    """

    id: str
    hash: str | None
    of: str | None
    scheme: int | None = None
    parts: dict[str, str] = Field(default_factory=dict)
    weight_bytes: int | None = None
    revision: str | None = None


class Identity(Part):
    """Which models they were.

    target: the model that was sped up.  drafts: by the draft's name in the search space.
    """

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
    """Where and when.

    devices: name and number of each.  engine: what was measured.  machine: the tuner's own, in words.
    max_model_len, kv_cache_tokens: of the first baseline.  first_trial, last_trial: when the one began and the other.
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

    candidate: its name.  role: why it was started.  why: how it ended, in words.
    kind: a stable name of how it ended.  code: a stable name of the cause, null where it is
    not known.
    """

    candidate: str
    role: str
    why: str
    kind: str | None = None
    code: str | None = None


class Barred(Part):
    """A setting that may not win at a temperature.

    candidate, engine_args: the setting.  temperature: at which.  kind: a stable name of the reason.  text: in words.
    """

    candidate: str
    engine_args: dict[str, Json]
    temperature: Number
    kind: str
    text: str


class Diagnosis(Part):
    """One cause that the measurements show.

    code: a stable name, see docs/diagnoses.md.  subject: which draft, setting or engine it is about.  what: the cause.
    evidence: sentences with figures.  confidence: how sure that is.  next_step: what to do about it.
    """

    code: str
    subject: str
    what: str
    evidence: tuple[str, ...]
    confidence: Confidence
    next_step: str


class ChangedSettings(Part):
    """Log lines in which the engine said that it changed a setting by itself.

    lines: as they were logged.  candidates: names of those that said all of `lines`, and whose baseline did not.
    everywhere: said by engines
    without speculation too; then candidates is empty.
    """

    candidates: tuple[str, ...]
    lines: tuple[str, ...]
    everywhere: bool = False


class Answer(Part):
    """The answer at one temperature: what to deploy, what goes with it, and what was measured.

    lossless, drags_along, capacity.with_speculation, request_features and alert are those of the recommended
    speculation, of the limit's where that one is recommended below a concurrency; null and empty where there is none.

    temperature: production's.  verdict: what to do.  why: the evidence in words.  recommended: what to deploy.
    validity: where it was measured.  capacity: memory with and without speculation.  lossless: whether the answers are
    the target's own.  drags_along: what the engine changes by itself once it speculates.
    request_features: request parameters that do not go together with it.  alert: what to watch in production.
    measured: what all this rests on.
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

    schema_version: of this file.  tuner_version: of the tuner that wrote it.  target: as the user wrote it.
    verdict, why: of the first answer.  finished: whether all was measured that was asked for.  objective: what decided.
    environment: variables that the engine was measured with.  identity: which models they were.
    answers: one for each temperature.  diagnoses: causes that the measurements show.
    changed_settings: what the engine changed by itself.  warnings: what to keep in mind.
    failed: engine lives without figures.  barred: what may not win.  drift: the baseline against itself over the sweep.
    floor: what reading the weights takes.  protocol: how it was measured, as in the search space.
    measured_on: where and when.  fingerprint: what must be equal for measurements to count in a later sweep.
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
    fingerprint: Annotated[dict[str, Json], AfterValidator(_with_known_parts)]
