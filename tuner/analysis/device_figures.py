"""What the device did during the repeats that count."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tuner.records import DeviceLoad, Figure, Repeat

MEAN, LARGEST, SMALLEST = "mean over repeats", "largest of all repeats", "smallest of all repeats"

_READINGS: Mapping[str, tuple[str, str, Callable[[DeviceLoad], float | None]]] = {
    "gpu_utilisation": ("fraction", MEAN, lambda load: load.gpu_utilisation),
    "gpu_memory_bytes": ("bytes", LARGEST, lambda load: load.gpu_memory_bytes),
    "gpu_clock_mhz": ("MHz", MEAN, lambda load: load.gpu_clock_mhz),
    "gpu_clock_min_mhz": ("MHz", SMALLEST, lambda load: load.gpu_clock_min_mhz),
    "gpu_temperature_c": ("degrees Celsius", LARGEST, lambda load: load.gpu_temperature_c),
    "gpu_power_w": ("W", MEAN, lambda load: load.gpu_power_w),
    "cpu_busy": ("fraction", MEAN, lambda load: load.cpu_busy),
    "cpu_others": ("fraction", LARGEST, lambda load: load.cpu_others),
    "cpu_steal": ("fraction", LARGEST, lambda load: load.cpu_steal),
}


def device_figures(repeats: Sequence[Repeat]) -> dict[str, Figure]:
    """Return the readings that at least one repeat has; what was not read has no figure.

    Utilisation and shares are fractions of 1; see records.DeviceLoad for each.
    """
    loads = [repeat.device for repeat in repeats if repeat.device is not None]
    figures = {}
    for name, (unit, how, reading) in _READINGS.items():
        values = [float(value) for value in map(reading, loads) if value is not None]
        if values:
            value = {MEAN: sum(values) / len(values), LARGEST: max(values), SMALLEST: min(values)}[how]
            figures[name] = Figure(value, unit, how, len(values), "repeats")
    return figures
