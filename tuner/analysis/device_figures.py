"""What the device did during the repeats that count."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tuner.analysis.metric_table import DEVICE, LARGEST, MEAN, SMALLEST
from tuner.records import DeviceLoad, Figure, Repeat

_READINGS: Mapping[str, Callable[[DeviceLoad], float | None]] = {
    "gpu_utilisation": lambda load: load.gpu_utilisation,
    "gpu_memory_bytes": lambda load: load.gpu_memory_bytes,
    "gpu_clock_mhz": lambda load: load.gpu_clock_mhz,
    "gpu_clock_min_mhz": lambda load: load.gpu_clock_min_mhz,
    "gpu_temperature_c": lambda load: load.gpu_temperature_c,
    "gpu_power_w": lambda load: load.gpu_power_w,
    "cpu_busy": lambda load: load.cpu_busy,
    "cpu_others": lambda load: load.cpu_others,
    "cpu_steal": lambda load: load.cpu_steal,
}


def device_figures(repeats: Sequence[Repeat]) -> dict[str, Figure]:
    """Return the readings that at least one repeat has; what was not read has no figure.

    Utilisation and shares are fractions of 1; see records.DeviceLoad for each.
    """
    loads = [repeat.device for repeat in repeats if repeat.device is not None]
    figures = {}
    for name, reading in _READINGS.items():
        values = [float(value) for value in map(reading, loads) if value is not None]
        if values:
            unit, how = DEVICE[name].unit, DEVICE[name].estimator
            value = {MEAN: sum(values) / len(values), LARGEST: max(values), SMALLEST: min(values)}[how]
            figures[name] = Figure(value, unit, how, len(values), "repeats")
    return figures
