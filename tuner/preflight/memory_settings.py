"""What of a candidate's arguments its memory depends on. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tuner.preflight.context import parse_max_model_len
from tuner.preflight.memory_device import Device
from tuner.records import SCHEDULE, Candidate, Json

GIB = 2**30
FALLBACK_CONTEXT = 4096
"""Tokens, where neither the arguments nor the model's files say how long a context is."""


@dataclass(frozen=True)
class Settings:
    """Engine settings with the engine's own defaults filled in.

    utilization: share of the device.  kv_bytes: what the user gave the KV cache outright, None where the engine takes
    what is left.  offloaded: bytes of weights per GPU that stay in host memory.  context_given: whether max_model_len
    is said, or derived from the model's files.  offloads_layers: whether some layers stay in host memory, which is not
    counted.  shared_experts: whether replicas share a model's experts out.
    schedule: whether K follows the batch size.  trained_context: tokens, from the model's files.
    context_parallel: GPUs that share out the tokens of one KV cache.
    """

    utilization: float
    max_model_len: int
    max_num_seqs: int
    max_num_batched_tokens: int
    k: int = 0
    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    eager: bool = False
    kv_bytes: int | None = None
    kv_cache_dtype: str = "auto"
    dtype: str = "auto"
    quantization: str = ""
    offloaded: int = 0
    hybrid: bool = True
    context_given: bool = True
    offloads_layers: bool = False
    shared_experts: bool = False
    schedule: bool = False
    trained_context: int | None = None
    context_parallel: int = 1

    @property
    def longest_context(self) -> int:
        """Tokens of the longest max_model_len that makes sense."""
        return max(self.max_model_len, self.trained_context or 0)

    @property
    def width(self) -> int:
        """Bytes of one number in the engine's own type."""
        return 4 if self.dtype in ("float32", "float") else 2


def settings_of(
    candidate: Candidate,
    device: Device,
    *,
    trained_context: int | None,
    default_utilization: float,
    env: Mapping[str, str],
) -> Settings:
    """Return a candidate's settings on `device`.

    trained_context: tokens, from the target's files.  default_utilization: the engine release's own.  env: the
    variables that the engine gets; VLLM_CPU_KVCACHE_SPACE counts on a CPU.
    """
    args = candidate.engine_args
    given_context = parse_max_model_len(args.get("max_model_len"))
    context = given_context or trained_context or FALLBACK_CONTEXT
    tensor, pipeline = (_whole(args.get(f"{what}_parallel_size"), 1) for what in ("tensor", "pipeline"))
    tokens, seqs = _batch_defaults(device, tensor * pipeline)
    max_num_seqs = _whole(args.get("max_num_seqs"), seqs)
    # Without chunked prefill a whole prompt has to fit into a step.
    tokens = max(tokens, context) if args.get("enable_chunked_prefill") is False else tokens
    batched = _whole(args.get("max_num_batched_tokens"), min(tokens, max_num_seqs * context))
    share = args.get("gpu_memory_utilization")
    return Settings(
        utilization=float(share) if isinstance(share, int | float) else default_utilization,
        max_model_len=context,
        max_num_seqs=max_num_seqs,
        max_num_batched_tokens=batched,
        k=candidate.k,
        tensor_parallel=tensor,
        pipeline_parallel=pipeline,
        eager=args.get("enforce_eager") is True or device.kind == "cpu",
        kv_bytes=_given_kv(args, device, env),
        kv_cache_dtype=str(args.get("kv_cache_dtype") or "auto"),
        dtype=str(args.get("dtype") or "auto"),
        quantization=str(args.get("quantization") or ""),
        offloaded=round(_number(args.get("cpu_offload_gb")) * GIB),
        hybrid=args.get("disable_hybrid_kv_cache_manager") is not True,
        context_given=given_context is not None,
        offloads_layers=_whole(args.get("offload_group_size"), 0) > 0,
        shared_experts=args.get("enable_expert_parallel") is True and _whole(args.get("data_parallel_size"), 1) > 1,
        schedule=candidate.speculation is not None and SCHEDULE in candidate.speculation.options,
        trained_context=trained_context,
        context_parallel=_whole(args.get("decode_context_parallel_size"), 1),
    )


def _batch_defaults(device: Device, world: int) -> tuple[int, int]:
    """Return vLLM's own max_num_batched_tokens and max_num_seqs of an API server (arg_utils.get_batch_defaults)."""
    if device.kind == "cpu":
        return 2048 * world, 128 * world
    if device.total >= 160 * GIB:
        return 16384, 1024
    if device.total >= 70 * GIB and "a100" not in device.name.lower():
        return 8192, 1024
    return 2048, 256


def _given_kv(args: Mapping[str, Json], device: Device, env: Mapping[str, str]) -> int | None:
    space = env.get("VLLM_CPU_KVCACHE_SPACE", "")
    if device.kind == "cpu" and space.strip().isdigit():
        return int(space) * GIB
    return _whole(args.get("kv_cache_memory_bytes"), 0) or None


def _whole(value: Json, default: int) -> int:
    try:
        return int(str(value)) if value is not None else default
    except ValueError:  # "4k": a short form that a release may know.
        return parse_max_model_len(value) or default


def _number(value: Json) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
