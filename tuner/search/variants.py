"""Other engine arguments and options of a draft, searched around the best K that the first set showed. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tuner.analysis.prediction import ModelError
from tuner.analysis.steptime import Floats
from tuner.records import Candidate, Json, LoadPoint, Outcome, canonical_json
from tuner.search.belief import Belief, given, objective
from tuner.search.curves import Curve, History

SET_SD, SET_WEIGHT = 0.05, 2.0
"""Log SD of TPOT between two sets of arguments, and how many measured sets that assumption weighs."""
K_SD, K_LENGTH = 0.02, 3.0
"""Log SD of what a set does to one K and not to others, and over how many K that is alike."""


def around(
    reference: Belief, others: Sequence[Curve], history: History, loads: Sequence[LoadPoint], model: ModelError
) -> list[Belief]:
    """Return the belief about each other curve of the reference's family.

    Each is the reference's curve, shifted as a whole and a little by K. Shifts of sets that share values are alike:
    half of their variance belongs to the single arguments and options, in equal parts.
    """
    nodes = [(curve, i) for curve in others for i in range(len(curve.candidates))]
    if not nodes:
        return []
    places = [_place(reference, curve.ks[i]) for curve, i in nodes]
    mean = reference.mean[places]
    base = reference.cov[np.ix_(places, places)]
    seen, values, noise = [], [], []
    for at, (curve, i) in enumerate(nodes):
        found = objective(curve.candidates[i], history, loads, model)
        if found is not None:
            seen.append(at)
            values.append(found[0])
            noise.append(found[1])
    cov = base + _shifts(nodes, reference.curve, _set_variance(np.asarray(values) - mean[seen]))
    if seen:
        mean, cov = given(mean, cov, seen, np.asarray(values), np.asarray(noise))
    running = [i for i, node in enumerate(nodes) if _outcome(history, node) is Outcome.RUNNING]
    if running:
        mean, cov = given(mean, cov, running, mean[running], np.full(len(running), model.life_sd**2))
    return [_part(curve, nodes, mean, cov, history) for curve in others]


def _place(reference: Belief, k: int) -> int:
    return min(range(len(reference.curve.ks)), key=lambda i: (abs(reference.curve.ks[i] - k), i))


def _outcome(history: History, node: tuple[Curve, int]) -> Outcome | None:
    return history.outcomes.get(node[0].candidates[node[1]].key)


def _set_variance(shifts: Floats) -> float:
    return float((SET_WEIGHT * SET_SD**2 + (shifts**2).sum()) / (SET_WEIGHT + len(shifts)))


def _shifts(nodes: Sequence[tuple[Curve, int]], reference: Curve, variance: float) -> Floats:
    """Return the covariance of the nodes' shifts against the reference."""
    sets = {id(curve): _values(curve.candidates[0]) for curve in {id(curve): curve for curve, _ in nodes}.values()}
    first = _values(reference.candidates[0])
    every = [first, *(sets[id(curve)] for curve, _ in nodes)]
    names = sorted({name for values in every for name in values})
    table = np.asarray([[values.get(name, "") for name in names] for values in every])
    varying = (table != table[0]).any(axis=0)
    table = table[:, varying] if varying.any() else table[:, :1]
    alike = (table[:, None, :] == table[None, :, :]).mean(axis=2)
    same = (alike == 1.0).astype(float)
    kernel = variance * (0.5 * alike + 0.5 * same)
    shift = kernel[1:, 1:] - kernel[1:, :1] - kernel[:1, 1:] + kernel[0, 0]
    k = np.asarray([curve.ks[i] for curve, i in nodes], dtype=float)
    by_k = K_SD**2 * np.exp(-np.abs(k[:, None] - k[None, :]) / K_LENGTH)
    return np.asarray(shift + same[1:, 1:] * by_k)


def _values(candidate: Candidate) -> dict[str, str]:
    spec = candidate.speculation
    options: Mapping[str, Json] = spec.options if spec else {}
    named = {
        **{f"engine {k}": v for k, v in candidate.engine_args.items()},
        **{f"option {k}": v for k, v in options.items()},
    }
    return {name: canonical_json(value) for name, value in named.items()}


def _part(curve: Curve, nodes: Sequence[tuple[Curve, int]], mean: Floats, cov: Floats, history: History) -> Belief:
    at = [i for i, (other, _) in enumerate(nodes) if other is curve]
    known = tuple(i for i in range(len(at)) if _outcome(history, nodes[at[i]]) is Outcome.MEASURED)
    running = tuple(i for i in range(len(at)) if _outcome(history, nodes[at[i]]) is Outcome.RUNNING)
    return Belief(curve, mean[at], cov[np.ix_(at, at)], known, running)
