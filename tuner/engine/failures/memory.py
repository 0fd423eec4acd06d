"""Causes that have to do with the share of memory and the KV cache, each with the number that would do. Pure.

gpu_memory_utilization is lowered where what it asks for is not there, or memory outside of it ran out; it is raised
where what it leaves for the KV cache is too little. These are different causes and never one row.
"""

from __future__ import annotations

import re
from dataclasses import replace

from tuner.engine.failures.cause import Case, Row, Told
from tuner.engine.failures.reading import said_in
from tuner.engine.failures.share import SHARE_MARGIN, SHARE_STEP, lowered, raised, round_down

_ROOM_BYTES = 2**30
"""What a KV cache should get at least, so that the retry can serve at all."""

_NUMBER = r"(-?\d{1,9}(?:\.\d{1,9})?)"
_NOT_FREE = re.compile(
    rf"memory on (?:device \S+|node \S+) \({_NUMBER}/{_NUMBER} GiB\) on startup is less than desired (GPU|CPU) memory "
    rf"utilization \({_NUMBER}, {_NUMBER} GiB\)"
)
_NOT_FREE_FOR_CACHE = re.compile(
    rf"\({_NUMBER}/{_NUMBER} GiB\) on kv cache allocation is less than requested memory for kv "
    r"\((\d{1,9}(?:\.\d{1,9})?)"
)
_DISTURBED = re.compile(
    rf"Error in memory profiling\. Initial free memory {_NUMBER} GiB, current free memory {_NUMBER} GiB"
)
_NO_ROOM = re.compile(r"No available memory for the cache blocks")
_NO_ROOM_ON_CPU = re.compile(
    rf"\({_NUMBER}/{_NUMBER} GiB\) on kv cache allocation is less than requested memory for kv "
    rf"\((-\d{{1,9}}(?:\.\d{{1,9}})?|0\.0)/{_NUMBER} GiB\)"
)
_CONTEXT = re.compile(
    r"(?:To serve at least one request with the models?'?s? max seq len|"
    r"The model's max seq len) \((?P<asked>\d{1,12})\)(?P<rest>.*)"
)
_ESTIMATED = re.compile(
    r"estimated maximum model length is (\d{1,12})|"
    r"stored in KV cache \((\d{1,12})\)|than the available (\d{1,12}) tokens"
)
_NEEDED = re.compile(rf"\({_NUMBER} GiB KV cache is needed.*?KV cache memory \({_NUMBER} GiB\)")
_AVAILABLE = re.compile(rf"(?:Available KV cache memory: |reserved for KV Cache is ){_NUMBER} ?GiB")
_TOTAL = re.compile(rf"/{_NUMBER} GiB\) on startup|total_gpu_memory \({_NUMBER}GiB\)")


def _share_not_free(match: re.Match[str], case: Case) -> Told:
    free, total, kind, share, asked = match.groups()
    what = (
        f"{free} of {total} GiB are free, and gpu_memory_utilization {share} asks for {asked} GiB of "
        f"{'the device' if kind == 'GPU' else 'the host'}."
    )
    new = round(round_down(float(free) / float(total)) - SHARE_MARGIN, 2) if float(total) > 0 else 0.0
    if new < float(share) / 2:  # Whatever holds most of a device would be measured along.
        return Told(what, "End what else uses the memory, or use another device.")
    return lowered(what, new, float(share))


def _disturbed(match: re.Match[str], case: Case) -> Told:
    before, after = match.groups()
    return Told(
        f"{before} GiB of the device were free when the engine began to measure what it needs, {after} at its end."
    )


def _cache_not_free(match: re.Match[str], case: Case) -> Told:
    free, total, asked = match.groups()
    what = f"{free} of {total} GiB of the host are free, and the KV cache is to have {asked} GiB."
    return Told(what)


def _no_room(match: re.Match[str], case: Case) -> Told:
    share, available, total = case.ending.memory_share, said_in(case.log, _AVAILABLE), said_in(case.log, _TOTAL)
    missing = -float(available[1]) * 2**30 if available else None
    size = float(total[1] or total[2]) * 2**30 if total else None
    left = f": {available[1]} GiB are left" if available else ""
    asked = f" with gpu_memory_utilization {share:g}" if share is not None else ""
    what = f"Weights and activations leave no memory for the KV cache{asked}{left}."
    step = (missing + _ROOM_BYTES) / size if missing is not None and size else SHARE_STEP
    return raised(what, share, step)


def _no_room_on_cpu(match: re.Match[str], case: Case) -> Told:
    free, total, left, asked = (float(number) for number in match.groups())
    what = (
        f"The share asked for, {asked:g} of {total:g} GiB of the host, leaves {left:g} GiB for the KV cache; {free:g} "
        f"GiB are free."
    )
    needed = asked - left + _ROOM_BYTES / 2**30
    if total <= 0 or needed > free:
        return Told(what)
    return raised(what, asked / total, (needed - asked) / total)


def _context(match: re.Match[str], case: Case) -> Told:
    asked, rest = int(match["asked"]), match["rest"]
    estimate, needed = _ESTIMATED.search(rest), _NEEDED.search(rest)
    fits = next((int(group) for group in estimate.groups() if group), 0) if estimate else 0
    if not fits and needed and float(needed[1]) > 0:
        fits = int(asked * max(0.0, float(needed[2])) / float(needed[1]) * (1 - SHARE_STEP))
    sizes = f": {needed[1]} GiB are needed, {needed[2]} GiB are there" if needed else ""
    room = f", room for {fits} tokens" if fits else ""
    what = f"The KV cache is smaller than one request of max_model_len {asked}{sizes}{room}."
    new = _round_length(fits)
    if not 0 < new < asked:
        return Told(what)
    advice = f"Lower max_model_len to {new}, or raise gpu_memory_utilization if more of the memory is free."
    return Told(what, advice, {"max_model_len": new})


def _round_length(tokens: int) -> int:
    block = 256 if tokens >= 2048 else 16
    return tokens // block * block


_NO_MEMORY = Row(
    "no_memory_for_kv_cache",
    "Weights and activations leave no memory for the KV cache.",
    "Raise gpu_memory_utilization, or use a smaller draft or more GPUs.",
    _NO_ROOM_ON_CPU,
    tell=_no_room_on_cpu,
)

ROWS = (
    Row(
        "memory_share_not_free",
        "The share of memory asked for is not free.",
        "Lower gpu_memory_utilization, or end what else uses the memory.",
        _NOT_FREE,
        tell=_share_not_free,
    ),
    Row(
        "memory_profile_disturbed",
        "Something else gave back memory of the device while the engine measured what it needs.",
        "Let nothing else use the device, then run with --retry-failed.",
        _DISTURBED,
        tell=_disturbed,
    ),
    _NO_MEMORY,
    replace(_NO_MEMORY, pattern=_NO_ROOM, tell=_no_room),
    Row(
        "kv_cache_not_free",
        "The memory that the KV cache was given by hand is not free.",
        "Lower VLLM_CPU_KVCACHE_SPACE or kv_cache_memory_bytes, or end what else uses the memory.",
        _NOT_FREE_FOR_CACHE,
        tell=_cache_not_free,
    ),
    Row(
        "kv_cache_below_context",
        "The KV cache is smaller than one request of max_model_len.",
        "Lower max_model_len, or raise gpu_memory_utilization.",
        _CONTEXT,
        tell=_context,
    ),
)
