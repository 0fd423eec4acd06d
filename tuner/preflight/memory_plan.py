"""Whether a candidate fits its device, and what would. Pure; all sizes are bytes on one GPU (or on the host)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import ceil

from tuner.preflight.memory_device import Device
from tuner.preflight.memory_kv import request_bytes
from tuner.preflight.memory_need import Load, ModelSize, Need, Part, Source, gib, need_of
from tuner.preflight.memory_settings import Settings
from tuner.records import Speculation

_GPU_CONTEXT = 600 * 2**20
"""What CUDA itself takes of a GPU before the engine looks: outside the engine's share."""
MARGIN = 0.5
"""An estimate may be wrong by this part of itself before a plan that fits no longer does."""
_BLOCK = {"gpu": 16, "cpu": 128}
MOST_K, MOST_SEQS = 32, 4096
"""How far the largest K and max_num_seqs are looked for."""


class Verdict(StrEnum):
    """Whether a candidate fits.  TIGHT: as far as the estimates go, or not under the whole load."""

    FITS = "fits"
    TIGHT = "tight"
    DOES_NOT_FIT = "does not fit"


@dataclass(frozen=True)
class Largest:
    """The largest value of each setting, the others as they are, with which a plan still fits; None: not even 1."""

    k: int | None = None
    max_num_seqs: int | None = None
    max_model_len: int | None = None


@dataclass(frozen=True)
class MemoryPlan:
    """The memory of one engine.

    limit: what all parts and the KV cache may take together.  kv_bytes: what is left for the cache (or what it was
    given), below 0 where nothing is.  kv_tokens, requests: how many tokens, and requests of max_model_len, that is;
    one_request: bytes of such a request.
    verification: logits of one verification under the whole load, taken where a forward pass has been.
    certain: whether the verdict follows from the files alone.  reasons: why it is not simply "fits".
    """

    device: Device
    settings: Settings
    limit: int
    parts: tuple[Part, ...]
    kv_bytes: int
    kv_source: Source
    kv_bytes_per_token: int
    kv_tokens: int
    one_request: int
    requests: float
    verification: Part
    verdict: Verdict
    certain: bool
    reasons: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    largest: Largest = field(default_factory=Largest)

    @property
    def weights(self) -> int:
        """Bytes of all weights."""
        return sum(part.size for part in self.parts if part.name.endswith("weights"))


def plan_memory(
    target: ModelSize,
    speculation: Speculation | None,
    draft: ModelSize | None,
    settings: Settings,
    device: Device,
    load: Load | None = None,
) -> MemoryPlan:
    """Return the plan of one candidate, with the largest K, max_num_seqs and max_model_len that would fit.

    draft: of methods that load one.  Raises UnknownShape if a config.json lacks what it takes.
    """
    load = load or Load()

    def at(changed: Settings, under: Load) -> MemoryPlan:
        return _judged(need_of(target, speculation, draft, changed, device, under), changed, device, under)

    largest = Largest(
        k=_largest(settings.k, MOST_K, lambda k: at(replace(settings, k=k), load)) if settings.k else None,
        max_num_seqs=_largest(
            settings.max_num_seqs,
            MOST_SEQS,
            # How many sequences fit is a question about the setting: the load of one sweep may be smaller.
            lambda n: at(replace(settings, max_num_seqs=n), replace(load, sequences=n)),
        ),
        max_model_len=_largest(
            settings.max_model_len,
            settings.longest_context,
            lambda length: at(replace(settings, max_model_len=length), replace(load, tokens=None)),
        ),
    )
    return replace(at(settings, load), largest=largest)


