"""What one host has: CPU cores and their topology, GPUs as NVML knows them.  Read on the host itself."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tuner.hardware import cpu_model
from tuner.pool.cores import parse_cpu_list
from tuner.version import tuner_version

_SYSTEM_CPUS = Path("/sys/devices/system/cpu")


@dataclass(frozen=True)
class Gpu:
    """One GPU.  id: as CUDA_VISIBLE_DEVICES names it; uuid: "" if NVML does not know it; near: CPUs next to it.

    memory_bytes: in all, None if NVML does not know it.  driver: version, "" if NVML does not know it.
    """

    id: str
    uuid: str = ""
    name: str = "GPU"
    near: frozenset[int] = frozenset()
    memory_bytes: int | None = None
    driver: str = ""


@dataclass(frozen=True)
class HostFacts:
    """What a worker finds where it was put.

    cores: the logical CPUs of each physical core that this process may use.  missing: what the host lacks and the
    sweep needs, in words.  differs: how its engine is another one than the sweep's, "" if it is the same.
    """

    host: str
    cpu: str
    cores: tuple[tuple[int, ...], ...]
    gpus: tuple[Gpu, ...]
    tuner_version: str
    missing: tuple[str, ...] = ()
    differs: str = ""


def look_around(
    gpu_ids: Sequence[str], required_paths: Sequence[str] = (), engine_differs: Callable[[], str] | None = None
) -> HostFacts:
    """Return what this host has.

    required_paths: absolute paths, and hub ids, that have to be on it.  engine_differs: tells how the engine here is
    another one, "" if it is the same; asked only where nothing is missing.
    """
    missing = tuple(required for required in required_paths if not _is_here(required))
    return HostFacts(
        host=socket.gethostname(),
        cpu=cpu_model(),
        cores=_cores(),
        gpus=describe_gpus(gpu_ids),
        tuner_version=tuner_version(),
        missing=missing,
        differs=engine_differs() if engine_differs and not missing else "",
    )


def _is_here(required: str) -> bool:
    """Whether a path exists, or a hub id is in this host's hub cache: engines are started without the network."""
    if Path(required).is_absolute():
        return Path(required).exists()
    snapshots = _hub_cache() / f"models--{required.replace('/', '--')}" / "snapshots"
    return snapshots.is_dir() and any(snapshots.iterdir())


def _hub_cache() -> Path:
    """Return where huggingface_hub keeps models here, by the variables that it reads."""
    env = os.environ
    named = env.get("HF_HUB_CACHE") or env.get("HUGGINGFACE_HUB_CACHE")
    if named:
        return Path(named).expanduser()
    home = env.get("HF_HOME") or f"{env.get('XDG_CACHE_HOME') or '~/.cache'}/huggingface"
    return Path(os.path.expanduser(home)) / "hub"  # noqa: PTH111 - where nobody knows a home, there is no such directory


def describe_gpus(gpu_ids: Sequence[str]) -> tuple[Gpu, ...]:
    """Return what NVML knows of some GPUs (indices or UUIDs); the bare id where it knows nothing."""
    if not gpu_ids:
        return ()
    with _nvml() as available:
        return tuple(_describe_gpu(gpu_id) if available else Gpu(gpu_id) for gpu_id in gpu_ids)


def visible_gpu_ids() -> tuple[str, ...]:
    """Return the GPUs that this process may use: CUDA_VISIBLE_DEVICES if set, else all that NVML counts."""
    import pynvml

    with _nvml() as available:
        count = pynvml.nvmlDeviceGetCount() if available else 0
    allowed = os.environ.get("CUDA_VISIBLE_DEVICES")
    if allowed is None or count == 0:
        return tuple(str(index) for index in range(count))
    return tuple(part.strip() for part in allowed.split(",") if part.strip())


@contextmanager
def _nvml() -> Iterator[bool]:
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        yield False
        return
    try:
        yield True
    finally:
        pynvml.nvmlShutdown()


def _describe_gpu(gpu_id: str) -> Gpu:
    import pynvml

    try:
        by_index = gpu_id.isdecimal()
        handle = (
            pynvml.nvmlDeviceGetHandleByIndex(int(gpu_id)) if by_index else pynvml.nvmlDeviceGetHandleByUUID(gpu_id)
        )
        words = (max(_all_cpus()) + 64) // 64
        masks = pynvml.nvmlDeviceGetCpuAffinity(handle, words)
        near = frozenset(64 * word + bit for word, mask in enumerate(masks) for bit in range(64) if mask >> bit & 1)
        return Gpu(
            gpu_id,
            pynvml.nvmlDeviceGetUUID(handle),
            pynvml.nvmlDeviceGetName(handle),
            near,
            _memory_bytes(handle),
            pynvml.nvmlSystemGetDriverVersion(),
        )
    except pynvml.NVMLError:
        return Gpu(gpu_id)  # a logical GPU of a test cluster, or a MIG slice without these queries


def _memory_bytes(handle: Any) -> int | None:
    """Return a GPU's memory; None where it is the host's too, of which NVML does not tell (GB10)."""
    import pynvml

    try:
        return int(pynvml.nvmlDeviceGetMemoryInfo(handle).total)
    except pynvml.NVMLError:
        return None


def _cores() -> tuple[tuple[int, ...], ...]:
    """Return the physical cores as groups of the logical CPUs that this process may use."""
    allowed = _all_cpus()
    groups: dict[tuple[int, ...], None] = {}
    for cpu in sorted(allowed):
        siblings = _SYSTEM_CPUS / f"cpu{cpu}" / "topology" / "thread_siblings_list"
        group = parse_cpu_list(siblings.read_text()) if siblings.exists() else (cpu,)
        groups[tuple(sorted(allowed.intersection(group)))] = None
    return tuple(groups)


def _all_cpus() -> set[int]:
    return os.sched_getaffinity(0)
