"""Means, their uncertainty, and nothing about engines.

Ratios are handled as logarithms throughout: a geometric mean of ratios is exp(mean of logs), it does not depend on
the unit, and exchanging the arms inverts it exactly.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tuner.records import Figure

CONFIDENCE = 0.95
_LARGEST_EXPONENT = 700.0  # exp() of more overflows


@dataclass(frozen=True)
class Spread:
    """A variance of a mean and its degrees of freedom; df 0 where it is not known."""

    variance: float = 0.0
    df: float = 0.0


@dataclass(frozen=True)
class Column:
    """Values of one load point, by prompt id.

    weight: share of the column in the mean.  group: columns of one group share their prompts (one eval set); a prompt
    that is slow at one concurrency is slow at another, so its values count as one observation, not as several.
    spreads: what moves all values of the column together (a whole repeat was slower), as parts of its mean's variance.
    whole: its one value is of the load as a whole and of no prompt: `spreads` is all that is known of its error, with
    the column's own repeats first.
    """

    values: Mapping[str, float]
    weight: float = 1.0
    group: str = ""
    spreads: tuple[Spread, ...] = ()
    whole: bool = False


@dataclass(frozen=True)
class Estimate:
    """A mean and what its interval needs.

    se: standard error, None from a single observation.  df: degrees of freedom of it.  n: distinct prompts; repeats or
    rounds where the columns are of the whole load.
    lives: engine lives that the standard error is estimated over; 1 where it knows of one life only.
    confidence: of its interval where no other is asked for: more than CONFIDENCE where there may be several looks.
    allowance: half-width for what the observations cannot show (drift between engine lives), added as it
    is: two lives are too few to estimate a variance from, so the difference seen between them stands for it.
    """

    mean: float
    se: float | None
    df: float
    n: int
    allowance: float = 0.0
    lives: int = 1
    confidence: float = CONFIDENCE

    def interval(self, confidence: float | None = None) -> tuple[float, float] | None:
        """Return the two-sided Student-t interval widened by the allowance; None where there is no standard error."""
        if self.se is None:
            return None
        half = student_t(confidence or self.confidence, self.df) * self.se + self.allowance
        return self.mean - half, self.mean + half

    def above(self, limit: float, confidence: float | None = None) -> bool:
        """Whether the whole interval lies above `limit`; False where there is none."""
        interval = self.interval(confidence)
        return interval is not None and interval[0] > limit

    def below(self, limit: float, confidence: float | None = None) -> bool:
        """Whether the whole interval lies below `limit`; False where there is none."""
        interval = self.interval(confidence)
        return interval is not None and interval[1] < limit


def student_t(confidence: float, df: float) -> float:
    """Return the two-sided quantile: |T| stays below it with probability `confidence`."""
    from scipy.special import stdtrit

    return float(stdtrit(df, 0.5 + confidence / 2))


def geometric_mean(values: Sequence[float]) -> float:
    """Return exp(mean(log(values))); every value must be positive, else ValueError."""
    return math.exp(math.fsum(math.log(value) for value in values) / len(values))


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the `percent` percentile (0-100) by linear interpolation between order statistics (Hyndman-Fan type 7)."""
    ordered = sorted(values)
    position = percent / 100 * (len(ordered) - 1)
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (position - low) * (ordered[high] - ordered[low])


