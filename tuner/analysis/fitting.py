"""The formula of `steptime` fitted to all curves and baselines of one target and one set of engine arguments. Pure.

For each structure (padding and bend) Gauss-Newton finds the most probable parameters; Laplace's approximation weighs
them. A curve's deviation from the formula is a Gaussian process over K, conditioned on its own measured K in
closed form; how large deviations are is weighed too, so that a curve that contradicts the formula widens all beliefs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tuner.analysis import steptime
from tuner.analysis.arcs import Arc, Block, ModelError, block
from tuner.analysis.steptime import DRAFTS, Floats, Rows, Structure
from tuner.records import Observed

PLAIN_SD = 0.01
"""Log SD of a baseline's deviation from the formula."""
SCALES = ((0.5, 0.3), (1.0, 0.4), (2.0, 0.17), (4.0, 0.09), (10.0, 0.04))
"""How much larger deviations may be than assumed, and how likely that is before anything was measured."""
SHARED = 0.5
"""How far deviations at one load point are those at another."""
_ITERATIONS, _LONGEST, _CONVERGED = 10, 1.0, 1e-3


@dataclass(frozen=True)
class Fit:
    """The formula fitted: for each structure parameters, and at each scale of the deviations their weight.

    logs: (structures, parameters).  weights: (scales, structures), in all 1.  covs: (scales, structures, p, p).
    """

    blocks: Mapping[tuple[str, str], Block]
    structures: Sequence[Structure]
    drafts: Sequence[str]
    logs: Floats
    weights: Floats
    covs: Floats
    scale: float = 1.0

    def belief(self, draft: str, shares: Mapping[str, float]) -> tuple[Floats, Floats]:
        """Return mean and covariance over the draft's K of the weighted mean of log TPOT over load points.

        shares: by load point, in all 1.
        """
        parts = [self._at_scale(draft, shares, number) for number in range(len(SCALES))]
        weights = self.weights.ravel()
        means = np.concatenate([mean for mean, _ in parts])
        mean = weights @ means
        off = means - mean
        within = np.einsum("s,sij->ij", weights, np.concatenate([cov for _, cov in parts]))
        return mean, np.asarray((off * weights[:, None]).T @ off + within)

    def _at_scale(self, draft: str, shares: Mapping[str, float], number: int) -> tuple[Floats, Floats]:
        """Return means (structures, K) and covariances (structures, K, K) at one scale of the deviations."""
        loads = [
            (share, self._conditioned(self.blocks[draft, load], SCALES[number][0])) for load, share in shares.items()
        ]
        mean = sum((share * means for share, (means, _, _) in loads), np.zeros(1))
        slopes = sum((share * each for share, (_, each, _) in loads), np.zeros(1))
        rest = sum(((SHARED * w + (1 - SHARED) * w * w) * left for w, (_, _, left) in loads), np.zeros(1))
        return mean, slopes @ self.covs[number] @ np.swapaxes(slopes, 1, 2) + rest

    def _conditioned(self, one: Block, scale: float) -> tuple[Floats, Floats, Floats]:
        """Return log TPOT (structures, K), its slopes in the parameters, and the covariance of the deviation left."""
        logs, slopes = _formula(self.logs, _rows(one.arc, self.drafts), self.structures)
        prior = one.prior(scale * self.scale)
        solve = np.linalg.solve(one.noisy(prior), prior[one.at, :]).T
        residual = one.times[None, :] - logs[:, one.at]
        mean = logs + residual @ solve.T - one.logs[None, :]
        return (
            mean,
            slopes - np.einsum("kn,snp->skp", solve, slopes[:, one.at, :]),
            prior - solve @ prior[one.at, :],
        )


def fit(arcs: Sequence[Arc], baselines: Mapping[str, tuple[int, Observed]], model: ModelError) -> Fit:
    """Fit the formula to curves and baselines of one target and one set of engine arguments.

    baselines: concurrency and figures by load point; may be empty.
    """
    loads = Counter(a.draft for a in arcs)
    drafts = tuple(loads)
    blocks = {
        (a.draft, a.load): block(a, baselines[a.load][1] if a.load in baselines else None, model, loads[a.draft])
        for a in arcs
    }
    concurrency = np.asarray([c for c, _ in baselines.values()], dtype=float)
    plain = Rows(concurrency, np.zeros(len(baselines)), np.full(len(baselines), -1))
    parts = [(plain, None), *((_rows(b.arc, drafts), b) for b in blocks.values())]
    every = Rows(*(np.concatenate([getattr(rows, n) for rows, _ in parts]) for n in ("concurrency", "k", "draft")))
    found = steptime.structures(every)
    centre = _centres(found, blocks, baselines, len(drafts))
    data = _Data(
        parts,
        np.asarray([o.log_tpot for _, o in baselines.values()]),
        [model.variance(o) for _, o in baselines.values()],
    )
    logs = _climb(centre, data, found, model.scale)
    evidence, covs = [], []
    for scale, share in SCALES:
        value, cov = _evidence(logs, centre, data, found, scale * model.scale)
        evidence.append(value + math.log(share) + np.asarray([s.log_prior for s in found]))
        covs.append(cov)
    weights = np.asarray(evidence)
    weights = np.exp(weights - weights.max())
    return Fit(blocks, found, drafts, logs, weights / weights.sum(), np.asarray(covs), model.scale)


