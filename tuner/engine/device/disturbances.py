"""When a repeat was measured on a device that was not what it usually is. Pure.

Only what no arm of a comparison causes by itself is a disturbance. A software power cap is none: it is how a
data-centre GPU normally runs under load. It shows as a lower clock, and counts only where the clock is lower than in
the load point's other repeats. The limits are coarse on purpose: what disturbs less than they do shows in the spread of
the repeats, which is measured.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace

from tuner.engine.device.gpu import SLOWDOWNS
from tuner.records import DeviceLoad, Repeat

CLOCK_DROP = 0.10
STEAL = 0.05
OTHERS = 0.10


def disturbances(load: DeviceLoad, usual: Sequence[DeviceLoad]) -> tuple[str, ...]:
    """Return, in words, what made the device other than usual during a repeat; empty if nothing did.

    usual: what the device did in the other repeats of the load point.
    """
    found = [f"the GPU slowed down: {reason}" for reason in load.throttled if reason in SLOWDOWNS]
    clocks = [other.gpu_clock_min_mhz for other in usual if other.gpu_clock_min_mhz is not None]
    if clocks and load.gpu_clock_min_mhz is not None:
        usual_mhz = statistics.median(clocks)
        if load.gpu_clock_min_mhz < (1 - CLOCK_DROP) * usual_mhz:
            found.append(f"the GPU's clock fell to {load.gpu_clock_min_mhz:.0f} MHz, usually {usual_mhz:.0f} MHz")
    if load.cpu_steal is not None and load.cpu_steal > STEAL:
        found.append(f"the hypervisor took {load.cpu_steal:.0%} of the CPU time")
    if load.cpu_others is not None and load.cpu_others > OTHERS:
        found.append(f"other processes used {load.cpu_others:.0%} of the CPU time")
    return tuple(found)


def with_disturbances(repeats: Sequence[Repeat]) -> tuple[Repeat, ...]:
    """Return the repeats of one load point, each with what disturbed it as far as the others show."""
    judged = []
    for repeat in repeats:
        usual = [other.device for other in repeats if other is not repeat and other.device is not None]
        found = disturbances(repeat.device, usual) if repeat.device is not None else ()
        judged.append(replace(repeat, disturbances=found))
    return tuple(judged)
