"""How much an engine differs from itself: from repeat to repeat within a life, and from life to life.

Everything here is a standard deviation of log TPOT: 0.01 is 1 %. With m_lr the mean over prompts of log TPOT in repeat
r of life l (each prompt relative to its own mean over lives), a lives, n_l repeats and N of them in all:

    within a life    MS_w = sum (m_lr - m_l)^2 / (N - a)
    between lives    MS_b = sum n_l (m_l - m)^2 / (a - 1)
    life to life     max(0, (MS_b - MS_w) / n0), n0 = (N - sum n_l^2 / N) / (a - 1)

the usual one-way variance components (Searle, Casella, McCulloch: Variance Components, ch. 3).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tuner.analysis.levels import final_levels, looks
from tuner.analysis.life import LATENCIES, load_view
from tuner.analysis.power import lives_needed, smallest_effect
from tuner.analysis.statistics import CONFIDENCE, mean_over_lives, sd_ratio
from tuner.records import Candidate, LoadPoint, Protocol, Role, Trial

EFFECTS = (0.03, 0.10)
"""Speedups, as fractions, for which the number of lives is told."""
_ROLES = (Role.BASELINE, Role.BASELINE_AGAIN, Role.CANDIDATE, Role.CANDIDATE_AGAIN, Role.FINAL)


@dataclass(frozen=True)
class Deviation:
    """A standard deviation of log TPOT with its degrees of freedom and 95 % interval (chi-square)."""

    value: float
    df: int
    low: float
    high: float


@dataclass(frozen=True)
class Components:
    """repeat: within a life, None where no life has two repeats.  life: from life to life, without what repeats add.

    total: of one life's mean, repeats included, which is what a comparison of lives sees.
    """

    repeat: Deviation | None
    life: Deviation
    total: Deviation


@dataclass(frozen=True)
class LoadNoise:
    """Noise of one arm at one load point, or over all load points of a temperature (load_point None).

    largest: the largest difference between two lives, as a fraction.  smallest: the smallest speedup, as a fraction,
    that a sweep with this protocol would tell in nine of ten cases, None where it makes no claim beyond one life;
    smallest_at_most: the same with all the lives that it may add.  lives_for: effect -> rounds of lives that tell it.
    """

    load_point: LoadPoint | None
    temperature: float
    lives: int
    repeats: int
    prompts: int
    total: Deviation
    largest: float
    repeat: Deviation | None = None
    life: Deviation | None = None
    smallest: float | None = None
    smallest_at_most: float | None = None
    lives_for: Mapping[float, int] | None = None


@dataclass(frozen=True)
class ArmNoise:
    """All lives of one candidate on one device."""

    candidate: Candidate
    device_key: str
    loads: tuple[LoadNoise, ...]


@dataclass(frozen=True)
class _Lives:
    """Values of one load point: per life one value a repeat."""

    load_point: LoadPoint | None
    temperature: float
    by_life: tuple[tuple[float, ...], ...]
    prompts: int

    @property
    def means(self) -> list[float]:
        return [math.fsum(values) / len(values) for values in self.by_life]


def noise(trials: Sequence[Trial], load_points: Sequence[LoadPoint], protocol: Protocol) -> tuple[ArmNoise, ...]:
    """Return the noise of every candidate that was measured in two lives or more on one device, baselines first.

    What a sweep could tell is for a round of a candidate and its baseline. A baseline's own row supposes a candidate
    that differs as much from life to life as it does itself.
    """
    arms: dict[tuple[str, str], list[Trial]] = {}
    for trial in sorted(trials, key=lambda t: t.record.number):
        if trial.record.ok and trial.record.role in _ROLES:
            arms.setdefault((trial.record.worker.device_key, trial.record.candidate.key), []).append(trial)
    several = {place: lives for place, lives in arms.items() if len(lives) > 1}
    values = {place: _values(lives, load_points) for place, lives in several.items()}
    found = []
    for (device, key), lives in several.items():
        candidate = lives[0].record.candidate
        partner = values.get((device, candidate.baseline.key), []) if candidate.k else values[device, key]
        rows = [_row(row, _like(partner, row), load_points, protocol) for row in values[device, key]]
        found.append(ArmNoise(candidate, device, tuple(rows)))
    return tuple(sorted(found, key=lambda arm: arm.candidate.k > 0))


def variance_components(lives: Sequence[Sequence[float]]) -> Components:
    """Return the components of two or more lives of one or more repeats each (see the module)."""
    a, total = len(lives), sum(len(values) for values in lives)
    means = [math.fsum(values) / len(values) for values in lives]
    grand = math.fsum(value for values in lives for value in values) / total
    between = math.fsum(len(v) * (m - grand) ** 2 for v, m in zip(lives, means, strict=True)) / (a - 1)
    df = total - a
    squares = math.fsum((value - m) ** 2 for values, m in zip(lives, means, strict=True) for value in values)
    within = squares / df if df else 0.0
    size = (total - math.fsum(len(values) ** 2 for values in lives) / total) / (a - 1)
    low, high = _variance_interval(between, a - 1)
    return Components(
        repeat=_deviation(within, df) if df else None,
        life=Deviation(
            math.sqrt(max(0.0, between - within) / size),
            a - 1,
            math.sqrt(max(0.0, low - within) / size),
            math.sqrt(max(0.0, high - within) / size),
        ),
        total=_deviation(statistics.variance(means), a - 1),
    )


def _deviation(variance: float, df: int) -> Deviation:
    low, high = _variance_interval(variance, df)
    return Deviation(math.sqrt(variance), df, math.sqrt(low), math.sqrt(high))


def _variance_interval(variance: float, df: int) -> tuple[float, float]:
    """Return the 95 % interval of a variance: df s^2 / chi^2."""
    from scipy.special import chdtri

    tail = (1 - CONFIDENCE) / 2
    return df * variance / float(chdtri(df, tail)), df * variance / float(chdtri(df, 1 - tail))


def _values(lives: Sequence[Trial], load_points: Sequence[LoadPoint]) -> list[_Lives]:
    """Return the values at each load point that every life has, then of each temperature with several load points."""
    rows = [row for point in load_points if (row := _at(lives, point)) is not None]
    together = []
    for temperature in dict.fromkeys(row.temperature for row in rows):
        same = [row for row in rows if row.temperature == temperature]
        if len(same) > 1:
            weights = [row.load_point.weight for row in same if row.load_point]
            by_life = zip(*(row.means for row in same), strict=True)
            means = tuple(
                (math.fsum(w * m for w, m in zip(weights, life, strict=True)) / sum(weights),) for life in by_life
            )
            together.append(_Lives(None, temperature, means, max(row.prompts for row in same)))
    return [*rows, *together]


def _at(lives: Sequence[Trial], point: LoadPoint) -> _Lives | None:
    views = [view for life in lives if (view := load_view(life, point.key)) is not None and view.tpot_by_prompt]
    if len(views) < max(2, len(lives)):
        return None
    usual = mean_over_lives([view.tpot_by_prompt for view in views])
    by_life = tuple(tuple(view.repeat_means(LATENCIES["tpot_s"], usual)) for view in views)
    if not usual or not all(by_life):
        return None
    return _Lives(point, point.sampling.temperature, by_life, len(usual))


def _like(rows: Sequence[_Lives], row: _Lives) -> _Lives | None:
    same = (row.load_point, row.temperature)
    return next((other for other in rows if (other.load_point, other.temperature) == same), None)


def _row(own: _Lives, partner: _Lives | None, load_points: Sequence[LoadPoint], protocol: Protocol) -> LoadNoise:
    components, means = variance_components(own.by_life), own.means
    loads = tuple(point for point in load_points if point.sampling.temperature == own.temperature)
    temperatures = len({point.sampling.temperature for point in load_points})
    last = looks(protocol.lives, protocol.max_lives)[-1]
    confidence = final_levels([("", frozenset(p.concurrency for p in loads))], 2, loads, last, temperatures).main
    sd = math.hypot(_likely_sd(own), _likely_sd(partner or own))
    single = own.load_point is not None
    return LoadNoise(
        load_point=own.load_point,
        temperature=own.temperature,
        lives=len(own.by_life),
        repeats=sum(map(len, own.by_life)) if single else 0,
        prompts=own.prompts,
        total=components.total,
        largest=math.expm1(max(means) - min(means)),
        repeat=components.repeat if single else None,
        life=components.life if single else None,
        smallest=_effect(sd, protocol.lives, confidence),
        smallest_at_most=_effect(sd, protocol.max_lives, confidence),
        lives_for={effect: lives_needed(sd, math.log1p(effect), confidence) for effect in EFFECTS},
    )


def _effect(sd: float, lives: int, confidence: float) -> float | None:
    return math.expm1(min(smallest_effect(sd, lives, confidence), 50.0)) if lives > 1 else None


def _likely_sd(lives: _Lives) -> float:
    """Return the SD of a life's mean, without the bias of few lives: s divided by the median of sqrt(chi^2 / df)."""
    return statistics.stdev(lives.means) / sd_ratio(len(lives.by_life) - 1, 0.5)
