"""What NVML says about a trial's own GPUs at one moment, and over a repeat."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tuner.engine.gpu_memory import gpu_handle
from tuner.records import DeviceLoad

T = TypeVar("T")

# NVML's bits (nvmlClocksEventReason...), without those that say nothing about a slower clock: 0x1 is idleness, 0x2 a
# clock that someone set, 0x100 a display.
POWER_CAP = "software power cap"
REASONS = {
    0x4: POWER_CAP,
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "hardware power brake",
}
SLOWDOWNS = frozenset(REASONS[bit] for bit in (0x8, 0x20, 0x40, 0x80))


@dataclass(frozen=True)
class GpuReading:
    """One GPU at one moment; None where NVML does not tell.  utilisation: fraction.  reasons: NVML's bits."""

    utilisation: float | None = None
    memory_bytes: int | None = None
    clock_mhz: float | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    reasons: int | None = None


class Gpus:
    """NVML kept open for some GPUs. Without NVML, or with GPUs that it does not know, there is nothing to read."""

    def __init__(self, gpu_ids: Sequence[str]) -> None:
        """gpu_ids: NVML indices or UUIDs, of MIG slices too."""
        self._handles: list[tuple[Any, Any]] = []
        self._open = False
        if gpu_ids:
            self._initialise(gpu_ids)

    def _initialise(self, gpu_ids: Sequence[str]) -> None:
        import pynvml

        try:
            pynvml.nvmlInit()
        except pynvml.NVMLError:
            return
        self._open = True
        try:
            self._handles = [_with_card(gpu_id) for gpu_id in gpu_ids]
        except pynvml.NVMLError:
            self._handles = []  # Half of a trial's GPUs would not be the trial's device.

    @property
    def readable(self) -> bool:
        """Whether there is anything to read."""
        return bool(self._handles)

    def read(self) -> tuple[GpuReading, ...]:
        """Return a reading of each GPU; () where there is nothing to read."""
        return tuple(_reading(part, card) for part, card in self._handles)

    def close(self) -> None:
        """Let NVML go."""
        if self._open:
            import pynvml

            self._open, self._handles = False, []
            _told(pynvml.nvmlShutdown)


def _with_card(gpu_id: str) -> tuple[Any, Any]:
    """Return the handle of a GPU or MIG slice, and that of the card it is on, whose clock and temperature it shares."""
    import pynvml

    handle = gpu_handle(gpu_id)
    card = pynvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(handle) if gpu_id.startswith("MIG-") else handle
    return handle, card


def _reading(part: Any, card: Any) -> GpuReading:
    import pynvml

    power_mw = _told(lambda: pynvml.nvmlDeviceGetPowerUsage(card))
    percent = _told(lambda: pynvml.nvmlDeviceGetUtilizationRates(part).gpu)
    return GpuReading(
        utilisation=None if percent is None else percent / 100,
        memory_bytes=_told(lambda: int(pynvml.nvmlDeviceGetMemoryInfo(part).used)),
        clock_mhz=_told(lambda: float(pynvml.nvmlDeviceGetClockInfo(card, pynvml.NVML_CLOCK_SM))),
        temperature_c=_told(lambda: float(pynvml.nvmlDeviceGetTemperature(card, pynvml.NVML_TEMPERATURE_GPU))),
        power_w=None if power_mw is None else power_mw / 1000,
        reasons=_reasons(card),
    )


def _reasons(card: Any) -> int | None:
    import pynvml

    bits = _told(lambda: int(pynvml.nvmlDeviceGetCurrentClocksEventReasons(card)))
    if bits is None:  # Drivers before 535 know the older name only.
        bits = _told(lambda: int(pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(card)))
    return bits


def _told(ask: Callable[[], T]) -> T | None:
    import pynvml

    try:
        return ask()
    except pynvml.NVMLError:
        return None


def gpu_load(rounds: Sequence[Sequence[GpuReading]]) -> DeviceLoad | None:
    """Return what several readings of all GPUs say together; None without any.

    Clocks are taken over the readings in which a GPU worked: an idle one lowers its clock by itself.
    """
    readings = [reading for round_ in rounds for reading in round_]
    if not readings:
        return None
    clocks = _known(reading.clock_mhz for reading in readings if reading.utilisation != 0)
    bits = {bit for reading in readings for bit in REASONS if (reading.reasons or 0) & bit}
    return DeviceLoad(
        source="nvml",
        samples=len(rounds),
        gpu_utilisation=_mean(reading.utilisation for reading in readings),
        gpu_memory_bytes=max(_known(reading.memory_bytes for reading in readings), default=None),
        gpu_clock_mhz=_mean(clocks),
        gpu_clock_min_mhz=min(clocks, default=None),
        gpu_temperature_c=max(_known(reading.temperature_c for reading in readings), default=None),
        gpu_power_w=_mean(reading.power_w for reading in readings),
        throttled=tuple(REASONS[bit] for bit in sorted(bits)),
    )


def _known(values: Iterable[T | None]) -> list[T]:
    return [value for value in values if value is not None]


def _mean(values: Iterable[float | None]) -> float | None:
    known = _known(values)
    return statistics.fmean(known) if known else None
