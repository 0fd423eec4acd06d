"""Time per output token at every K, from the few that were measured: a mean and how far to trust it. Pure.

log TPOT(K) = log time per step(K) - log tokens per step(K). Tokens per step at smaller K come from a run at a larger
one (`Growth`), times per step from the possible curves of `steptime`, weighted by how well they agree with what was
measured (Bayesian model averaging; the deviations from them are a Gaussian process, conditioned in closed form).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tuner.analysis import steptime
from tuner.analysis.steptime import Floats
from tuner.records import Growth, GrowthSource, Observed

GROWTH_SD: Mapping[GrowthSource, float] = {
    GrowthSource.REPLAY: 0.005,
    GrowthSource.PROMPTS: 0.015,
    GrowthSource.POOLED: 0.05,
    GrowthSource.NONE: 0.05,
}
"""Log SD of tokens per step at K = 1, told from a run at a large K."""
_ACCEPTANCES = (0.05, 0.2, 0.4, 0.55, 0.68, 0.78, 0.86, 0.92, 0.96)
_UNKNOWN_LEVEL_SD = 3.0
_IMPOSSIBLE_SCALE = 6.0
_NOISE_FLOOR = 1e-4


@dataclass(frozen=True)
class ModelError:
    """How far figures stray.

    life_sd: log SD between two lives of one engine.  repeat_sd: standard error of an engine life's mean where it has
    none of its own.  scale: factor on the deviation of step times from a smooth curve.
    """

    life_sd: float = 0.01
    repeat_sd: float = 0.015
    scale: float = 1.0

    def variance(self, observed: Observed) -> float:
        """Return the variance of one engine life's log TPOT about that of the candidate."""
        se = self.repeat_sd if observed.se is None else observed.se
        return self.life_sd**2 + se**2 + _NOISE_FLOOR**2


@dataclass(frozen=True)
class Prediction:
    """log TPOT (seconds) at one K with its SD.  measured: whether an engine life at this K is part of it."""

    log_tpot: float
    sd: float
    measured: bool


@dataclass(frozen=True)
class Posterior:
    """What is known of one curve: log TPOT at `ks` as a normal distribution.

    impossible: why the measured times cannot be one engine's ("" if they can): then the SDs are wide.
    growth: what acceptance at unmeasured K was told from.
    """

    ks: tuple[int, ...]
    mean: Floats
    cov: Floats
    impossible: str = ""
    growth: GrowthSource = GrowthSource.NONE


def predict(
    measured: Mapping[int, Observed],
    baseline: Observed | None,
    ks: Sequence[int],
    model: ModelError,
    concurrency: int = 1,
) -> dict[int, Prediction]:
    """Return the log TPOT of one (draft, engine arguments, load point) at each of `ks`.

    measured: by K, at least one.  baseline: of the same engine arguments and load point.
    """
    found = posterior(measured, baseline, ks, model, concurrency)
    sds = np.sqrt(np.maximum(0.0, np.diag(found.cov)))
    return {k: Prediction(float(found.mean[i]), float(sds[i]), k in measured) for i, k in enumerate(found.ks)}


def posterior(
    measured: Mapping[int, Observed],
    baseline: Observed | None,
    ks: Sequence[int],
    model: ModelError,
    concurrency: int = 1,
) -> Posterior:
    """Return the joint distribution of log TPOT at `ks` (sorted; those measured included); arguments as `predict`."""
    every = tuple(sorted({*ks, *measured}))
    growth, reference = _growth(measured)
    logs, cov = growth_curve(growth, reference, every)
    hypotheses = _hypotheses(every, concurrency, growth.source is GrowthSource.NONE)
    known = sorted(measured)
    at = np.asarray([every.index(k) for k in known])
    times = np.asarray([measured[k].log_tpot for k in known]) + logs[at]
    noise = np.asarray([model.variance(measured[k]) for k in known])
    why = ""
    if growth.source is not GrowthSource.NONE:
        by_k = dict(zip(known, times.tolist(), strict=True))
        why = steptime.impossible(by_k, baseline.log_tpot if baseline else None, float(np.sqrt(noise.max())))
    scale = model.scale * (_IMPOSSIBLE_SCALE if why else 1.0)
    level = (baseline.log_tpot + steptime.LEVEL, steptime.LEVEL_SD) if baseline else (times[0], _UNKNOWN_LEVEL_SD)
    mean, spread = _mixed(hypotheses, level, cov, scale, (every, at, times, noise))
    return Posterior(every, mean - logs, spread, why, growth.source)


