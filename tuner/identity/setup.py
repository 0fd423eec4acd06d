"""What a measurement was made with and what a machine has now, in one shape, so that the two can be compared."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tuner.artifact.model import BestConfig, DeviceDetail
from tuner.records import Json

_COUNTED = re.compile(r"(\d+) x (.+)")


@dataclass(frozen=True)
class EngineSetup:
    """An engine.  build: "cpu", "cuda" or "sim".  profile: of the simulated engine, see tuner.provenance."""

    version: str
    build: str
    profile: str | None = None


@dataclass(frozen=True)
class DeviceSetup:
    """What one engine runs on.  name: of a GPU, or of the processor where there is none.  count: of GPUs, 1 for a CPU.

    memory_bytes: of one GPU.  driver: the GPU's.  cores: of the processor, where the engine runs on it. None where it
    is not known.
    """

    name: str
    count: int = 1
    memory_bytes: int | None = None
    driver: str | None = None
    cores: int | None = None


@dataclass(frozen=True)
class ModelSetup:
    """A model.  hash, of, scheme, parts, weight_bytes: see tuner.identity.model_identity.  revision: of the hub.

    missing: it is not here, in words; "" if it is.
    """

    id: str
    hash: str | None = None
    of: str | None = None
    scheme: int | None = None
    parts: Mapping[str, str] = field(default_factory=dict)
    weight_bytes: int | None = None
    revision: str | None = None
    missing: str = ""


@dataclass(frozen=True)
class Setup:
    """Everything that figures may depend on.  None: not known, or not asked for; it is not compared then.

    drafts: by the draft's name.  deployed: names of those drafts that the recommendation needs.  env: see
    tuner.engine.environment.shaping_env.  eval_sets: hashes by name.  load_points: their keys.
    """

    engine: EngineSetup
    devices: tuple[DeviceSetup, ...]
    target: ModelSetup
    drafts: Mapping[str, ModelSetup] = field(default_factory=dict)
    deployed: frozenset[str] = frozenset()
    env: Mapping[str, str] = field(default_factory=dict)
    eval_sets: Mapping[str, str] | None = None
    engine_args: Mapping[str, Json] | None = None
    load_points: tuple[str, ...] | None = None


def model_setup(id_: str, identity: Mapping[str, Any], revision: str | None = None) -> ModelSetup:
    """Return a model as the fingerprint of a run has it.  identity: see model_identity; {} where nothing is known."""
    return ModelSetup(
        id=id_,
        hash=identity.get("hash"),
        of=identity.get("of"),
        scheme=identity.get("scheme"),
        parts=identity.get("parts") or {},
        weight_bytes=identity.get("weight_bytes"),
        revision=revision,
    )


def artifact_setup(config: BestConfig) -> Setup:
    """Return what the measurements of an artifact were made with.

    What an older tuner did not write is None, or empty.
    """
    known: Mapping[str, Any] = config.fingerprint
    engine, measured_on = known.get("engine", {}), config.measured_on
    drafts = config.identity.drafts
    return Setup(
        engine=EngineSetup(measured_on.engine.version, measured_on.engine.build, engine.get("profile")),
        devices=tuple(map(_with_details, measured_on.device_details)) or tuple(map(_by_name, measured_on.devices)),
        target=model_setup(config.target, known.get("target", {}), config.identity.target.revision),
        drafts={
            name: model_setup(draft.id, known.get("drafts", {}).get(name, {}), draft.revision)
            for name, draft in drafts.items()
        },
        deployed=frozenset(name for name, draft in drafts.items() if draft.id in _recommended(config)),
        env=config.environment,
        eval_sets=known.get("eval_sets"),
        engine_args=known.get("engine_args"),
        load_points=tuple(known["load_points"]) if "load_points" in known else None,
    )


def device_named(words: str, **details: Any) -> DeviceSetup:
    """Return a device from its name in words, "2 x NVIDIA H200".  details: further fields of DeviceSetup."""
    counted = _COUNTED.fullmatch(words)
    return DeviceSetup(counted[2], int(counted[1]), **details) if counted else DeviceSetup(words, **details)


def _by_name(words: str) -> DeviceSetup:
    return device_named(words)


def _with_details(detail: DeviceDetail) -> DeviceSetup:
    return device_named(detail.device, memory_bytes=detail.memory_bytes, driver=detail.driver, cores=detail.cores)


def _recommended(config: BestConfig) -> set[str | None]:
    """Return the models of drafts that the artifact has serve files for."""
    chosen = [answer.recommended for answer in config.answers]
    speculations = [one.speculation for one in chosen] + [one.limit.speculation for one in chosen if one.limit]
    return {speculation.draft for speculation in speculations if speculation and speculation.draft}
