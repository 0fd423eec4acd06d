"""What is believed of all curves over the load points of one objective. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tuner.analysis.prediction import Fit, ModelError
from tuner.records import LoadPoint, Outcome
from tuner.search.belief import Belief, Best, believe, objective
from tuner.search.curves import Curve, History
from tuner.search.variants import around


@dataclass(frozen=True)
class View:
    """references: beliefs about the curve of each family that is searched whole; variants: about its other curves.

    best: the best of what was measured or runs, baselines among them; None where nothing was measured.
    pays: whether some K of some draft is believed to be faster than no speculation.
    """

    references: tuple[Belief, ...]
    variants: tuple[Belief, ...]
    best: Best | None
    pays: bool


def view(
    every: Sequence[Curve],
    references: Sequence[Curve],
    history: History,
    loads: Sequence[LoadPoint],
    model: ModelError,
    fits: Mapping[str, Fit],
) -> View:
    """Return the view over these load points."""
    known, varied = [], []
    for curve in references:
        belief = believe(curve, fits, history, loads)
        if belief is not None:
            known.append(belief)
            others = [c for c in every if c.family == curve.family and c is not curve and _counts(c, history)]
            varied += around(belief, others, history, loads, model)
    plain = _baselines(every, history, loads, model)
    measured = [
        Best(float(b.mean[i]), float(b.cov[i, i]), b.curve.candidates[i], b, i)
        for b in (*known, *varied)
        for i in (*b.known, *b.running)
    ]
    best = min((*measured, *plain), key=lambda one: one.mean, default=None)
    zero = min((one.mean for one in plain), default=None)
    pays = zero is None or any(bool((b.mean < zero).any()) for b in (*known, *varied))
    return View(tuple(known), tuple(varied), best, pays)


def _counts(curve: Curve, history: History) -> bool:
    return bool(history.of(curve, Outcome.MEASURED, Outcome.RUNNING) or history.open(curve))


def _baselines(every: Sequence[Curve], history: History, loads: Sequence[LoadPoint], model: ModelError) -> list[Best]:
    found = []
    for baseline in {curve.args_key: curve.candidates[0].baseline for curve in every}.values():
        seen = objective(baseline, history, loads, model)
        if seen is not None:
            found.append(Best(*seen, baseline))
    return found