def _growth(measured: Mapping[int, Observed]) -> tuple[Growth, int]:
    """Return the growth that reaches farthest, and the K of its run."""
    found = [(len(o.growth.logs), k) for k, o in measured.items() if o.growth.source is not GrowthSource.NONE]
    if not found:
        return Growth(), 0
    _, k = max(found)
    return measured[k].growth, k


def growth_curve(growth: Growth, reference: int, ks: Sequence[int]) -> tuple[Floats, Floats]:
    """Return log tokens per step at `ks` and the covariance of its error, relative to that at the run's own K.

    Below the run's K the error grows towards K = 1 like a random walk; above it each further token is taken to bring as
    much less as the last one did, and half of what that adds is in doubt.
    """
    k = np.asarray(ks, dtype=float)
    if growth.source is GrowthSource.NONE or not growth.logs:
        return np.zeros(len(k)), np.zeros((len(k), len(k)))
    top = len(growth.logs)
    logs = np.asarray(_extended(growth.logs, max(ks)))[np.asarray(ks) - 1]
    below = np.maximum(0.0, top - k) / max(top - 1, 1)
    walk = GROWTH_SD[growth.source] ** 2 * np.minimum(below[:, None], below[None, :])
    doubt = np.where(k > top, 0.5 * (logs - growth.logs[-1]) + 0.005 * (k - top), 0.0)
    return logs, np.asarray(walk + doubt[:, None] * doubt[None, :])


def _extended(logs: Sequence[float], up_to: int) -> list[float]:
    tokens = [1.0, *(math.exp(value) for value in logs)]
    while len(tokens) <= up_to:
        last = tokens[-1] - tokens[-2]
        before = tokens[-2] - tokens[-3] if len(tokens) > 2 else 1.0
        ratio = min(1.0, max(0.0, last / before)) if before > 0 else 0.0
        tokens.append(tokens[-1] + max(0.0, last) * ratio)
    return [math.log(value) for value in tokens[1:]]


@lru_cache(maxsize=64)
def _hypotheses(ks: tuple[int, ...], concurrency: int, acceptance_unknown: bool) -> steptime.Shapes:
    """Return the curves of step time, or of TPOT over its level where tokens per step do not follow from a run."""
    times = steptime.shapes(ks, concurrency)
    if not acceptance_unknown:
        return times
    k = np.asarray(ks, dtype=float)
    rates = np.asarray(_ACCEPTANCES)[:, None]
    tokens = np.log((1 - rates ** (k + 1)) / (1 - rates))
    logs = (times.logs[:, None, :] - tokens[None, :, :]).reshape(-1, len(k))
    return steptime.Shapes(logs, np.repeat(times.log_prior, len(rates)) - np.log(len(rates)))


Data = tuple[tuple[int, ...], "np.ndarray[tuple[int], np.dtype[np.intp]]", Floats, Floats]


def _mixed(
    hypotheses: steptime.Shapes, level: tuple[float, float], growth_cov: Floats, scale: float, data: Data
) -> tuple[Floats, Floats]:
    """Return mean and covariance of the log times at every K, over all curves and scales of deviation."""
    ks, at, values, noise = data
    weights, means, covs = [], [], []
    for factor, log_weight in steptime.scale_priors():
        prior = steptime.deviation(ks, scale * factor) + level[1] ** 2 + growth_cov
        gain = prior[:, at]
        lower = np.linalg.cholesky(prior[np.ix_(at, at)] + np.diag(noise))
        solved = np.linalg.solve(lower, gain.T)
        residual = values[None, :] - hypotheses.logs[:, at] - level[0]
        white = np.linalg.solve(lower, residual.T)
        fit = -0.5 * (white**2).sum(axis=0) - np.log(np.diag(lower)).sum()
        weights.append(hypotheses.log_prior + log_weight + fit)
        means.append(hypotheses.logs + level[0] + white.T @ solved)
        covs.append(prior - solved.T @ solved)
    log_weights = np.concatenate(weights)
    share = np.exp(log_weights - log_weights.max())
    share /= share.sum()
    every = np.concatenate(means)
    mean = share @ every
    off = every - mean
    count = len(hypotheses.log_prior)
    cov = (off * share[:, None]).T @ off
    for i, part in enumerate(covs):
        cov = cov + share[i * count : (i + 1) * count].sum() * part
    return mean, cov
