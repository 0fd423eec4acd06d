"""How busy the CPU was between two readings, and with whom.

"Ours" is the engine's process tree (below its supervisor), this process, and the processes above it: the driver and
Ray's daemon where this is a Ray worker. Everything else that kept the trial's cores busy is "others": processes that
cannot be seen from here (another container's) and the kernel's own work are in it. It is what is busy minus what is
ours, so time that ours spent on other cores makes it smaller: it is never overstated by that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import psutil

_BUSY = ("user", "nice", "system", "irq", "softirq")
_STEAL = ("steal",)
_REST = ("idle", "iowait")
MIN_TOTAL_S = 1.0
"""Core-seconds below which nothing is said: the kernel counts in hundredths of a second."""


@dataclass(frozen=True)
class CpuReading:
    """CPU time since boot of the cores in question, core-seconds; ours_s: of our processes, wherever they ran."""

    busy_s: float
    steal_s: float
    total_s: float
    ours_s: float


@dataclass(frozen=True)
class CpuShares:
    """Fractions of the cores' time."""

    busy: float
    steal: float
    others: float


def read_cpu(engine_pid: int, cores: Sequence[int]) -> CpuReading:
    """Return a reading. engine_pid: root of the engine's process tree.  cores: logical CPUs, all if empty."""
    times = psutil.cpu_times(percpu=True)
    if cores and max(cores) < len(times):
        times = [times[core] for core in cores]
    busy, steal, rest = (
        sum(getattr(core, name, 0.0) for core in times for name in names) for names in (_BUSY, _STEAL, _REST)
    )
    return CpuReading(busy, steal, busy + steal + rest, _engine_s(engine_pid) + _own_s())


def _engine_s(pid: int) -> float:
    """Return the CPU time of a process tree, children that have ended included: their parents inherited it."""
    try:
        root = psutil.Process(pid)
        tree = [root, *root.children(recursive=True)]
    except psutil.Error:
        return 0.0
    return sum(_cpu_s(process, ended_children=True) for process in tree)


def _own_s() -> float:
    own = psutil.Process()
    return sum(_cpu_s(process, ended_children=False) for process in (own, *own.parents()))


def _cpu_s(process: psutil.Process, *, ended_children: bool) -> float:
    try:
        times = process.cpu_times()
    except psutil.Error:
        return 0.0
    inherited = times.children_user + times.children_system if ended_children else 0.0
    return times.user + times.system + inherited


def cpu_shares(before: CpuReading, after: CpuReading) -> CpuShares | None:
    """Return the shares between two readings; None where they lie too close together to tell."""
    total_s = after.total_s - before.total_s
    if total_s < MIN_TOTAL_S:
        return None
    busy_s = after.busy_s - before.busy_s
    others_s = max(busy_s - (after.ours_s - before.ours_s), 0.0)
    return CpuShares(busy_s / total_s, (after.steal_s - before.steal_s) / total_s, min(others_s, busy_s) / total_s)
