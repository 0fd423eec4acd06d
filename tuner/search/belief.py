"""What is believed of a curve over the load points of an objective, and what another engine start may bring. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tuner.analysis.prediction import Arc, Fit, ModelError, fit
from tuner.analysis.statistics import expected_gain
from tuner.analysis.steptime import Floats
from tuner.records import Candidate, LoadPoint, Outcome
from tuner.search.curves import Curve, History


@dataclass(frozen=True)
class Belief:
    """Weighted mean of log TPOT over load points, by position in the curve's candidates, as a normal distribution.

    known: positions that were measured; running: positions that run (counted at their prediction).
    """

    curve: Curve
    mean: Floats
    cov: Floats
    known: tuple[int, ...]
    running: tuple[int, ...] = ()

    def sd(self, at: int) -> float:
        """Return the SD at a position."""
        return math.sqrt(max(0.0, float(self.cov[at, at])))


def fitted(
    references: Sequence[Curve], history: History, loads: Sequence[LoadPoint], model: ModelError
) -> dict[str, Fit]:
    """Return the step times fitted to all curves and load points together, by engine arguments."""
    found = {}
    for args_key in dict.fromkeys(curve.args_key for curve in references):
        arcs, baselines = [], {}
        for curve in references:
            if curve.args_key != args_key:
                continue
            for load in loads:
                seen = {c.k: o for c in curve.candidates if (o := history.observed(c, load.key)) is not None}
                if seen:
                    arcs.append(Arc(curve.name, load.key, load.concurrency, seen, curve.ks))
                plain = history.observed(curve.candidates[0].baseline, load.key)
                if plain is not None:
                    baselines[load.key] = (load.concurrency, plain)
        if arcs:
            found[args_key] = fit(arcs, baselines, model)
    return found


def believe(curve: Curve, fits: Mapping[str, Fit], history: History, loads: Sequence[LoadPoint]) -> Belief | None:
    """Return the belief about a curve; None while it was not measured at one of these load points."""
    fit_here = fits.get(curve.args_key)
    if fit_here is None or any((curve.name, load.key) not in fit_here.blocks for load in loads):
        return None
    total = math.fsum(load.weight for load in loads)
    mean, cov = fit_here.belief(curve.name, {load.key: load.weight / total for load in loads})
    at = {c.key: i for i, c in enumerate(curve.candidates)}
    known = tuple(at[c.key] for c in history.of(curve, Outcome.MEASURED))
    running = tuple(at[c.key] for c in history.of(curve, Outcome.RUNNING))
    if running:
        mean, cov = given(mean, cov, running, mean[list(running)], np.full(len(running), 1e-4))
    return Belief(curve, mean, cov, known, running)


def given(mean: Floats, cov: Floats, at: Sequence[int], values: Floats, noise: Floats) -> tuple[Floats, Floats]:
    """Condition a normal distribution on values at some places, whose variances are `noise`.

    One value after another: the same as all at once, and libraries that spread matrices over cores stay out of it.
    """
    for place, value, variance in zip(at, values, noise, strict=True):
        gain = cov[:, place] / (cov[place, place] + variance + 1e-10)
        mean = mean + gain * (value - mean[place])
        cov = cov - np.outer(gain, cov[place])
    return mean, cov


def objective(
    candidate: Candidate, history: History, loads: Sequence[LoadPoint], model: ModelError
) -> tuple[float, float] | None:
    """Return what was measured of a candidate: weighted mean of log TPOT over the load points, and its variance.

    None where one of the load points is missing.
    """
    seen = [(load.weight, o) for load in loads if (o := history.observed(candidate, load.key)) is not None]
    if len(seen) < len(loads):
        return None
    total = math.fsum(weight for weight, _ in seen)
    mean = math.fsum(weight * o.log_tpot for weight, o in seen) / total
    return mean, math.fsum(weight * model.variance(o) for weight, o in seen) / total


@dataclass(frozen=True)
class Best:
    """The best of what was measured: its mean log TPOT and variance, and where it stands (None: a baseline)."""

    mean: float
    variance: float
    candidate: Candidate
    belief: Belief | None = None
    at: int = 0


@dataclass(frozen=True)
class Option:
    """An engine start: expected gain (log TPOT) over the best measured one, and the prediction it rests on."""

    candidate: Candidate
    gain: float
    log_tpot: float
    sd: float


def options(belief: Belief, best: Best, open_: Sequence[Candidate], noise: float) -> list[Option]:
    """Return what starting each of these candidates is expected to gain.

    The gain is E[max(0, best - candidate)] over what the start will show: of the difference's variance s^2 a life
    with noise n tells s^4 / (s^2 + n^2).
    """
    places = {c.key: i for i, c in enumerate(belief.curve.candidates)}
    found = []
    for candidate in open_:
        i = places[candidate.key]
        variance = float(belief.cov[i, i]) + best.variance
        if best.belief is not None and best.belief.curve == belief.curve:
            variance -= 2 * float(belief.cov[i, best.at])
        variance = max(variance, 1e-12)
        told = variance / math.sqrt(variance + noise * noise)
        lead = best.mean - float(belief.mean[i])
        found.append(Option(candidate, expected_gain(lead, told), float(belief.mean[i]), belief.sd(i)))
    return found
