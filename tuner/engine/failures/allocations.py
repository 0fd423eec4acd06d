"""Allocations that failed: where the engine was, and what was asked for. Pure."""

from __future__ import annotations

import re

from tuner.engine.failures.cause import Case, Phase, Row, Told
from tuner.engine.failures.reading import gib, said_in, size_bytes
from tuner.engine.failures.share import SHARE_MARGIN, SHARE_STEP, lowered, round_down

_GRAPHS_STEP = 0.05
"""Graphs are captured in small pieces, so the piece that failed tells little of what all need."""
_OUT = re.compile(
    r"CUDA out of memory|HIP out of memory|torch\.(?:cuda\.)?OutOfMemoryError|CUDA error: out of memory|"
    r"cudaErrorMemoryAllocation|CUBLAS_STATUS_ALLOC_FAILED"
)
_N = r"\d{1,9}(?:\.\d{1,9})?"
_ALLOCATION = re.compile(
    rf"Tried to allocate (?P<size>{_N}) (?P<unit>[KMG]iB|bytes)\..*?total capacity of (?P<total>{_N}) "
    rf"(?P<total_unit>[KMG]iB) of which (?P<free>{_N}) (?P<free_unit>[KMG]iB|bytes) is free"
)
_BATCHED = re.compile(r"Chunked prefill is enabled with max_num_batched_tokens=(\d{1,9})")
_WARM_UP = re.compile(r"out of memory occurred when warming up \w+ .*?with (\d{1,9}) dummy requests")

_LOADING = {"load_model", "create_weights", "load_weights", "initialize_model", "_initialize_model", "make_layers"}
_CAPTURING = {"capture_model", "capture", "_capture_cudagraphs", "capture_graph", "capture_graphs"}
_PROFILING = {"profile_run", "determine_available_memory", "determine_num_available_blocks"}
_WARMING_UP = {"_dummy_sampler_run", "_dummy_pooler_run", "compile_or_warm_up_model", "kernel_warmup"}
_VERIFYING = re.compile(r"logits|sampl|reject|verif|propose|score", re.IGNORECASE)


def _out(case: Case, where: str) -> tuple[str, float | None]:
    """Return the sentence, and the part of the device that was missing; None where the log does not say."""
    found = _ALLOCATION.search(case.cause) or _ALLOCATION.search(case.errors)
    if found is None:
        return f"The device's memory ran out {where}.", None
    size = size_bytes(found["size"], found["unit"])
    free, total = size_bytes(found["free"], found["free_unit"]), size_bytes(found["total"], found["total_unit"])
    what = f"The device's memory ran out {where}: {gib(size)} were asked for, {gib(free)} of {gib(total)} were free."
    return what, max(0.0, size - free) / total if total > 0 else None


def _at_weights(match: re.Match[str], case: Case) -> Told:
    return Told(_out(case, "while the weights were loaded")[0])


def _at_capture(match: re.Match[str], case: Case) -> Told:
    what, missing = _out(case, "while CUDA graphs were captured")
    return _less_share(what, case, max(_GRAPHS_STEP, missing or 0.0), "enforce_eager: true needs no graphs")


def _at_profiling(match: re.Match[str], case: Case) -> Told:
    what, _ = _out(case, "in the first pass at full batch size")
    given = case.ending.arguments.get("max_num_batched_tokens")
    said = said_in(case.log, _BATCHED)  # the engine's own default differs with the device
    now = given if isinstance(given, int) else int(said[1]) if said else 4096
    new = now // 2
    advice = f"Lower max_num_batched_tokens to {new}, or max_num_seqs; or use more GPUs (tensor_parallel_size)."
    return Told(what, advice, {"max_num_batched_tokens": new})


