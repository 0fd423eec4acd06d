"""A larger or a smaller gpu_memory_utilization. Pure."""

from __future__ import annotations

import math

from tuner.engine.failures.cause import Told

HIGHEST_SHARE = 0.95
"""No retry asks for more of a device: CUDA graphs and the driver live outside the share."""
LOWEST_SHARE = 0.05
SHARE_STEP = 0.05
"""What the share moves by where the log has no numbers."""
SHARE_MARGIN = 0.01


def round_down(share: float) -> float:
    """Return a share in whole hundredths, not above `share`."""
    return math.floor(share * 100 + 1e-6) / 100


def lowered(what: str, new: float, old: float | None) -> Told:
    """Return the sentence with a smaller share; without it where that is none.  old: None where it is not known."""
    if new < LOWEST_SHARE or (old is not None and new >= old):
        return Told(what)
    advice = f"Lower gpu_memory_utilization to {new:g}, or end what else uses the memory."
    return Told(what, advice, {"gpu_memory_utilization": new})


def raised(what: str, share: float | None, step: float) -> Told:
    """Return the sentence with a share that is larger by `step`; without one where no device has so much."""
    if share is None or not math.isfinite(step):
        return Told(what)
    new = math.ceil(round((share + step) * 100, 6)) / 100
    if new > HIGHEST_SHARE:
        new = HIGHEST_SHARE if share + SHARE_STEP <= HIGHEST_SHARE and step == SHARE_STEP else 0.0
    if new <= share:
        return Told(what, "Use a smaller or quantised draft or target, or more GPUs (tensor_parallel_size).")
    advice = f"Raise gpu_memory_utilization to {new:g}, or use a smaller draft or more GPUs (tensor_parallel_size)."
    return Told(what, advice, {"gpu_memory_utilization": new})
