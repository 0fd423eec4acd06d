"""From what the user asked for to everything a sweep needs - all bad input is found here, before any engine starts."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tuner.engine.ability import ability, split
from tuner.engine.environment import shaping_env
from tuner.engine.resolve import Engine, resolve_engine
from tuner.errors import SpaceError
from tuner.identity import hub_revision, model_identity
from tuner.preflight import PromptLengths, check_inputs, check_target, sentence
from tuner.preflight.examine import Examined
from tuner.preflight.inspection import NOT_INSPECTED, Asked, Inspected, inspect_models, left
from tuner.preflight.weights import weight_bytes
from tuner.provenance import fingerprint, machine, profile_identity
from tuner.records import Candidate, EvalSet, Json, RunManifest, slug
from tuner.records.notice import Level, Notice
from tuner.space.candidates import devices_per_engine
from tuner.space.eval_sets import load_eval_set
from tuner.space.model_refs import resolve_model, settle_model
from tuner.space.schema import SearchSpace, load_space
from tuner.space.traffic import by_temperature, not_covered
from tuner.space.versions import version_row
from tuner.version import tuner_version


@dataclass(frozen=True)
class SweepRequest:
    """What the user asked for, as written.

    target: model directory or hub id, None for the space's own.  drafts: models to try beside the space's.
    engine: what --engine says, None for the vLLM of this environment.  download: whether a hub id may be fetched.
    command: the command line, for the report.  distribution_samples: for the protocol, None for what the space says.
    same_runner, drafts_alone: ask for these extras even if the space does not.  draft_k: K of `drafts` where the space
    names none.  device_memory: bytes of a GPU to plan the memory for, None for this machine's device.
    """

    target: str | None = None
    space: str = "default"
    eval_set: str | None = None
    drafts: tuple[str, ...] = ()
    engine: str | None = None
    download: bool = False
    command: tuple[str, ...] = ()
    distribution_samples: int | None = None
    same_runner: bool = False
    drafts_alone: bool = False
    draft_k: int | None = None
    device_memory: int | None = None


@dataclass(frozen=True)
class Prepared:
    """A checked request: as far as files can tell, nothing in it can still be the user's mistake.

    target: as the user wrote it.  candidates: those that this engine can run, baselines first.
    gpus_per_worker: how many GPUs one engine occupies, 0 for none.  required_paths: what every worker's machine must
    have: the engine's Python and the models, as directories or hub ids.  notes: what was found and handled.
    refused: why a candidate is left out, by key.
    """

    space: SearchSpace
    engine: Engine
    target: str
    candidates: tuple[Candidate, ...]
    eval_sets: Mapping[str, EvalSet]
    lengths: Mapping[str, PromptLengths]
    manifest: RunManifest
    fingerprint: Mapping[str, Json]
    gpus_per_worker: int
    required_paths: tuple[str, ...]
    notes: tuple[str, ...]
    refused: Mapping[str, str] = field(default_factory=dict)

    @property
    def default_out(self) -> Path:
        """Where the run goes unless the user says otherwise."""
        return Path("runs") / slug(Path(self.target).name.replace(":", "-")) / slug(self.space.name)


def prepare(request: SweepRequest, on_files: Callable[[Inspected], None] | None = None) -> Prepared:
    """Read and check everything that a sweep needs.

    on_files: told what the models' files say, before anything of it is refused.
    Raises InputError (SpaceError, EvalSetError, ModelError, EngineNotFound): one message that names the thing.
    """
    written = load_space(
        request.space,
        target=request.target,
        eval_set=request.eval_set,
        drafts=request.drafts,
        draft_k=request.draft_k,
    )
    space = _with_settled_models(_with_extras(_with_distribution_check(written, request.distribution_samples), request))
    target = _required_target(space)
    engine = resolve_engine(request.engine)
    able = ability(space, engine)
    possible, impossible = split(space, able)
    eval_sets, notes = _eval_sets(space)
    directory = _target_directory(space, target, engine, download=request.download)
    found = _inspected(request, space, engine, possible, (target, directory))
    if on_files is not None:
        on_files(found)
    examined = possible
    possible, by_files = left(examined, found.examined)
    impossible += tuple((c, by_files[c.key]) for c in examined if c.key in by_files)
    unavailable = {c.label: reason for c, reason in impossible}
    simulated, download = engine.kind == "sim", request.download
    lengths = check_inputs(
        space, eval_sets, target=directory, python=engine.python, simulated=simulated, download=download
    )
    drafts = _draft_identities(space, found.drafts)
    return Prepared(
        space=space,
        engine=engine,
        target=target,
        candidates=possible,
        eval_sets=eval_sets,
        lengths=lengths,
        manifest=_with_files(
            _manifest(request, space, target, directory, engine, eval_sets, possible, unavailable),
            directory,
            found,
            able.notices,
        ),
        fingerprint=_fingerprint(space, model_identity(target, directory), drafts, engine, eval_sets),
        gpus_per_worker=devices_per_engine(space) if engine.build == "cuda" else 0,
        required_paths=_required_paths(space, target, engine),
        notes=(*notes, *filter(None, [able.note]), *_notes(space, unavailable, found.examined)),
        refused={c.key: reason for c, reason in impossible},
    )


def _inspected(
    request: SweepRequest, space: SearchSpace, engine: Engine, possible: Sequence[Candidate], target: tuple[str, str]
) -> Inspected:
    """Return what the models' files say; a simulated engine has none.  target: as written, and its directory."""
    if engine.kind == "sim":
        return NOT_INSPECTED
    asked = Asked(space, possible, *target, engine.python, engine.version, engine.build, request.device_memory)
    return inspect_models(asked, download=request.download)


