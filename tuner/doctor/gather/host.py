"""Reads processor, memory, disks, limits and ports of this machine - of the container, where there is one."""

from __future__ import annotations

import os
import resource
import shutil
import socket
from pathlib import Path

import psutil

from tuner.doctor.facts import CpuFacts, LimitFacts, MemoryFacts, PlaceFacts, PortFacts
from tuner.engine.process import PORTS
from tuner.hardware import cpu_model

CGROUPS = Path("/sys/fs/cgroup")
_UNLIMITED = 1 << 60
"""cgroup v1 writes a number near 2^63 for no limit."""


def cpu() -> CpuFacts:
    """Return what this process may compute on."""
    allowed = sorted(os.sched_getaffinity(0))
    folder = Path("/sys/devices/system/cpu")
    siblings = {_text(folder / f"cpu{number}/topology/thread_siblings_list") or str(number) for number in allowed}
    governors = {_text(folder / f"cpu{number}/cpufreq/scaling_governor") for number in allowed} - {""}
    return CpuFacts(
        model=cpu_model(),
        allowed=len(allowed),
        total=os.cpu_count() or len(allowed),
        physical=len(siblings),
        quota=_cpu_quota(),
        governors=tuple(sorted(governors)),
        load=os.getloadavg()[0],
    )


def _cpu_quota() -> float | None:
    quotas = []
    for group in cgroups("cpu"):
        words = _text(group / "cpu.max").split()
        if not words:
            words = [_text(group / "cpu.cfs_quota_us"), _text(group / "cpu.cfs_period_us")]
        if len(words) == 2 and words[0].isdigit() and words[1].isdigit() and int(words[1]):
            quotas.append(int(words[0]) / int(words[1]))
    return min(quotas, default=None)


def memory() -> MemoryFacts:
    """Return host memory, the tightest cgroup limit above this process, and /dev/shm."""
    host = psutil.virtual_memory()
    limits = []
    for group in cgroups("memory"):
        for limit, used in (
            ("memory.max", "memory.current"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes"),
        ):
            text = _text(group / limit)
            if text.isdigit() and int(text) < _UNLIMITED:
                reclaimable = _reclaimable(group)
                limits.append((int(text), max(int(_text(group / used) or 0) - reclaimable, 0)))
    tightest = min(limits, key=lambda pair: pair[0] - pair[1], default=(None, None))
    shm = shutil.disk_usage("/dev/shm") if Path("/dev/shm").is_dir() else None  # noqa: S108 - its size is the question
    return MemoryFacts(
        total_bytes=host.total,
        available_bytes=host.available,
        limit_bytes=tightest[0],
        limit_used_bytes=tightest[1],
        shm_bytes=shm and shm.total,
        shm_free_bytes=shm and shm.free,
    )


def _reclaimable(group: Path) -> int:
    """Return file cache that the kernel gives back when a limit is reached; it counts as used until then."""
    for line in _text(group / "memory.stat").splitlines():
        name, _, value = line.partition(" ")
        if name in ("inactive_file", "total_inactive_file"):
            return int(value)
    return 0


def cgroups(controller: str, mounts: Path = CGROUPS, own: Path = Path("/proc/self/cgroup")) -> list[Path]:
    """Return the directories of this process' cgroup and of those above it, for either version of cgroups.

    In a container the path may not exist, as it is written from the host's point of view: then the mount's root is the
    container's own group.
    """
    found: dict[Path, None] = {}
    for line in _text(own).splitlines():
        _, controllers, path = line.split(":", 2)
        root = mounts if controllers == "" else mounts / controllers
        if controllers != "" and controller not in controllers.split(","):
            continue
        if controllers != "" and not root.is_dir():
            root = mounts / controller
        group = root / path.lstrip("/")
        while group.is_relative_to(root):
            if group.is_dir():
                found[group] = None
            if group == root:
                break
            group = group.parent
    return list(found)


def place(purpose: str, path: Path) -> PlaceFacts:
    """Return how much room is where `path` is, or will be once it is made."""
    path = path.expanduser().absolute()
    below = path
    while not below.exists() and below != below.parent:
        below = below.parent
    return PlaceFacts(
        purpose=purpose,
        path=str(path),
        below=str(below),
        free_bytes=shutil.disk_usage(below).free,
        writable=below.is_dir() and os.access(below, os.W_OK | os.X_OK),
        file_system=_file_system(below),
    )


def _file_system(path: Path) -> str:
    real = path.resolve()
    mounts = [part for part in psutil.disk_partitions(all=True) if real.is_relative_to(part.mountpoint)]
    return max(mounts, key=lambda part: len(part.mountpoint)).fstype if mounts else ""


def limits() -> LimitFacts:
    """Return what this process may open and start."""
    tasks = [int(text) for group in cgroups("pids") if (text := _text(group / "pids.max")).isdigit()]
    return LimitFacts(
        open_files=_soft(resource.RLIMIT_NOFILE),
        processes=_soft(resource.RLIMIT_NPROC),
        tasks=min(tasks, default=None),
    )


def _soft(kind: int) -> int | None:
    soft = resource.getrlimit(kind)[0]
    return None if soft == resource.RLIM_INFINITY else soft


def ports() -> PortFacts:
    """Return whether engines will find ports, and whether anything can be reached on them."""
    free = 0
    for port in PORTS:
        with socket.socket() as listener:
            free += _binds(listener, port)
    words = _text(Path("/proc/sys/net/ipv4/ip_local_port_range")).split()
    ephemeral = (int(words[0]), int(words[1])) if len(words) == 2 else None
    return PortFacts(PORTS.start, PORTS.stop - 1, free, _loopback(), ephemeral)


def _binds(listener: socket.socket, port: int) -> bool:
    try:
        listener.bind(("127.0.0.1", port))
    except OSError:
        return False
    return True


def _loopback() -> bool:
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(1.0)
            with socket.create_connection(server.getsockname(), timeout=1.0):
                server.accept()[0].close()
    except OSError:
        return False
    return True


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