def _at_warm_up(match: re.Match[str], case: Case) -> Told:
    what, missing = _out(case, "while the sampler was warmed up")
    said, given = _WARM_UP.search(case.errors), case.ending.arguments.get("max_num_seqs")
    requests = int(said[1]) if said else given if isinstance(given, int) else 0
    profiling = bool(case.frames & _PROFILING)  # before the KV cache is there, so the share has no part in it
    if requests < 2:
        return (
            Told(what, "Lower max_num_seqs.") if profiling else _less_share(what, case, missing, "lower max_num_seqs")
        )
    new = requests // 2
    what = f"{what[:-1]}, with {requests} requests at once."
    otherwise = "" if profiling else ", or gpu_memory_utilization"
    return Told(what, f"Lower max_num_seqs to {new}{otherwise}.", {"max_num_seqs": new})


def _at_verification(match: re.Match[str], case: Case) -> Told:
    k = case.ending.k
    where = f"while {k} drafted tokens a request were verified" if k else "while tokens were sampled"
    what, missing = _out(case, where)
    told = _less_share(what, case, missing, "lower max_num_seqs or K" if k else "lower max_num_seqs")
    if told.change or k < 2:
        return told
    return Told(what, f"Lower num_speculative_tokens to {k // 2}, or max_num_seqs.", {"num_speculative_tokens": k // 2})


def _at_load(match: re.Match[str], case: Case) -> Told:
    what, missing = _out(case, "under load")
    return _less_share(what, case, missing, "lower max_num_batched_tokens or max_num_seqs")


def _less_share(what: str, case: Case, missing: float | None, otherwise: str) -> Told:
    share = case.ending.memory_share
    new = 0.0 if share is None else round_down(share - max(SHARE_STEP / 2, (missing or SHARE_STEP) + SHARE_MARGIN))
    told = lowered(what, new, share)
    if not told.change:
        return Told(what, f"Lower gpu_memory_utilization; or {otherwise}.")
    return Told(what, f"Lower gpu_memory_utilization to {new:g}; or {otherwise}.", told.change)


def _starting(case: Case) -> bool:
    return case.ending.phase is Phase.STARTING


def _verifying(case: Case) -> bool:
    return not _starting(case) and any(_VERIFYING.search(name) for name in case.frames)


ROWS = (
    Row(
        "out_of_memory_weights",
        "The device's memory ran out while the weights were loaded.",
        "Use more GPUs (tensor_parallel_size), a quantised target or a smaller draft; see that the device is free.",
        _OUT,
        lambda case: _starting(case) and bool(case.frames & _LOADING),
        _at_weights,
    ),
    Row(
        "out_of_memory_graphs",
        "The device's memory ran out while CUDA graphs were captured.",
        "Lower gpu_memory_utilization: graphs live outside of it. Or set enforce_eager: true.",
        _OUT,
        lambda case: _starting(case) and bool(case.frames & _CAPTURING),
        _at_capture,
    ),
    Row(
        "out_of_memory_warm_up",
        "The device's memory ran out while the sampler was warmed up.",
        "Lower max_num_seqs or gpu_memory_utilization.",
        _OUT,
        lambda case: _starting(case) and (bool(case.frames & _WARMING_UP) or bool(_WARM_UP.search(case.errors))),
        _at_warm_up,
    ),
    Row(
        "out_of_memory_profiling",
        "The device's memory ran out in the first pass at full batch size.",
        "Lower max_num_batched_tokens or max_num_seqs.",
        _OUT,
        lambda case: _starting(case) and bool(case.frames & _PROFILING),
        _at_profiling,
    ),
    Row(
        "out_of_memory_verification",
        "The device's memory ran out under load, in sampling or verification.",
        "Lower gpu_memory_utilization: logits live outside of it. Or lower max_num_seqs or K.",
        _OUT,
        _verifying,
        _at_verification,
    ),
    Row(
        "out_of_memory_load",
        "The device's memory ran out under load.",
        "Lower gpu_memory_utilization, max_num_batched_tokens or max_num_seqs.",
        _OUT,
        lambda case: not _starting(case),
        _at_load,
    ),
    Row(
        "out_of_memory",
        "The device's memory ran out while the engine started.",
        "See with nvidia-smi that nothing else is on the device; else use more GPUs, or a smaller draft.",
        _OUT,
        tell=lambda match, case: Told(_out(case, "while the engine started")[0]),
    ),
)
