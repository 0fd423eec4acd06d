"""One quantity of one setting in one sweep, and the ratio of two sweeps: means over engine lives, in logarithms.

The prompts of two sweeps at a common load point are the same, so what prompts differ by is no error: each life has one
value, the mean over the prompts that all lives of both sweeps answered, and a sweep's mean is known as well as its
lives agree. The two sweeps are independent: with variances v_old and v_new of their means, log(new / old) has the
variance v_old + v_new and Welch-Satterthwaite's degrees of freedom (Welch's unequal-variances t-interval).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tuner.analysis.comparison import FEW_LIVES
from tuner.analysis.statistics import Estimate, Spread, combined, spread_of_mean, student_t
from tuner.artifact.figures import MeasuredFigure

WHOLE = "the whole load"
"""Stands where a prompt's id stands, for a quantity that is of no prompt."""
_EXACT_DF = 1e9
"""Degrees of freedom of what is known without error."""

Life = Mapping[str, float]


@dataclass(frozen=True)
class Quantity:
    """Logarithms of one quantity of one setting at one load point.

    lives: per engine life (per round, for a quantity of a round) its values by prompt, or one under WHOLE.
    known: the mean where only a figure with its interval is at hand; `lives` is () then.
    repeats: variance of one life's mean that its repeats account for.
    note: what to know of it; why it has no interval where it has none.
    """

    lives: tuple[Life, ...] = ()
    known: Estimate | None = None
    repeats: Spread = field(default_factory=Spread)
    note: str = ""

    @property
    def estimate(self) -> Estimate | None:
        """Mean and standard error over lives; no standard error from one life, None of nothing.

        The values of three lives agree by luck now and then: up to FEW_LIVES the standard error is not taken to be
        below what the repeats within the lives account for.
        """
        if not self.lives:
            return self.known
        means = [_mean(life) for life in self.lives]
        spread, n = spread_of_mean(means), min(len(life) for life in self.lives)
        if len(means) < 2:
            return Estimate(means[0], None, 0.0, n)
        variance = spread.variance
        if len(means) <= FEW_LIVES:
            variance = max(variance, self.repeats.variance / len(means))
        return Estimate(math.fsum(means) / len(means), math.sqrt(variance), spread.df, n, lives=len(means))


def exactly(value: float, note: str = "") -> Quantity:
    """Return a quantity that is known without error.  value: itself, not its logarithm."""
    return Quantity(known=Estimate(math.log(value), 0.0, _EXACT_DF, 0), note=note)


def nothing(note: str) -> Quantity:
    """Return a quantity that is not known, and why."""
    return Quantity(note=note)


def from_figure(figure: MeasuredFigure | None, lives: int, confidence: float) -> Quantity:
    """Return a figure as a quantity: the standard error is what its interval implies on the logarithmic scale.

    lives: engine lives that the interval is over.  confidence: of the interval.  An interval of a single life knows
    nothing of how lives differ, so it gives no standard error.
    """
    if figure is None or figure.value is None or figure.value <= 0:
        return nothing(figure.note if figure and figure.note else "it was not measured")
    mean, low, high = math.log(figure.value), figure.low, figure.high
    if lives < 2:
        return Quantity(known=Estimate(mean, None, 0.0, figure.n), note="of one engine life")
    if low is None or high is None or low <= 0:
        return Quantity(known=Estimate(mean, None, 0.0, figure.n), note="the artifact has no interval of it")
    df = lives - 1
    half = (math.log(high) - math.log(low)) / 2
    return Quantity(known=Estimate(mean, half / student_t(confidence, df), df, figure.n, lives=lives))


def on_common_prompts(old: Quantity, new: Quantity) -> tuple[Quantity, Quantity, int]:
    """Return both with the prompts that every life of both has, and how many had to be left out.

    Where one of the two has no values by prompt nothing is left out.
    """
    lives = (*old.lives, *new.lives)
    if not old.lives or not new.lives or any(WHOLE in life for life in lives):
        return old, new, 0
    everything = {prompt for life in lives for prompt in life}
    common = {prompt for prompt in everything if all(prompt in life for life in lives)}
    if not common:
        why = nothing("no prompt was answered in all lives of both")
        return why, why, len(everything)
    return _only(old, common), _only(new, common), len(everything) - len(common)


def _only(quantity: Quantity, prompts: set[str]) -> Quantity:
    kept = ({p: value for p, value in life.items() if p in prompts} for life in quantity.lives)
    return replace(quantity, lives=tuple(kept))


def log_ratio(old: Estimate | None, new: Estimate | None) -> Estimate | None:
    """Return log(new / old) of two independent estimates; without a standard error where one has none."""
    if old is None or new is None:
        return None
    mean, n, lives = new.mean - old.mean, _least(old.n, new.n), _least(old.lives, new.lives)
    if old.se is None or new.se is None:
        return Estimate(mean, None, 0.0, n, lives=lives)
    error = combined([Spread(old.se**2, old.df), Spread(new.se**2, new.df)])
    return Estimate(mean, math.sqrt(error.variance), error.df, n, lives=lives)


def product(first: Quantity, second: Quantity) -> Quantity:
    """Return the product of two quantities: life by life where both have the same lives, else of their means.

    Of means that are not independent the variance of the sum is bounded by the squared sum of the standard errors;
    that is what is used, with the fewer degrees of freedom.
    """
    if first.lives and len(first.lives) == len(second.lives):
        lives = tuple({WHOLE: _mean(a) + _mean(b)} for a, b in zip(first.lives, second.lives, strict=True))
        return Quantity(lives, repeats=_least_known(first.repeats, second.repeats))
    a, b = first.estimate, second.estimate
    if a is None or b is None:
        return nothing(first.note or second.note)
    lives_of_both = _least(a.lives, b.lives)
    if a.se is None or b.se is None:
        known = Estimate(a.mean + b.mean, None, 0.0, _least(a.n, b.n), lives=lives_of_both)
        return Quantity(known=known, note=first.note if a.se is None else second.note)
    known = Estimate(a.mean + b.mean, a.se + b.se, min(a.df, b.df), _least(a.n, b.n), lives=lives_of_both)
    return Quantity(known=known)


def inverse(quantity: Quantity) -> Quantity:
    """Return 1 / quantity."""
    known = quantity.known
    return replace(
        quantity,
        lives=tuple({prompt: -value for prompt, value in life.items()} for life in quantity.lives),
        known=replace(known, mean=-known.mean) if known else None,
    )


def _mean(life: Life) -> float:
    return math.fsum(life.values()) / len(life)


def _least(first: int, second: int) -> int:
    """Return the smaller of two counts; of what is known exactly the count is 0 or 1 and says nothing."""
    return min((n for n in (first, second) if n > 1), default=max(first, second))


def _least_known(first: Spread, second: Spread) -> Spread:
    return combined([first, second]) if first.df and second.df else first if first.df else second