@dataclass(frozen=True)
class _Data:
    """The steps of the baselines and of each arc, with the baselines' log times and variances."""

    parts: Sequence[tuple[Rows, Block | None]]
    plain: Floats
    plain_noise: Sequence[float]


def _rows(arc: Arc, drafts: Sequence[str]) -> Rows:
    count = len(arc.ks)
    return Rows(
        np.full(count, float(arc.concurrency)),
        np.asarray(arc.ks, dtype=float),
        np.full(count, drafts.index(arc.draft)),
    )


def _formula(logs: Floats, rows: Rows, found: Sequence[Structure]) -> tuple[Floats, Floats]:
    tokens = rows.concurrency * (rows.k + 1)
    by_padding = {name: steptime.padded(tokens, name) for name in dict.fromkeys(s.padding for s in found)}
    return steptime.log_times(logs, rows, np.asarray([by_padding[s.padding] for s in found]))


def _centres(
    found: Sequence[Structure],
    blocks: Mapping[tuple[str, str], Block],
    baselines: Mapping[str, tuple[int, Observed]],
    drafts: int,
) -> Floats:
    """Return the prior means of the parameters, (structures, parameters)."""
    lowest = [o.log_tpot for _, o in baselines.values()] or [float(b.times.min()) for b in blocks.values()]
    centre = [mean for mean, _ in steptime.PRIOR] + [steptime.DRAFT_PRIOR[0]] * drafts
    table = np.tile(np.asarray(centre), (len(found), 1))
    table[:, steptime.STEP] = min(lowest)
    table[:, steptime.BEND] = np.log([s.bend for s in found])
    return table


def _precision(count: int) -> Floats:
    sds = [sd for _, sd in steptime.PRIOR] + [steptime.DRAFT_PRIOR[1]] * (count - DRAFTS)
    return np.diag(1.0 / np.asarray(sds) ** 2)


def _whitened(logs: Floats, data: _Data, found: Sequence[Structure], scale: float) -> tuple[Floats, Floats, float]:
    """Return residuals and slopes in units of their SD, and the log determinant of those SDs."""
    residuals, slopes, log_det = [], [], 0.0
    for rows, one in data.parts:
        if not rows.k.size:
            continue
        logs_here, slopes_here = _formula(logs, rows, found)
        if one is None:
            sds = np.sqrt(np.asarray(data.plain_noise) + (scale * PLAIN_SD) ** 2)
            residuals.append((data.plain[None, :] - logs_here) / sds)
            slopes.append(slopes_here / sds[None, :, None])
            log_det += float(np.log(sds).sum())
            continue
        lower = np.linalg.cholesky(one.noisy(one.prior(scale)))
        inverse = np.linalg.inv(lower)
        residuals.append((one.times[None, :] - logs_here[:, one.at]) @ inverse.T)
        slopes.append(np.einsum("ij,sjp->sip", inverse, slopes_here[:, one.at, :]))
        log_det += float(np.log(np.diag(lower)).sum())
    return np.concatenate(residuals, axis=1), np.concatenate(slopes, axis=1), log_det


def _climb(centre: Floats, data: _Data, found: Sequence[Structure], scale: float) -> Floats:
    """Return the most probable parameters of each structure: Gauss-Newton with steps of at most _LONGEST."""
    precision = _precision(centre.shape[1])
    logs = centre.copy()
    for _ in range(_ITERATIONS):
        residual, slopes, _ = _whitened(logs, data, found, scale)
        hessian = np.swapaxes(slopes, 1, 2) @ slopes + precision
        pull = np.einsum("snp,sn->sp", slopes, residual) - (logs - centre) @ precision
        step = np.linalg.solve(hessian, pull[..., None])[..., 0]
        longest = np.abs(step).max(axis=1, keepdims=True)
        logs = logs + step * np.minimum(1.0, _LONGEST / np.maximum(longest, 1e-12))
        if longest.max() < _CONVERGED:
            break
    return logs


def _evidence(
    logs: Floats, centre: Floats, data: _Data, found: Sequence[Structure], scale: float
) -> tuple[Floats, Floats]:
    """Return the log evidence of each structure (Laplace) and the covariance of its parameters."""
    precision = _precision(centre.shape[1])
    residual, slopes, log_det = _whitened(logs, data, found, scale)
    hessian = np.swapaxes(slopes, 1, 2) @ slopes + precision
    pull = np.einsum("snp,sn->sp", slopes, residual) - (logs - centre) @ precision
    covs = np.linalg.inv(hessian)
    off = logs - centre
    misfit = (residual**2).sum(axis=1) + np.einsum("sp,pq,sq->s", off, precision, off)
    misfit -= np.einsum("sp,spq,sq->s", pull, covs, pull)
    return -0.5 * misfit - log_det - 0.5 * np.linalg.slogdet(hessian)[1], np.asarray(covs)
