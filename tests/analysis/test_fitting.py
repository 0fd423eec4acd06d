from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tuner.analysis.arcs import Arc, ModelError
from tuner.analysis.fitting import SCALES, Fit, fit
from tuner.records import Growth, GrowthSource, Observed

KS = tuple(range(1, 9))
GROWTH = Growth(tuple(math.log(1 + 0.7 * k) for k in KS), GrowthSource.REPLAY, 9)


def fitted(step: Callable[[int, int], float], ks: tuple[int, ...] = KS) -> Fit:
    """step: relative time of a step by concurrency and K."""
    arcs, baselines = [], {}
    for c in (1, 8, 32):
        runs = {k: Observed(math.log(0.01 * step(c, k)) - GROWTH.logs[k - 1], 0.003, GROWTH) for k in ks}
        arcs.append(Arc("d", f"c{c}", c, runs, KS))
        baselines[f"c{c}"] = (c, Observed(math.log(0.01 * step(c, 0)), 0.003))
    return fit(arcs, baselines, ModelError(life_sd=0.002))


def share(found: Fit, padding: str) -> float:
    weights = found.weights.sum(axis=0)
    return float(sum(w for w, s in zip(weights, found.structures, strict=True) if s.padding == padding))


def power(n: int) -> int:
    return 1 << (n - 1).bit_length()


def test_padding_is_told_from_the_times() -> None:
    padded = fitted(lambda c, k: 1 + 0.01 * power(c * (k + 1)) + 0.03 * k)
    smooth = fitted(lambda c, k: 1 + 0.01 * c * (k + 1) + 0.03 * k)
    assert share(padded, "powers of two") > 0.99
    assert share(smooth, "powers of two") < 0.01


def test_a_bend_is_told_from_the_times() -> None:
    found = fitted(lambda c, k: max(1.0, c * (k + 1) / 64) + 0.05 + 0.03 * k)
    near = [w for w, s in zip(found.weights.sum(axis=0), found.structures, strict=True) if 32 <= s.bend <= 128]
    assert sum(near) > 0.95


def test_weights_are_shares() -> None:
    found = fitted(lambda c, k: 1 + 0.05 * k, (3, 8))
    assert found.weights.shape == (len(SCALES), len(found.structures))
    assert found.weights.sum() == pytest.approx(1.0)


def test_erratic_times_are_taken_for_large_deviations() -> None:
    erratic = fitted(lambda c, k: (1 + 0.05 * k) * 1.12 ** ((k > 2) + (k > 5) + (k > 6)))
    calm = fitted(lambda c, k: 1 + 0.05 * k)
    large = [i for i, (scale, _) in enumerate(SCALES) if scale >= 2]
    assert erratic.weights[large].sum() > 0.9 > 0.2 > calm.weights[large].sum()


def test_covariances_are_covariances() -> None:
    mean, cov = fitted(lambda c, k: 1 + 0.05 * k, (3, 8)).belief("d", {"c1": 0.5, "c32": 0.5})
    assert mean.shape == (8,) and np.allclose(cov, cov.T)
    assert (np.linalg.eigvalsh(cov) > 0).all()


def test_it_fits_without_baselines() -> None:
    runs = {k: Observed(math.log(0.01 * (1 + 0.05 * k)) - GROWTH.logs[k - 1], 0.003, GROWTH) for k in (2, 8)}
    mean, _ = fit([Arc("d", "l", 1, runs, KS)], {}, ModelError()).belief("d", {"l": 1.0})
    assert mean[4] == pytest.approx(math.log(0.01 * 1.25) - GROWTH.logs[4], abs=0.03)


def test_doubt_about_the_parameters_is_doubt_about_the_times() -> None:
    found = fitted(lambda c, k: 1 + 0.05 * k, (8,))
    certain = replace(found, covs=0 * found.covs)
    doubts = [one.belief("d", {"c8": 1.0})[1][2, 2] for one in (found, certain)]
    assert doubts[0] > 1.5 * doubts[1]