def _with_files(manifest: RunManifest, directory: str, found: Inspected, of_engine: Sequence[Notice]) -> RunManifest:
    """Return the manifest with what the models' files told.  directory: the target's.  of_engine: notices before."""
    return replace(
        manifest,
        notices=(*of_engine, *found.examined.notices),
        target_revision=hub_revision(directory),
        draft_revisions={name: revision for name, path in found.drafts.items() if (revision := hub_revision(path))},
    )


def _with_distribution_check(space: SearchSpace, samples: int | None) -> SearchSpace:
    if samples is None:
        return space
    if all(point.sampling.temperature == 0.0 for point in space.load_points):
        raise SpaceError(
            f"--check-distribution: search space {space.name!r} has no load point above temperature 0.",
            "Leave the option out: at temperature 0 answers are compared by token id anyway.",
        )
    return replace(space, protocol=replace(space.protocol, distribution_samples=samples))


def _with_extras(space: SearchSpace, request: SweepRequest) -> SearchSpace:
    same_runner = space.protocol.same_runner or request.same_runner
    drafts_alone = space.protocol.drafts_alone or request.drafts_alone
    return replace(space, protocol=replace(space.protocol, same_runner=same_runner, drafts_alone=drafts_alone))


def _with_settled_models(space: SearchSpace) -> SearchSpace:
    """A worker or a later report may have another working directory, where a relative path would mean another model."""
    drafts = tuple(
        draft
        if draft.model is None or draft.method == "custom_class"
        else replace(draft, model=settle_model(draft.model))
        for draft in space.drafts
    )
    return replace(space, target=space.target and settle_model(space.target), drafts=drafts)


def _required_target(space: SearchSpace) -> str:
    if space.target is None:
        raise SpaceError(
            f"No target: neither the command line nor search space {space.name!r} names a model.",
            "Call: tuner sweep MODEL_DIRECTORY_OR_HUB_ID",
        )
    return space.target


