"""What the device did during a repeat."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DeviceLoad:
    """The device and its host during one repeat.

    source: "nvml" where an NVIDIA GPU was read, else "cpu".  samples: how many readings the figures rest on.
    gpu_*: over the trial's own GPUs; None without one. Utilisation and shares are fractions of 1: gpu_utilisation and
    gpu_power_w are means over the readings, gpu_memory_bytes and gpu_temperature_c maxima, gpu_clock_mhz and
    gpu_clock_min_mhz mean and minimum of the SM clock.  throttled: NVML's reasons for a lowered clock, in words,
    idleness left out.  cpu_busy, cpu_steal: shares of the CPU time of the trial's cores.  cpu_others: share that was
    busy with neither this trial's engine nor the tuner.  None where the repeat was too short to tell.
    """

    source: str
    samples: int
    gpu_utilisation: float | None = None
    gpu_memory_bytes: int | None = None
    gpu_clock_mhz: float | None = None
    gpu_clock_min_mhz: float | None = None
    gpu_temperature_c: float | None = None
    gpu_power_w: float | None = None
    throttled: tuple[str, ...] = ()
    cpu_busy: float | None = None
    cpu_steal: float | None = None
    cpu_others: float | None = None
