"""Watches the device while a repeat runs, from a thread of its own, so that the load client's loop stays free."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from types import TracebackType

from tuner.engine.device.cpu import CpuReading, CpuShares, cpu_shares, read_cpu
from tuner.engine.device.gpu import GpuReading, Gpus, gpu_load
from tuner.records import DeviceLoad

EVERY_S = 0.5


class DeviceMonitor:
    """Reads a trial's GPUs every half second during a repeat, and the CPU's counters before and after it.

    The CPU's counters are sums, so two readings are enough: looking at every process costs milliseconds, which
    belong outside the repeat. Use it as a context manager: it keeps NVML open.
    """

    def __init__(self, gpu_ids: Sequence[str], engine_pid: int, cores: Sequence[int] = ()) -> None:
        """gpu_ids: see Gpus.  engine_pid, cores: see read_cpu."""
        self._gpus = Gpus(gpu_ids)
        self._engine_pid = engine_pid
        self._cores = cores
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._rounds: list[tuple[GpuReading, ...]] = []
        self._before: CpuReading | None = None

    def __enter__(self) -> DeviceMonitor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._join()
        self._gpus.close()

    def begin(self) -> None:
        """Begin to watch."""
        self._join()
        self._rounds = []
        self._before = read_cpu(self._engine_pid, self._cores)
        if self._gpus.readable:
            self._stop.clear()
            self._thread = threading.Thread(target=self._watch, name="device-monitor", daemon=True)
            self._thread.start()

    def end(self) -> DeviceLoad | None:
        """Stop watching; return what was seen since `begin`, None where nothing could be read."""
        self._join()
        shares = cpu_shares(self._before, read_cpu(self._engine_pid, self._cores)) if self._before else None
        return device_load(self._rounds, shares)

    def _watch(self) -> None:
        while not self._stop.wait(EVERY_S):
            self._rounds.append(self._gpus.read())

    def _join(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None


def device_load(rounds: Sequence[Sequence[GpuReading]], shares: CpuShares | None) -> DeviceLoad | None:
    """Return GPU readings and CPU shares as one record; None where there are neither."""
    load = gpu_load(rounds)
    if shares is None:
        return load
    load = load or DeviceLoad(source="cpu", samples=2)
    return replace(load, cpu_busy=shares.busy, cpu_steal=shares.steal, cpu_others=shares.others)
