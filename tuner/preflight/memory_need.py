"""What one engine needs, part by part. Pure; all sizes are bytes on one GPU (or on the host)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from math import ceil
from typing import Any

from tuner.preflight.memory_device import Device
from tuner.preflight.memory_kv import KvNeed, kv_need
from tuner.preflight.memory_peaks import (
    CPU_PROCESS,
    GPU_LIBRARIES,
    Shape,
    forward_bytes,
    graph_bytes,
    sampler_bytes,
    shape,
    verification_bytes,
)
from tuner.preflight.memory_settings import Settings
from tuner.preflight.memory_weights import Weights, quantization_config, text_config
from tuner.records import Speculation

_HEADS = ("eagle", "eagle3")
_OWN_LAYERS = ("mtp", "dspark")
"""Methods whose layers may stand among the target's own weights."""


class Source(StrEnum):
    """Where a size comes from."""

    FILES = "files"
    ESTIMATE = "estimate"
    GIVEN = "given"


@dataclass(frozen=True)
class Part:
    """One use of memory.  note: what it was computed from, or why it is an estimate."""

    name: str
    size: int
    source: Source
    note: str = ""


@dataclass(frozen=True)
class ModelSize:
    """What files say about a model.  config: config.json."""

    name: str
    config: Mapping[str, Any]
    weights: Weights


@dataclass(frozen=True)
class Load:
    """What will be asked of the engine: so many requests at once, each of so many tokens with its answer."""

    sequences: int | None = None
    tokens: int | None = None


@dataclass(frozen=True)
class Need:
    """Everything that a plan is computed from, at one setting.

    kv: by model.  reserved: what the profile run keeps free for intermediate results, where verification also goes.
    """

    weights: tuple[Part, ...]
    peaks: tuple[Part, ...]
    kv: tuple[KvNeed, ...]
    verification: Part
    reserved: int


def gib(size: int) -> str:
    """Return bytes for a person."""
    return f"{size / 2**30:.2f} GiB"


def need_of(
    target: ModelSize,
    speculation: Speculation | None,
    draft: ModelSize | None,
    settings: Settings,
    device: Device,
    load: Load,
) -> Need:
    """Return what a candidate needs.  Raises UnknownShape if a config.json lacks what it takes."""
    tensor, pipeline = settings.tensor_parallel, settings.pipeline_parallel
    of_target = shape(target.config, tensor)
    weights = [_weights("target weights", target.weights.total, target.weights, settings)]
    kv = [_cache(target, settings, settings.kv_cache_dtype)]
    of_draft: Shape | None = None
    if speculation is not None and draft is not None:
        own_tensor = _draft_tensor_parallel(speculation, tensor)
        weights.append(_draft_weights(draft, speculation, own_tensor))
        kv.append(
            _cache(
                draft,
                replace(settings, tensor_parallel=own_tensor, pipeline_parallel=1),
                _draft_cache(speculation, settings),
                layers=_own_draft_layers(draft.config) if _whole_model(draft, speculation) else None,
            )
        )
        of_draft = shape(draft.config, own_tensor)
    elif speculation is not None and speculation.method in _OWN_LAYERS and target.weights.drafter:
        weights.append(
            _weights("draft weights", target.weights.drafter, target.weights, replace(settings, offloaded=0))
        )
        kv.append(_cache(target, settings, settings.kv_cache_dtype, layers=_own_draft_layers(target.config)))
    peaks = _peaks(of_target, of_draft, settings, device)
    sequences = min(settings.max_num_seqs, load.sequences or settings.max_num_seqs)
    logits = verification_bytes(of_target, sequences, settings.k, settings.max_num_batched_tokens, settings.width)
    rows = f"{sequences} sequences x {settings.k + 1} positions"
    note = f"{rows} x {of_target.vocabulary} tokens x {settings.width + 4} bytes"
    kv = [replace(need, full=ceil(need.full / pipeline), windowed=ceil(need.windowed / pipeline)) for need in kv]
    return Need(tuple(weights), peaks, tuple(kv), Part("verification", logits, Source.ESTIMATE, note), peaks[0].size)


