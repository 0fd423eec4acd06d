"""Waiting for a GPU's memory to return after an engine is gone: the driver frees it a moment after the process."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

SLACK_BYTES = 256 * 1024**2
RETURN_TIMEOUT_S = 30.0


def used_gpu_memory(visible_devices: str) -> Mapping[str, int] | None:
    """Return bytes in use of each GPU in a CUDA_VISIBLE_DEVICES value; None without GPUs or without NVML.

    Indices are taken in NVML's order, which is CUDA's where all GPUs are of one model.
    """
    names = [name.strip() for name in visible_devices.split(",") if name.strip() not in ("", "-1", "NoDevFiles")]
    if not names:
        return None
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    try:
        return {name: int(pynvml.nvmlDeviceGetMemoryInfo(gpu_handle(name)).used) for name in names}
    except pynvml.NVMLError:
        return None
    finally:
        pynvml.nvmlShutdown()


def gpu_handle(name: str) -> object:
    """Return NVML's handle of an index or a UUID; NVML must be open. Raises pynvml.NVMLError if it knows none."""
    import pynvml

    return pynvml.nvmlDeviceGetHandleByIndex(int(name)) if name.isdigit() else pynvml.nvmlDeviceGetHandleByUUID(name)


def wait_for_memory(
    before: Mapping[str, int] | None,
    used: Callable[[], Mapping[str, int] | None],
    timeout_s: float = RETURN_TIMEOUT_S,
    poll_s: float = 0.2,
) -> Mapping[str, int]:
    """Wait until no GPU uses notably more than `before`; return the bytes still missing per GPU, {} if none are.

    before: bytes in use before the engine started.  used: bytes in use now.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        missing = memory_still_used(before, used())
        if not missing or time.monotonic() >= deadline:
            return missing
        time.sleep(poll_s)


def memory_still_used(before: Mapping[str, int] | None, now: Mapping[str, int] | None) -> Mapping[str, int]:
    """Return by how many bytes each GPU's use exceeds `before` by more than the slack."""
    if before is None or now is None:
        return {}
    grown = {name: now[name] - before[name] for name in before if name in now}
    return {name: size for name, size in grown.items() if size > SLACK_BYTES}
