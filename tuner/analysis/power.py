"""How small an effect could be seen, and how many engine lives it would take. Effects are logarithms of ratios.

The half-width of an interval over L rounds is t * s / sqrt(L), s the standard deviation of a round. The mean exceeds it
with probability `POWER` if the effect is d * s / sqrt(L), d the noncentrality at which a noncentral t variable does.
"""

from __future__ import annotations

import math

from tuner.analysis.statistics import sd_ratio, student_t

POWER = 0.9
MOST_LIVES = 1000
"""Where counting stops: nobody starts an engine more often to settle a question."""
_FAR = 100.0
"""From such a t quantile on the normal part of a noncentral t variable no longer counts."""


def noncentrality(confidence: float, df: float) -> float:
    """Return the effect, in standard errors, that an interval of that confidence excludes 0 for with probability POWER.

    df: degrees of freedom of the standard error.  inf where no effect is large enough (confidence 1).
    """
    from scipy.special import nctdtrinc

    quantile = student_t(confidence, df)
    if quantile < _FAR:
        return float(nctdtrinc(df, 1 - POWER, quantile))
    return quantile * sd_ratio(df, POWER)


def smallest_effect(sd: float, lives: int, confidence: float) -> float:
    """Return the log ratio that so many rounds show at that confidence with probability POWER; inf below two."""
    if lives < 2:
        return math.inf
    return noncentrality(confidence, lives - 1) * sd / math.sqrt(lives)


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