def _eval_sets(space: SearchSpace) -> tuple[dict[str, EvalSet], tuple[str, ...]]:
    """Return the eval sets under the names that the load points use, and what was handled in them."""
    eval_sets: dict[str, EvalSet] = {}
    notes: list[str] = []
    for name in dict.fromkeys(point.eval_set for point in space.load_points):
        eval_sets[name], found = load_eval_set(name)
        notes += [f"eval set {name}: {sentence}" for sentence in found.sentences]
    return eval_sets, tuple(notes)


def _notes(space: SearchSpace, unavailable: Mapping[str, str], found: Examined) -> tuple[str, ...]:
    """Return what a user should know before the first start; errors are among what is not tried."""
    return (
        *(f"not tried: {label}: {reason}" for label, reason in unavailable.items()),
        *(f"{notice.level}: {sentence(notice)}" for notice in found.notices if notice.level is not Level.ERROR),
        *not_covered(by_temperature(space.traffic, space.load_points)),
    )


def _target_directory(space: SearchSpace, target: str, engine: Engine, *, download: bool) -> str:
    if engine.kind == "sim":
        return target
    return check_target(target, download=download, python=engine.python, engine_args=space.engine_args)


def _required_paths(space: SearchSpace, target: str, engine: Engine) -> tuple[str, ...]:
    if engine.kind == "sim":
        return ()
    drafts = [draft.model for draft in space.drafts if draft.model is not None and draft.method != "custom_class"]
    return (engine.python, *(resolve_model(model) for model in (target, *drafts)))


def _manifest(
    request: SweepRequest,
    space: SearchSpace,
    target: str,
    directory: str,
    engine: Engine,
    eval_sets: Mapping[str, EvalSet],
    possible: tuple[Candidate, ...],
    unavailable: Mapping[str, str],
) -> RunManifest:
    return RunManifest(
        target=target,
        space=space.name,
        space_source=space.source,
        engine_version=engine.version,
        engine_build=engine.build,
        engine_wheel=engine.wheel,
        load_points=space.load_points,
        protocol=space.protocol,
        inflection_threshold=space.objective.inflection_threshold,
        prompts={name: len(eval_set.prompts) for name, eval_set in eval_sets.items()},
        tuner_version=tuner_version(),
        env=shaping_env(os.environ, space.env),
        default_gpu_memory_utilization=version_row(engine.version).gpu_memory_utilization,
        unavailable=unavailable,
        candidates=tuple(candidate.key for candidate in possible),
        machine=machine(),
        repeat_with=request.command,
        target_weight_bytes=weight_bytes(Path(directory)) if engine.kind == "vllm" else None,
        draft_ks=_draft_ks(possible),
        traffic=space.traffic,
        goal=space.objective.goal,
    )


def _draft_ks(possible: tuple[Candidate, ...]) -> dict[str, tuple[int, ...]]:
    """Return the K that may be measured, ascending, by draft name."""
    names = dict.fromkeys(candidate.draft_name for candidate in possible if candidate.k)
    return {name: tuple(sorted({c.k for c in possible if c.k and c.draft_name == name})) for name in names}


def _draft_identities(space: SearchSpace, directories: Mapping[str, str]) -> dict[str, dict[str, Json]]:
    """Return what identifies each draft model, by the draft's name."""
    return {
        draft.name: model_identity(draft.model, directories.get(draft.name) or resolve_model(draft.model))
        for draft in space.drafts
        if draft.model is not None
    }


def _fingerprint(
    space: SearchSpace,
    target: Mapping[str, Json],
    drafts: Mapping[str, Mapping[str, Json]],
    engine: Engine,
    eval_sets: Mapping[str, EvalSet],
) -> dict[str, Json]:
    return fingerprint(
        engine={
            "kind": engine.kind,
            "version": engine.version,
            "build": engine.build,
            "profile": profile_identity(engine.profile),
        },
        target=target,
        drafts=drafts,
        eval_sets=eval_sets.values(),
        engine_args=space.engine_args,
        env=shaping_env(os.environ, space.env),
        load_points=space.load_points,
        protocol=space.protocol,
    )