def _largest(value: int, most: int, plan: Callable[[int], MemoryPlan]) -> int | None:
    """Return the largest value up to `most` that fits, by bisection; None if not even 1 does.

    Where `value` does not fit it is looked for below, else above: over the whole range more sequences do not always
    need more, since a larger profile run also keeps more free for verification.
    """

    def fits(candidate: int) -> bool:
        return plan(candidate).verdict is Verdict.FITS

    low, high = (value, max(value, most)) if fits(value) else (0, value - 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low or None


def _judged(need: Need, settings: Settings, device: Device, load: Load) -> MemoryPlan:
    parts = (*need.weights, *need.peaks)
    limit = device.total if settings.kv_bytes is not None else ceil(device.total * settings.utilization)
    left = limit - sum(part.size for part in parts)
    kv_bytes = left if settings.kv_bytes is None else settings.kv_bytes
    one = request_bytes(need.kv, settings.max_model_len, settings.max_num_batched_tokens)
    requests = max(kv_bytes, 0) / one if one else 0.0
    block = _BLOCK[device.kind]
    tokens = int(requests * settings.max_model_len) // block * block
    plan = MemoryPlan(
        device=device,
        settings=settings,
        limit=limit,
        parts=parts,
        kv_bytes=kv_bytes,
        kv_source=Source.ESTIMATE if settings.kv_bytes is None else Source.GIVEN,
        kv_bytes_per_token=sum(cache.full + cache.windowed for cache in need.kv),
        kv_tokens=tokens,
        one_request=one,
        requests=requests,
        verification=need.verification,
        verdict=Verdict.FITS,
        certain=False,
        doubts=tuple(doubt for cache in need.kv for doubt in cache.doubts),
    )
    refused = _refused(plan)
    if refused:
        return replace(plan, verdict=Verdict.DOES_NOT_FIT, reasons=(refused[0],), certain=refused[1])
    reasons = _tight(plan, load, left, need.reserved)
    return replace(plan, verdict=Verdict.TIGHT if reasons else Verdict.FITS, reasons=reasons)


def _refused(plan: MemoryPlan) -> tuple[str, bool] | None:
    """Return why the engine would not start, and whether that follows from the files alone; None if it would."""
    exact = sum(part.size for part in plan.parts if part.source is Source.FILES)
    settings, one, everything = plan.settings, plan.one_request, sum(part.size for part in plan.parts)
    if plan.weights > plan.limit:
        return f"the weights take {gib(plan.weights)} of {gib(plan.limit)}", exact > plan.limit
    given = settings.kv_bytes or 0
    if everything + given > plan.limit:
        taken = f"take {gib(everything + given)} of {gib(plan.limit)}"
        what = f"weights, activations and the rest {taken}"
        if given:
            what = f"weights, activations and the rest with a KV cache of {gib(given)} {taken}"
        return what, exact + given > plan.limit
    if plan.kv_bytes < one:
        what = (
            f"one request of max_model_len {settings.max_model_len} needs {gib(one)} of KV cache, "
            f"{gib(plan.kv_bytes)} is left"
        )
        known = settings.context_given and not plan.doubts and settings.pipeline_parallel == 1
        room = given if settings.kv_bytes is not None else plan.limit - exact
        return what, known and one > room
    return None


def _tight(plan: MemoryPlan, load: Load, left: int, reserved: int) -> tuple[str, ...]:
    """Return what may go wrong although the engine would start, a sentence each."""
    settings, reasons = plan.settings, []
    estimated = sum(part.size for part in plan.parts if part.source is Source.ESTIMATE)
    spare = left - (plan.one_request if settings.kv_bytes is None else settings.kv_bytes)
    if spare < MARGIN * estimated:
        reasons.append(f"only {gib(spare)} are spare, and {gib(estimated)} of the plan are estimates")
    asked = (load.sequences or 0) * min(load.tokens or 0, settings.max_model_len)
    if asked > plan.kv_tokens:
        reasons.append(
            f"{load.sequences} requests of {load.tokens} or more tokens need {asked} tokens of KV cache and "
            f"{plan.kv_tokens} are left: requests will wait or be preempted"
        )
    outside = plan.device.total - plan.limit - (_GPU_CONTEXT if plan.device.kind == "gpu" else 0)
    room = reserved + max(0, outside if settings.kv_bytes is None else spare)
    if settings.k and plan.verification.size > room:
        reasons.append(
            f"verification needs {gib(plan.verification.size)} of logits under load, {gib(room)} are free for them"
        )
    return tuple(reasons)
