"""From what sweeps told to rates, and from rates to whether they are good enough."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from tests.truth.sweep import Told
from tuner.records import Json, Verdict

COVERAGE = (0.92, 0.98)
AA_FALSE = 0.05
MISSED = 0.10
REVERSED = 0.005
SLOWDOWN = math.log(0.99)
"""Log speedup below which a candidate counts as truly slower."""
SLOWDOWNS = 0.01

Scores = dict[str, Json]


def share(hits: Sequence[bool]) -> float | None:
    """Return the share of True, None of nothing."""
    return round(sum(hits) / len(hits), 4) if hits else None


def _median(values: Sequence[float]) -> float | None:
    known = [value for value in values if math.isfinite(value)]
    return round(median(known), 5) if known else None


def regime_scores(effect: Sequence[Told], alike: Sequence[Told]) -> Scores:
    """Return a regime's rates over its sweeps with a true speedup, and over those where all candidates are equal.

    coverage: of the artifact's objective where a candidate is recommended, coverage_all: of the interval of whatever
    candidate the answer speaks of; both over fresh lives.
    """
    fresh = [told for told in effect if told.lives > 1]
    shown = [told for told in fresh if told.recommended]
    return {
        "coverage": share([told.low <= told.truth <= told.high for told in shown]),
        "coverage_all": share([told.low <= told.truth <= told.high for told in fresh]),
        "coverage_similar_prompts": share(
            [told.similar_low <= told.similar_truth <= told.similar_high for told in fresh]
        ),
        "aa_false_rate": share([told.verdict is not Verdict.INCONCLUSIVE for told in alike]),
        "missed_rate": share([not told.recommended and told.verdict is not Verdict.DO_NOT for told in effect]),
        "reversed_rate": share([told.verdict is Verdict.DO_NOT for told in effect]),
        "mde_median": _median([told.smallest_effect for told in effect]),
        "bias_median": _median([told.value - told.truth for told in shown]),
        "lives_median": _median([float(told.lives) for told in effect]),
        "lives_asked_median": _median([float(told.asked) for told in effect if told.asked]),
        "followed": sum(told.asked > 0 for told in effect),
        "sweeps": len(effect),
        "aa_sweeps": len(alike),
    }


def regime_bars(scores: Scores) -> dict[str, bool]:
    """Return which of a regime's rates are good enough; what was not measured is left out."""
    bars = {}
    for name, (low, high) in {
        "coverage": COVERAGE,
        "aa_false_rate": (0.0, AA_FALSE),
        "missed_rate": (0.0, MISSED),
        "reversed_rate": (0.0, REVERSED),
    }.items():
        value = scores[name]
        if isinstance(value, float):
            bars[name] = low <= value <= high
    return bars


def random_scores(told: Sequence[Told]) -> Scores:
    """Return how often random worlds led to a recommendation of what is truly slower."""
    recommended = [one for one in told if one.recommended]
    return {
        "slowdown_recommended_rate": share([one.recommended and one.truth < SLOWDOWN for one in told]),
        "recommended_at_a_lower_bound_of_1_or_less": sum(not one.low > 0.0 for one in recommended),
        "recommended": len(recommended),
        "coverage": share([one.low <= one.truth <= one.high for one in recommended if one.lives > 1]),
        "sweeps": len(told),
    }


def random_bars(scores: Scores) -> dict[str, bool]:
    """Return whether random worlds were handled well enough."""
    rate = scores["slowdown_recommended_rate"]
    return {
        "slowdown_recommended_rate": isinstance(rate, float) and rate <= SLOWDOWNS,
        "lower_bound": scores["recommended_at_a_lower_bound_of_1_or_less"] == 0,
    }
