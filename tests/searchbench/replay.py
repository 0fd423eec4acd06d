"""One strategy on one surface: the lives that it asks for, what it chooses, and how far that is from the best."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev

from tests.searchbench.lives import Noise, life_s, live
from tests.searchbench.strategy import Strategy, measured_gains, ranked_by
from tests.searchbench.surfaces import BASELINE, Surface
from tuner.analysis.leaving import Race, leaver, smaller
from tuner.records import Tried

Rank = Callable[[Surface, Sequence[Tried]], list[str]]

FINALISTS = 2
LIVES = 4
"""Of the baseline and of each finalist that does not leave, after the search: the tuner's own least."""
T_LIVES = 3.182
"""Student's t, 97.5 %, with LIVES - 1 degrees of freedom."""
SLOWDOWN = 0.01
BEHIND = 0.05


@dataclass(frozen=True)
class Told:
    """What came of one strategy on one surface.

    starts: engine starts to locate the choice, the baseline's among them; confirm_starts: those of the rounds of fresh
    lives and of the closing baseline.  Seconds: of engines.  Regrets: of the choice after the search; after the search
    cut to the starts that guided used; after fresh lives of the finalists.  slowdown, behind: the choice is claimed by
    an interval over fresh lives to be faster than the baseline, or than the other finalist, and is truly slower by more
    than SLOWDOWN, or BEHIND.  Errors: of guided's predictions at K that it did not measure: of speedups told as figures
    and, rough, of those told as ranges; ranges_missed: how many of these the truth lies outside of.
    """

    surface: str
    family: str
    tags: tuple[str, ...]
    life_sd: float
    drafts: int
    starts: int
    confirm_starts: int
    locate_s: float
    confirm_s: float
    regret: float
    regret_equal: float
    regret_confirmed: float
    k: int
    slowdown: bool = False
    behind: bool = False
    growth_errors: tuple[float, ...] = ()
    speedup_errors: tuple[float, ...] = ()
    rough_errors: tuple[float, ...] = ()
    ranges_missed: int = 0


def search(surface: Surface, strategy: Strategy, noise: Noise, budget: int | None = None) -> list[Tried]:
    """Return what a strategy tried, in order: the baseline first, then what it asks for, one life each.

    budget: starts at most, the baseline's among them.  RuntimeError: it asks for something twice, or for nothing.
    """
    tried = [live(surface, BASELINE, noise)]
    most = len(surface.candidates) + 1 if budget is None else budget
    while len(tried) < most:
        decision = strategy.next(tuple(tried))
        if decision.done:
            break
        if decision.candidate is None or any(one.candidate.key == decision.candidate.key for one in tried):
            raise RuntimeError(f"{strategy.name} on {surface.name} after {len(tried)} starts: {decision}")
        tried.append(live(surface, decision.candidate, noise))
    return tried


def told(surface: Surface, tried: Sequence[Tried], rank: Rank, noise: Noise, equal: int) -> Told:
    """Return the figures of one search.  equal: starts to which it is cut for the comparison at equal budget."""
    order = rank(surface, tried)
    cut = order if equal >= len(tried) else rank(surface, tried[: max(1, equal)])
    finalists = [key for key in order if surface.k[key] and surface.arms[key].fits][:FINALISTS]
    single = measured_gains(surface, tried)
    rounds, left = _rounds(surface, finalists, single, noise)
    lives = [key for gains in rounds for key in gains]
    found = Told(
        surface.name,
        surface.family,
        surface.tags,
        noise.life_sd,
        len(surface.drafts),
        len(tried),
        len(lives) + 1,
        sum(life_s(surface, one.candidate.key) for one in tried),
        sum(life_s(surface, key) for key in (*lives, BASELINE.key)),
        surface.regret(order[0]),
        surface.regret(cut[0]),
        0.0,
        surface.k[order[0]],
    )
    return _confirmed(surface, [key for key in finalists if key != left], rounds, found)


Gains = dict[str, float]


def _rounds(surface: Surface, finalists: Sequence[str], single: Gains, noise: Noise) -> tuple[list[Gains], str | None]:
    """Return the log speedups of each round, and which finalist left: by the tuner's own rule, for every strategy."""
    arms = {c.key: c for c in surface.candidates if c.key in finalists}
    rounds: list[Gains] = []
    leads: list[float] = []
    left = None
    for life in range(1, LIVES + 1):
        alive = [arms[key] for key in finalists if key != left]
        rounds.append(measured_gains(surface, [live(surface, c, noise, life) for c in (BASELINE, *alive)]))
        if len(alive) == FINALISTS:
            first, second = finalists
            leads.append(rounds[-1][first] - rounds[-1][second])
            before = single[first] - single[second] if first in single and second in single else None
            race = Race(tuple(leads), before, smaller(arms[first], arms[second]))
            found = leaver(race, LIVES, LIVES)
            left = None if found is None else finalists[found[1] > 0]
    return rounds, left


def _confirmed(surface: Surface, staying: Sequence[str], rounds: Sequence[Gains], found: Told) -> Told:
    """Add what fresh lives of the baseline and of who stayed say: the same rule on the means over lives."""
    keys = (BASELINE.key, *staying)
    means = {key: fmean(gains[key] for gains in rounds) for key in keys}
    ses = {key: stdev([gains[key] for gains in rounds]) / math.sqrt(LIVES) for key in means}
    choice, *others = ranked_by(means, ses, surface.k)
    slower = surface.k[choice] > 0 and surface.true_logs[choice] < -SLOWDOWN
    better = [key for key in others if surface.true_logs[key] > surface.true_logs[choice] + BEHIND]
    return replace(
        found,
        regret_confirmed=surface.regret(choice),
        slowdown=slower and _low(rounds, choice, BASELINE.key) > 0.0,
        behind=any(_low(rounds, choice, other) > 0.0 for other in better),
    )


def _low(rounds: Sequence[Gains], one: str, other: str) -> float:
    """Return the lower 95 % bound of how much faster `one` is, from the differences of its lives."""
    gaps = [gains[one] - gains[other] for gains in rounds]
    return fmean(gaps) - T_LIVES * stdev(gaps) / math.sqrt(len(gaps))
