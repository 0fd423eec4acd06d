"""Time per output token at every K, from the few that were measured: a mean and how far to trust it. Pure.

log TPOT(K) = log time per step(K) - log tokens per step(K). Tokens per step at smaller K come from a run at a larger
one (`growth_curve`), times per step from the formula of `steptime`, fitted to what was measured (`fitting`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tuner.analysis.arcs import Arc, ModelError
from tuner.analysis.fitting import Fit, fit
from tuner.analysis.growth_curve import growth_curve
from tuner.records import Observed

__all__ = ["Arc", "Fit", "ModelError", "Prediction", "fit", "growth_curve", "predict", "predictions"]


@dataclass(frozen=True)
class Prediction:
    """log TPOT (seconds) at one K with its SD.  measured: whether an engine life at this K is part of it."""

    log_tpot: float
    sd: float
    measured: bool


def predict(
    measured: Mapping[int, Observed],
    baseline: Observed | None,
    ks: Sequence[int],
    model: ModelError,
    concurrency: int = 1,
) -> dict[int, Prediction]:
    """Return the log TPOT of one (draft, engine arguments, load point) at each of `ks`, from that curve alone.

    measured: by K, at least one.  baseline: of the same engine arguments and load point.
    """
    every = tuple(sorted({*ks, *measured}))
    fitted = fit([Arc("", "", concurrency, measured, every)], {"": (concurrency, baseline)} if baseline else {}, model)
    return predictions(fitted, "", "")


def predictions(fitted: Fit, draft: str, load: str) -> dict[int, Prediction]:
    """Return the predictions of one of the arcs that were fitted together."""
    arc = fitted.blocks[draft, load].arc
    mean, cov = fitted.belief(draft, {load: 1.0})
    sds = np.sqrt(np.maximum(0.0, np.diag(cov)))
    return {k: Prediction(float(mean[i]), float(sds[i]), k in arc.measured) for i, k in enumerate(arc.ks)}