def mean_over_lives(lives: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return per prompt the geometric mean over engine lives, for the prompts that every life has."""
    common = [prompt for prompt in lives[0] if all(prompt in life for life in lives)]
    return {prompt: geometric_mean([life[prompt] for life in lives]) for prompt in common}


def log_ratios(numerator: Mapping[str, float], denominator: Mapping[str, float]) -> dict[str, float]:
    """Return log(numerator / denominator) for each prompt that both have; the rest cannot be paired."""
    return {p: math.log(numerator[p]) - math.log(denominator[p]) for p in numerator if p in denominator}


def mean_estimate(columns: Sequence[Column]) -> Estimate | None:
    """Return the weighted mean of the columns' means with its standard error; None if a column is empty.

    With m_i and n_i the mean and size of column i and w_i its share, the mean is sum w_i m_i. A prompt's part in it is
    u_p = sum_i w_i (x_ip - m_i) / n_i; within a group of g prompts the variance is g/(g-1) sum u_p^2 (cluster-robust
    with the prompt as cluster; for a single column exactly s^2/n), groups add up, and the degrees of freedom are
    Welch-Satterthwaite's. This is the textbook paired t-interval where there is one column. The columns' spreads are
    independent of the prompts and of one another: each adds w_i^2 of its variance.
    """
    if not columns or any(not column.values for column in columns):
        return None
    if columns[0].whole:
        return _over_repeats(columns)
    total = math.fsum(column.weight for column in columns)
    mean = 0.0
    parts: dict[str, dict[str, float]] = {}
    spreads: list[Spread] = []
    for column in columns:
        share, n = column.weight / total, len(column.values)
        column_mean = math.fsum(column.values.values()) / n
        mean += share * column_mean
        group = parts.setdefault(column.group, {})
        for prompt, value in column.values.items():
            group[prompt] = group.get(prompt, 0.0) + share * (value - column_mean) / n
        spreads += [Spread(share * share * spread.variance, spread.df) for spread in column.spreads]
    n_all = sum(len(group) for group in parts.values())
    if any(len(group) < 2 for group in parts.values()):
        return Estimate(mean, None, 0.0, n_all)
    error = combined([*(_over_prompts(list(group.values())) for group in parts.values()), *spreads])
    return Estimate(mean, math.sqrt(error.variance), error.df, n_all)


def _over_repeats(columns: Sequence[Column]) -> Estimate:
    """Return the weighted mean of columns of the whole load; no standard error where a spread is not known."""
    shares = [column.weight / math.fsum(each.weight for each in columns) for column in columns]
    spreads = [
        Spread(share * share * spread.variance, spread.df)
        for share, column in zip(shares, columns, strict=True)
        for spread in column.spreads
    ]
    n = min((int(column.spreads[0].df) + 1 for column in columns if column.spreads), default=1)
    if not spreads or not all(spread.df for spread in spreads):
        return Estimate(_round_value(columns), None, 0.0, n)
    error = combined(spreads)
    return Estimate(_round_value(columns), math.sqrt(error.variance), error.df, n)


def over_rounds(rounds: Sequence[Sequence[Column]], confidence: float = CONFIDENCE) -> Estimate | None:
    """Return the mean over rounds of engine lives, each round's value being the weighted mean of its columns' means.

    The standard error is s/sqrt(L) over the L rounds' values with L - 1 degrees of freedom. It contains what differs
    from life to life and from repeat to repeat, for these very prompts: they are the same in each round.
    confidence: of the interval.
    None where there is no round or a column is empty.
    """
    if not rounds or any(not columns or any(not column.values for column in columns) for columns in rounds):
        return None
    values = [_round_value(columns) for columns in rounds]
    prompts = {(column.group, prompt) for columns in rounds for column in columns for prompt in column.values}
    n = len(values) if rounds[0][0].whole else len(prompts)
    mean, spread = math.fsum(values) / len(values), spread_of_mean(values)
    return Estimate(
        mean,
        math.sqrt(spread.variance) if spread.df else None,
        spread.df,
        n,
        lives=len(values),
        confidence=confidence,
    )


def _round_value(columns: Sequence[Column]) -> float:
    total = math.fsum(column.weight for column in columns)
    return math.fsum(
        column.weight / total * math.fsum(column.values.values()) / len(column.values) for column in columns
    )


def _over_prompts(parts: Sequence[float]) -> Spread:
    return Spread(len(parts) / (len(parts) - 1) * math.fsum(part * part for part in parts), len(parts) - 1)


def combined(parts: Sequence[Spread]) -> Spread:
    """Return the variance of a sum of independent parts, df by Welch-Satterthwaite; parts that are not known are 0."""
    known = [part for part in parts if part.df > 0]
    variance = math.fsum(part.variance for part in known)
    if variance == 0.0:
        return Spread(0.0, float(sum(part.df for part in known)))
    # Shares of the variance rather than variances: squares of small variances underflow.
    shares = [(part.variance / variance, part.df) for part in known]
    return Spread(variance, 1.0 / math.fsum(share * share / df for share, df in shares))


def spread_of_mean(values: Sequence[float]) -> Spread:
    """Return s^2/n of the mean of n values with n - 1 degrees of freedom; not known (df 0) for fewer than two."""
    if len(values) < 2:
        return Spread()
    return Spread(statistics.variance(values) / len(values), len(values) - 1)


def exp(value: float) -> float:
    """Return e^value, kept finite: an interval of two observations can be astronomically wide."""
    return math.exp(max(-_LARGEST_EXPONENT, min(_LARGEST_EXPONENT, value)))


def ratio_figure(
    estimate: Estimate | None, estimator: str, *, unit: str = "x", note: str = "", n_of: str = "prompts"
) -> Figure:
    """Return exp of a mean of logarithms with its 95 % interval; undefined, with `note` as the reason, for None."""
    if estimate is None:
        return undefined(unit, estimator, note or "no pair of observations", n_of)
    interval = estimate.interval()
    low, high = (None, None) if interval is None else (exp(interval[0]), exp(interval[1]))
    notes = [note] if note else []
    if interval is None:
        notes.append(f"one {n_of.removesuffix('s')} gives no interval" if estimate.n == 1 else "no interval")
    return Figure(exp(estimate.mean), unit, estimator, estimate.n, n_of, low, high, "; ".join(notes))


def undefined(unit: str, estimator: str, reason: str, n_of: str = "prompts") -> Figure:
    """Return a figure without a value and the reason why."""
    return Figure(None, unit, estimator, 0, n_of, note=reason)


def median(values: Sequence[float]) -> float:
    """Return the median."""
    return statistics.median(values)


def fisher_more(hits: int, of: int, other_hits: int, other_of: int) -> float:
    """Return the p-value of Fisher's exact test that the first share is larger: P(X >= hits), X hypergeometric."""
    total = hits + other_hits
    ways = sum(math.comb(of, x) * math.comb(other_of, total - x) for x in range(hits, min(total, of) + 1))
    return ways / math.comb(of + other_of, total)


def sd_ratio(df: float, probability: float) -> float:
    """Return the value that s / sigma stays below with that probability; s has df degrees of freedom."""
    from scipy.special import chdtri

    return math.sqrt(float(chdtri(df, 1 - probability)) / df)


def expected_gain(lead: float, sd: float) -> float:
    """Return E[max(0, X)] of a normal X with mean `lead`: sd (z Phi(z) + phi(z)), z = lead / sd."""
    if sd <= 0.0:
        return max(0.0, lead)
    z = lead / sd
    density = math.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    return lead * 0.5 * math.erfc(-z / math.sqrt(2)) + sd * density
