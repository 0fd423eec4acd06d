"""The memory that an engine may use: a GPU's as the driver tells it, the host's as vLLM's CPU build reads it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from tuner.errors import InputError

_UNITS = {"": 1, "B": 1, **{f"{letter}B": 1000**n for n, letter in enumerate("KMGT", 1)}}
_UNITS |= {f"{letter}iB".upper(): 1024**n for n, letter in enumerate("KMGT", 1)}
_UNITS |= {letter: 1024**n for n, letter in enumerate("KMGT", 1)}
_CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


@dataclass(frozen=True)
class Device:
    """What one engine process may use memory of.

    kind: "gpu" or "cpu".  total: bytes of one GPU as CUDA counts them, or of the host.  assumed: said by the user, not
    read.
    """

    kind: str
    name: str
    total: int
    assumed: bool = False


def parse_size(text: str) -> int:
    """Return bytes of "80GiB", "80G" (the same), "80GB" (10^9) or a plain number.

    Raises InputError for anything else.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", text)
    unit = _UNITS.get(match[2].upper()) if match else None
    size = int(float(match[1]) * unit) if match and unit else 0
    if size <= 0:
        raise InputError(f"{text!r} is no amount of memory.", "Write a number and a unit: 80GiB, 24GB, 512MiB.")
    return size


def parse_device_size(text: str) -> int:
    """Return bytes as `parse_size` does, of a device: a plain small number is one without its unit.

    Raises InputError for what is no amount, and for less than a MiB.
    """
    size = parse_size(text)
    if size < 2**20:
        raise InputError(f"A device of {size} bytes runs no model.", f"Write a unit: {text.strip()}GiB.")
    return size


def assumed_device(kind: str, total: int) -> Device:
    """Return a device that the user plans for."""
    return Device(kind, "the device to plan for", total, assumed=True)


def read_device(build: str, root: Path = Path("/")) -> Device | None:
    """Return the device that an engine of this build would run on here; None where there is none to read.

    build: "cuda", "cpu" or "sim".  With several GPUs the smallest counts.
    """
    if build == "cuda":
        return min(read_gpus(), key=lambda gpu: gpu.total, default=None)
    return host(root) if build == "cpu" else None


def read_gpus() -> Sequence[Device]:
    """Return every GPU that NVML shows and CUDA_VISIBLE_DEVICES lets an engine have; () without any.

    What the driver keeps for itself is not counted.
    """
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return ()
    try:
        ids = _visible(pynvml.nvmlDeviceGetCount())
        handles = [
            pynvml.nvmlDeviceGetHandleByIndex(int(name)) if name.isdecimal() else pynvml.nvmlDeviceGetHandleByUUID(name)
            for name in ids
        ]
        return tuple(Device("gpu", str(pynvml.nvmlDeviceGetName(handle)), _gpu_total(handle)) for handle in handles)
    except pynvml.NVMLError:
        return ()
    finally:
        pynvml.nvmlShutdown()


def _visible(count: int) -> list[str]:
    """Return the GPUs that engines may use, as indices or UUIDs: a small card for a display is often left out."""
    allowed = os.environ.get("CUDA_VISIBLE_DEVICES")
    if allowed is None:
        return [str(index) for index in range(count)]
    return [part.strip() for part in allowed.split(",") if part.strip()]


def _gpu_total(handle: object) -> int:
    import pynvml

    try:
        memory = pynvml.nvmlDeviceGetMemoryInfo(handle, version=pynvml.nvmlMemory_v2)
        return int(memory.total - memory.reserved)
    except (pynvml.NVMLError, AttributeError):  # A driver or binding that knows the first form only.
        return int(pynvml.nvmlDeviceGetMemoryInfo(handle).total)


def host(root: Path = Path("/")) -> Device:
    """Return the host's memory: of the first memory node, or of the whole, and no more than the container may use."""
    total = _node_memory(root / "sys/devices/system/node/node0/meminfo") or psutil.virtual_memory().total
    limits = [_cgroup_limit(root / path.lstrip("/")) for path in _CGROUP_LIMITS]
    return Device("cpu", "this host", min([total, *(limit for limit in limits if limit)]))


def _node_memory(meminfo: Path) -> int | None:
    if not meminfo.is_file():
        return None
    found = re.search(r"MemTotal:\s*(\d+) kB", meminfo.read_text(encoding="ascii", errors="replace"))
    return int(found[1]) * 1024 if found else None


def _cgroup_limit(file: Path) -> int | None:
    text = file.read_text(encoding="ascii", errors="replace").strip() if file.is_file() else ""
    return int(text) if text.isdigit() else None
