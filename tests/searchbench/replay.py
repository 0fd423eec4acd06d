"""One strategy on one surface: the lives that it asks for, what it chooses, and how far that is from the best."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev

from tests.searchbench.lives import Noise, life_s, live
from tests.searchbench.strategy import Strategy, measured_gains, ranked_by
from tests.searchbench.surfaces import BASELINE, Surface
from tuner.records import Tried

Rank = Callable[[Surface, Sequence[Tried]], list[str]]

FINALISTS = 2
LIVES = 3
"""Of each finalist and of the baseline, after the search."""
T_2_LIVES = 4.303
"""Student's t, 97.5 %, with LIVES - 1 degrees of freedom."""
SLOWDOWN = 0.01
BEHIND = 0.05


@dataclass(frozen=True)
class Told:
    """What came of one strategy on one surface.

    starts: engine starts to locate the choice, the baseline's among them; confirming is as many again for every
    strategy: CONFIRM_STARTS.  Seconds: of engines.  Regrets: of the choice after the search; after the search cut to
    the starts that guided used; after fresh lives of the finalists.  slowdown, behind: the choice is claimed by an
    interval over fresh lives to be faster than the baseline, or than the other finalist, and is truly slower by more
    than SLOWDOWN, or BEHIND.  Errors: of guided's predictions at K that it did not measure; dropped: of drafts that it
    gave a single run.
    """

    surface: str
    family: str
    tags: tuple[str, ...]
    life_sd: float
    drafts: int
    starts: int
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
    dropped_errors: tuple[float, ...] = ()


CONFIRM_STARTS = (FINALISTS + 1) * LIVES + 1


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
    found = Told(
        surface.name,
        surface.family,
        surface.tags,
        noise.life_sd,
        len(surface.drafts),
        len(tried),
        sum(life_s(surface, one.candidate.key) for one in tried),
        LIVES * sum(life_s(surface, key) for key in (*finalists, BASELINE.key)) + life_s(surface, BASELINE.key),
        surface.regret(order[0]),
        surface.regret(cut[0]),
        0.0,
        surface.k[order[0]],
    )
    return _confirmed(surface, finalists, noise, found)


def _confirmed(surface: Surface, finalists: Sequence[str], noise: Noise, found: Told) -> Told:
    """Add what fresh lives of the finalists and the baseline say: the same rule on the means over lives."""
    arms = [BASELINE, *(c for c in surface.candidates if c.key in finalists)]
    rounds = [measured_gains(surface, [live(surface, c, noise, life) for c in arms]) for life in range(1, LIVES + 1)]
    means = {key: fmean(gains[key] for gains in rounds) for key in rounds[0]}
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


def _low(rounds: Sequence[dict[str, float]], one: str, other: str) -> float:
    """Return the lower 95 % bound of how much faster `one` is, from the differences of its lives."""
    gaps = [gains[one] - gains[other] for gains in rounds]
    return fmean(gaps) - T_2_LIVES * stdev(gaps) / math.sqrt(len(gaps))