def _weights(name: str, size: int, weights: Weights, settings: Settings) -> Part:
    devices = settings.tensor_parallel * settings.pipeline_parallel
    doubt = weights.doubt
    if settings.pipeline_parallel > 1:
        doubt = doubt or "layers divided evenly"
    if settings.offloaded or settings.offloads_layers:
        doubt = doubt or "a part stays in host memory"
    if settings.shared_experts:
        doubt = doubt or "experts divided among replicas"
    note = doubt or ", ".join(f"{kind} {gib(count)}" for kind, count in sorted(weights.by_dtype.items()))
    part = max(0, ceil(size / devices) - settings.offloaded)
    return Part(name, part, Source.ESTIMATE if doubt else Source.FILES, note)


def _draft_weights(draft: ModelSize, speculation: Speculation, tensor_parallel: int) -> Part:
    weights = draft.weights
    if speculation.method in _HEADS and not weights.doubt:
        weights = replace(weights, doubt="a head may share embedding and output matrix with the target")
    if speculation.options.get("quantization") and quantization_config(draft.config) is None:
        weights = replace(weights, doubt="the engine quantises while it loads")
    alone = Settings(0.0, 0, 0, 0, tensor_parallel=tensor_parallel)
    size = weights.drafter if _whole_model(draft, speculation) else weights.total + weights.drafter
    return _weights("draft weights", size, weights, alone)


def _whole_model(draft: ModelSize, speculation: Speculation) -> bool:
    """Whether the draft is a target's checkpoint, named for its MTP layers: an engine loads these alone."""
    return speculation.method == "mtp" and draft.weights.drafter > 0


def _draft_tensor_parallel(speculation: Speculation, of_target: int) -> int:
    given = speculation.options.get("draft_tensor_parallel_size")
    return given if isinstance(given, int) and given > 0 else of_target


def _draft_cache(speculation: Speculation, settings: Settings) -> str:
    return str(speculation.options.get("kv_cache_dtype") or settings.kv_cache_dtype)


def _cache(model: ModelSize, settings: Settings, cache_dtype: str, layers: int | None = None) -> KvNeed:
    need = kv_need(
        model.config,
        tensor_parallel=settings.tensor_parallel,
        cache_dtype=cache_dtype,
        dtype=settings.dtype,
        hybrid=settings.hybrid,
        layers=layers,
    )
    doubts = [f"{model.name}: {doubt}" for doubt in need.doubts]
    share = settings.context_parallel
    if share > 1:
        doubts.append(f"{model.name}: its tokens are divided evenly among {share} GPUs")
    return replace(need, full=ceil(need.full / share), windowed=ceil(need.windowed / share), doubts=tuple(doubts))


def _own_draft_layers(config: Mapping[str, Any]) -> int:
    text = text_config(config)
    keys = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_layers")
    return next((text[key] for key in keys if isinstance(text.get(key), int) and text[key] > 0), 1)


def _peaks(target: Shape, draft: Shape | None, settings: Settings, device: Device) -> tuple[Part, ...]:
    batched, width = settings.max_num_batched_tokens, settings.width
    forward = max(forward_bytes(target, batched, width), forward_bytes(draft, batched, width) if draft else 0)
    sampler = sampler_bytes(target, min(settings.max_num_seqs, batched)) if device.kind == "gpu" else 0
    note = (
        f"a pass over {batched} tokens"
        if forward >= sampler
        else f"choosing tokens for {settings.max_num_seqs} requests"
    )
    peak = Part("activations", max(forward, sampler), Source.ESTIMATE, note)
    if device.kind == "cpu":
        return peak, Part("process", CPU_PROCESS, Source.ESTIMATE, "Python and libraries")
    libraries = Part("libraries", GPU_LIBRARIES, Source.ESTIMATE, "work space of libraries")
    if settings.eager:
        return peak, libraries
    graphs = graph_bytes(target, draft, settings.max_num_seqs, settings.k, schedule=settings.schedule)
    return peak, Part("CUDA graphs", graphs, Source.ESTIMATE, f"for up to {settings.max_num_seqs} sequences"), libraries
