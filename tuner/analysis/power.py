"""How small an effect could be seen, and how many engine lives it would take. Effects are logarithms of ratios.

The half-width of an interval over L rounds is t * s / sqrt(L), s the standard deviation of a round. An effect is seen
with probability `POWER` if it exceeds that by the one-sided t quantile of POWER times s / sqrt(L): the usual
approximation of the noncentral t distribution by a shifted one.
"""

from __future__ import annotations

import math

from tuner.analysis.statistics import student_t

POWER = 0.9
MOST_LIVES = 1000
"""Where counting stops: nobody starts an engine more often to settle a question."""


def smallest_effect(sd: float, lives: int, confidence: float) -> float:
    """Return the log ratio that so many rounds show at that confidence with probability POWER; inf below two."""
    if lives < 2:
        return math.inf
    quantiles = student_t(confidence, lives - 1) + student_t(2 * POWER - 1, lives - 1)
    return quantiles * sd / math.sqrt(lives)


def lives_needed(sd: float, effect: float, confidence: float) -> int:
    """Return the least number of rounds that show a log ratio of that size, at least 2 and at most MOST_LIVES."""
    if sd == 0.0:
        return 2
    if effect <= 0.0 or smallest_effect(sd, MOST_LIVES, confidence) > effect:
        return MOST_LIVES
    low, high = 2, MOST_LIVES
    while low < high:  # the smallest effect falls with every further round
        middle = (low + high) // 2
        low, high = (low, middle) if smallest_effect(sd, middle, confidence) <= effect else (middle + 1, high)
    return low
