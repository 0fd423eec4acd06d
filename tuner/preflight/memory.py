"""The memory plans of a whole space: reads the models' files, plans each candidate, says what is wrong."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from tuner.preflight.context import trained_context
from tuner.preflight.memory_device import Device, assumed_device, parse_device_size, read_device
from tuner.preflight.memory_kv import UnknownShape
from tuner.preflight.memory_need import Load, ModelSize, Source
from tuner.preflight.memory_plan import MARGIN, MemoryPlan, Verdict, plan_memory
from tuner.preflight.memory_settings import settings_of
from tuner.preflight.memory_weights import loaded_weights, weights_of_size
from tuner.preflight.model_files import read_config, weight_files
from tuner.preflight.tensors import read_tensors
from tuner.records import Candidate, Json, Level, Notice

__all__ = [
    "Device",
    "Load",
    "MemoryPlan",
    "Planned",
    "Unplanned",
    "assumed_device",
    "by_draft",
    "memory_notices",
    "memory_plans",
    "parse_device_size",
    "plan_memory",
    "plans_as_json",
    "read_device",
]

_MOST_SHARE = 0.95
"""Above this share of a device something else is usually short of memory."""


@dataclass(frozen=True)
class Planned:
    """A candidate with its plan."""

    candidate: Candidate
    plan: MemoryPlan


@dataclass(frozen=True)
class Unplanned:
    """Why there is no plan for a model: its files do not tell."""

    subject: str
    why: str


def memory_plans(
    candidates: Iterable[Candidate],
    target: Path,
    drafts: Mapping[str, Path],
    device: Device,
    *,
    default_utilization: float,
    env: Mapping[str, str] | None = None,
    load: Load | None = None,
) -> tuple[tuple[Planned, ...], tuple[Unplanned, ...]]:
    """Return a plan for each candidate, and which models cannot be planned with.

    target: its directory.  drafts: directories by draft name; a draft without a model is not in it.  load: the largest
    of the load points.  Raises ModelError for a config.json that is none.
    """
    plans: list[Planned] = []
    unplanned: dict[str, Unplanned] = {}
    read: dict[tuple[Path, str, str], ModelSize] = {}

    def files(name: str, directory: Path, dtype: Json, quantization: Json) -> ModelSize:
        key = (directory, str(dtype), str(quantization))
        if key not in read:
            read[key] = read_model(name, directory, dtype=dtype, quantization=quantization)
        return read[key]

    for candidate in candidates:
        args, spec = candidate.engine_args, candidate.speculation
        directory = drafts.get(spec.draft_name) if spec else None
        subject = "target"
        try:
            of_target = files("target", target, args.get("dtype"), args.get("quantization"))
            subject = spec.draft_name if spec else subject
            of_draft = files(subject, directory, args.get("dtype"), None) if directory and spec else None
            settings = settings_of(
                candidate,
                device,
                trained_context=trained_context(of_target.config),
                default_utilization=default_utilization,
                env=env or {},
            )
            plans.append(Planned(candidate, plan_memory(of_target, spec, of_draft, settings, device, load)))
        except (UnknownShape, ValueError, OSError) as error:
            unplanned.setdefault(subject, Unplanned(subject, str(error)))
    return tuple(plans), tuple(unplanned.values())


def read_model(name: str, directory: Path, *, dtype: object = None, quantization: object = None) -> ModelSize:
    """Return what a model's files say: config.json, and the headers of its safetensors files or else its files' sizes.

    dtype, quantization: the engine arguments of these names.
    Raises ModelError for a missing config, ValueError for a damaged header or a directory without weights.
    """
    config = read_config(directory, name)
    tensors = read_tensors(directory)
    if tensors:
        return ModelSize(name, config, loaded_weights(tensors, config, dtype=dtype, quantization=quantization))
    sizes = [path.stat().st_size for path in weight_files(directory)]
    if not sizes:
        raise ValueError(f"{directory} has no weights to tell their size")
    return ModelSize(name, config, weights_of_size(sum(sizes)))


def memory_notices(plans: Sequence[Planned], unplanned: Sequence[Unplanned] = ()) -> tuple[Notice, ...]:
    """Return what the plans warn of: one notice for each draft and kind of trouble, not one for each K.

    An error only where the files alone make it certain that no engine of that draft would start; else a warning. What
    a draft shares with its baseline is said of the baseline alone.
    """
    hopeless = {
        subject
        for subject in dict.fromkeys(_subject(one) for one in plans)
        if all(_certainly_not(one.plan) for one in plans if _subject(one) == subject)
    }
    baselines = {one.candidate.args_key: one.plan for one in plans if one.candidate.speculation is None}
    found: dict[tuple[str, str], Notice] = {}
    for one in by_draft(plans):
        baseline = baselines.get(one.candidate.args_key) if one.candidate.speculation else None
        if one.plan.verdict is not Verdict.FITS and not _shared(one.plan, baseline):
            notice = _notice(one, hopeless)
            found.setdefault((notice.code, notice.subject), notice)
    missing = (
        Notice("memory_unknown", Level.HINT, one.subject, f"its memory cannot be planned: {one.why}")
        for one in unplanned
    )
    return (*found.values(), *missing)


def _subject(planned: Planned) -> str:
    return planned.candidate.draft_name if planned.candidate.speculation else "target"


def _shared(plan: MemoryPlan, baseline: MemoryPlan | None) -> bool:
    """Whether the baseline has this trouble too, and nothing is added to it."""
    if baseline is None or baseline.verdict is not plan.verdict or (plan.certain and not baseline.certain):
        return False
    return plan.verdict is Verdict.DOES_NOT_FIT or len(plan.reasons) <= len(baseline.reasons)


def _certainly_not(plan: MemoryPlan) -> bool:
    return plan.certain and plan.verdict is Verdict.DOES_NOT_FIT


def _code(verdict: Verdict) -> str:
    return f"memory_{verdict.value.replace(' ', '_')}"


def _notice(planned: Planned, hopeless: Collection[str]) -> Notice:
    plan, candidate = planned.plan, planned.candidate
    label, limit, device, reasons = candidate.label, plan.limit / 2**30, plan.device.name, "; ".join(plan.reasons)
    if plan.verdict is Verdict.DOES_NOT_FIT:
        what = f"{label} does not fit into the {limit:.1f} GiB that it may use of {device}: {reasons}"
    else:
        what = f"{label} is tight in the {limit:.1f} GiB that it may use of {device}: {reasons}"
    return Notice(
        code=_code(plan.verdict),
        level=Level.ERROR if _subject(planned) in hopeless else Level.WARNING,
        subject=_subject(planned),
        what=what,
        next_step=next_step(plan),
        evidence=evidence(plan),
    )


def next_step(plan: MemoryPlan) -> str:
    """Return what the user can change, with the largest values that fit."""
    largest, settings = plan.largest, plan.settings
    ways = _other_cache(plan)
    if largest.max_model_len and largest.max_model_len < settings.max_model_len:
        ways.append(f"max_model_len {largest.max_model_len} or less fits")
    if largest.max_num_seqs and largest.max_num_seqs < settings.max_num_seqs:
        ways.append(f"max_num_seqs {largest.max_num_seqs} or less fits")
    if largest.k and largest.k < settings.k:
        ways.append(f"K {largest.k} or less fits")
    if (share := _share_needed(plan)) is not None:
        ways.append(f"gpu_memory_utilization {share:.2f} is enough")
    if ways:
        return f"{', or '.join(ways)}, the other settings as they are."
    if settings.kv_bytes is not None:
        return "Use more memory, or a smaller draft or target."
    return "Use more or larger GPUs, a quantised target, or a smaller draft or target."


def _other_cache(plan: MemoryPlan) -> list[str]:
    """Return what to give a KV cache that was given the wrong size, if there is a right one."""
    given, room = plan.settings.kv_bytes, (plan.limit - _rest(plan)) // 2**30
    if given is None or room * 2**30 < plan.one_request:
        return []
    if given < plan.one_request:
        return [f"a KV cache of {ceil(plan.one_request / 2**30)} GiB or more fits"]
    return [f"a KV cache of {room} GiB or less fits"] if given > room * 2**30 else []


def _rest(plan: MemoryPlan) -> int:
    """Return all but the KV cache, with room for what is estimated."""
    estimated = sum(part.size for part in plan.parts if part.source is Source.ESTIMATE)
    return sum(part.size for part in plan.parts) + ceil(MARGIN * estimated)


def _share_needed(plan: MemoryPlan) -> float | None:
    """Return the share of the device that one request of max_model_len needs, with room for what is estimated.

    None where the share is not at fault, or where it would have to be more than can be given.
    """
    if plan.settings.kv_bytes is not None:
        return None
    share = ceil((_rest(plan) + plan.one_request) / plan.device.total * 100) / 100
    return share if plan.settings.utilization < share <= _MOST_SHARE else None


def evidence(plan: MemoryPlan) -> dict[str, Json]:
    """Return the plan as JSON: sizes in bytes on one GPU (or on the host), each with where it comes from."""
    settings, largest = plan.settings, plan.largest
    return {
        "verdict": plan.verdict.value,
        "certain": plan.certain,
        "reasons": list(plan.reasons),
        "device": {"name": plan.device.name, "bytes": plan.device.total, "assumed": plan.device.assumed},
        "limit_bytes": plan.limit,
        "parts": [
            {"name": part.name, "bytes": part.size, "source": part.source.value, "note": part.note}
            for part in plan.parts
        ],
        "verification_bytes": plan.verification.size,
        "kv_cache": {
            "bytes": plan.kv_bytes,
            "source": plan.kv_source.value,
            "bytes_per_token": plan.kv_bytes_per_token,
            "tokens": plan.kv_tokens,
            "requests_of_max_model_len": round(plan.requests, 2),
            "doubts": list(plan.doubts),
        },
        "settings": {
            "k": settings.k,
            "gpu_memory_utilization": settings.utilization,
            "max_model_len": settings.max_model_len,
            "max_num_seqs": settings.max_num_seqs,
            "max_num_batched_tokens": settings.max_num_batched_tokens,
            "tensor_parallel_size": settings.tensor_parallel,
        },
        "largest_that_fits": {
            "k": largest.k,
            "max_num_seqs": largest.max_num_seqs,
            "max_model_len": largest.max_model_len,
        },
    }


def by_draft(plans: Sequence[Planned]) -> tuple[Planned, ...]:
    """Return one plan for each draft and set of engine arguments: the one with the least room, as a rule the largest K.

    The baseline counts as a draft of its own.
    """
    worst: dict[tuple[str, str], Planned] = {}
    for planned in plans:
        key = (planned.candidate.draft_name, planned.candidate.args_key)
        if key not in worst or _room(planned.plan) < _room(worst[key].plan):
            worst[key] = planned
    return tuple(worst.values())


def _room(plan: MemoryPlan) -> tuple[int, int]:
    return -list(Verdict).index(plan.verdict), plan.kv_bytes - plan.verification.size


def plans_as_json(plans: Sequence[Planned]) -> list[dict[str, Json]]:
    """Return one plan for each draft, for scripts; sizes in bytes on one GPU (or on the host)."""
    return [
        {"candidate": one.candidate.label, "engine_args": dict(one.candidate.engine_args), **evidence(one.plan)}
        for one in by_draft(plans)
    ]
