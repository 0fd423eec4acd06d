"""Whether an artifact still holds: what its measurements were made with against what this machine has now.

Nothing is started: the engine's version comes from package metadata, the devices from NVML, models from their files.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tuner.artifact import BestConfig
from tuner.engine.environment import shaping_env
from tuner.engine.resolve import Engine, resolve_engine
from tuner.engine.sim.profile import preset_names
from tuner.errors import InputError, ModelError
from tuner.hardware import cpu_model
from tuner.identity import (
    DeviceSetup,
    Difference,
    EngineSetup,
    ModelSetup,
    Setup,
    artifact_setup,
    differences,
    hub_revision,
    ignoring,
    model_identity,
    model_setup,
)
from tuner.pool.host import Gpu, describe_gpus, visible_gpu_ids
from tuner.preflight.models import find_model
from tuner.provenance import profile_identity
from tuner.space.model_refs import resolve_model

_SIM = "sim"


@dataclass(frozen=True)
class Deployed:
    """Where things are at deploy time, where that is not what was measured with.

    engine: what --engine says, None for the vLLM of this environment.  target: path or hub id, None as measured.
    drafts: the same by the draft's name.
    """

    engine: str | None = None
    target: str | None = None
    drafts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Freshness:
    """What differs, and whether the artifact still holds.

    finished: whether the sweep behind it is. What a sweep says before its end may yet change, so it does not hold.
    """

    differences: tuple[Difference, ...]
    finished: bool = True

    @property
    def fresh(self) -> bool:
        """Whether the sweep was finished and nothing differs that may change its answer."""
        return self.finished and not any(difference.stale for difference in self.differences)


def freshness(config: BestConfig, deployed: Deployed, ignored: Sequence[str] = ()) -> Freshness:
    """Return what differs between what an artifact was measured with and this machine.

    ignored: see tuner.identity.ignoring.  Raises EngineNotFound where there is no engine, InputError for a draft that
    the artifact does not have.
    """
    measured = artifact_setup(config)
    found = ignoring(differences(measured, setup_here(measured, deployed)), ignored)
    return Freshness(found, config.finished)


def setup_here(measured: Setup, deployed: Deployed) -> Setup:
    """Return what this machine has of what was measured with. Eval sets, arguments and load points are left open."""
    _check_drafts(measured, deployed)
    engine = resolve_engine(deployed.engine or _simulated_as(measured.engine))
    return Setup(
        engine=EngineSetup(engine.version, engine.build, profile_identity(engine.profile)),
        devices=devices_here(engine),
        target=_model_here(measured.target, deployed.target, "target", engine),
        drafts={
            name: _model_here(draft, deployed.drafts.get(name), f"draft {name!r}", engine)
            for name, draft in measured.drafts.items()
        },
        env=shaping_env(os.environ, {}),
    )


def _simulated_as(engine: EngineSetup) -> str | None:
    """Return what --engine would have to say for the simulated engine that was measured, None for any other."""
    if engine.build != _SIM:
        return None
    return f"{_SIM}:{engine.profile}" if engine.profile in preset_names() else _SIM


def _check_drafts(measured: Setup, deployed: Deployed) -> None:
    unknown = [name for name in deployed.drafts if name not in measured.drafts]
    if unknown:
        has = ", ".join(measured.drafts) or "none"
        raise InputError(f"the artifact has no draft model named {unknown[0]!r}", f"It has: {has}.")


def devices_here(engine: Engine) -> tuple[DeviceSetup, ...]:
    """Return the devices on which the engine would run here: GPUs by kind, or the processor."""
    if engine.build != "cuda":
        # A simulated engine takes as long as its profile says, on any number of cores.
        return (DeviceSetup(cpu_model(), cores=None if engine.kind == _SIM else len(os.sched_getaffinity(0))),)
    gpus = describe_gpus(visible_gpu_ids())
    counts = Counter(gpu.name for gpu in gpus)
    return tuple(_of_kind(name, [gpu for gpu in gpus if gpu.name == name]) for name in counts)


def _of_kind(name: str, gpus: Sequence[Gpu]) -> DeviceSetup:
    memory = min((gpu.memory_bytes for gpu in gpus if gpu.memory_bytes), default=None)
    return DeviceSetup(name, len(gpus), memory, next((gpu.driver for gpu in gpus if gpu.driver), None))


def _model_here(measured: ModelSetup, given: str | None, what: str, engine: Engine) -> ModelSetup:
    """Return a model as it is here.  given: where it lies now, None for where it was."""
    if given is None and measured.of != "content":
        return replace(measured, revision=None)  # Known by its name alone, which is the same.
    ref = measured.id if given is None else given
    try:
        path = str(find_model(ref, what, download=False, python=engine.python))
    except ModelError as error:
        option = "--target-path" if what == "target" else "--draft-path"
        return ModelSetup(ref, missing=f"{error.message}; say where it is with {option}")
    return model_setup(ref, model_identity(ref, resolve_model(path)), hub_revision(path))
