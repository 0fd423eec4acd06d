"""Which of two finalists need not live on: what it may still gain is not worth its engine starts.

That it leaves says nothing of speculation, and takes nothing from the error that the remaining claims may spend: they
keep the levels that they had beside it. That is why both stay where the single lives proposed nobody: each then carries
a claim of its own, and what the one that leaves could have proven would be lost.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tuner.analysis.comparison import advantage
from tuner.analysis.costs import COSTS
from tuner.analysis.life import load_view
from tuner.analysis.paired import comparable
from tuner.analysis.rounds import Arm, arms, logs
from tuner.analysis.selection import Screened
from tuner.analysis.statistics import expected_gain
from tuner.records import Candidate, LoadPoint, Metric, Role, Trial, Verdict

WORTH = 0.0015
"""Expected gain in log cost that is worth an engine start: that of the guided search."""
DIFFERENCE_SD, DIFFERENCE_WEIGHT = 0.03, 2.0
"""Log SD assumed of the difference of two lives, and how many observed differences that assumption weighs."""
CLEAR = 2.0
"""Standard errors by which a smaller K must be slower before it leaves: a tie goes to the smaller K."""


@dataclass(frozen=True)
class Race:
    """Two finalists in the rounds that both ran in.

    leads: by how much the first was faster than the second, logs, in the order in which the rounds ended.
    before: the same in their single lives, None if not known.  smaller: K of one draft, so that a tie goes to one of
    them: 1 where the first has the smaller K, -1 where the second has, 0 where they are of different drafts.
    """

    leads: tuple[float, ...]
    before: float | None = None
    smaller: int = 0

    def settled(self, rounds: int, starts: int) -> int:
        """Return after these rounds 1 where the first needs no rival any more, -1 where the second needs none, else 0.

        starts: engine starts that the one behind would still take.
        """
        leads = self.leads[:rounds]
        mean = math.fsum(leads) / len(leads)
        ahead, error = (1 if mean >= 0 else -1), self._error(leads)
        if expected_gain(-abs(mean), error) >= WORTH * starts:
            return 0
        return 0 if self.smaller == -ahead and abs(mean) <= CLEAR * error else ahead

    def _error(self, leads: Sequence[float]) -> float:
        """Return the standard error of the mean lead; the single lives tell how much lives differ, not who is faster.

        They do not tell who is faster because they were selected for being fast.
        """
        values = [*leads, *([] if self.before is None else [self.before])]
        middle = math.fsum(values) / len(values)
        spread = math.fsum((value - middle) ** 2 for value in values)
        variance = (DIFFERENCE_WEIGHT * DIFFERENCE_SD**2 + spread) / (DIFFERENCE_WEIGHT + len(values) - 1)
        return math.sqrt(variance / len(leads))


def leaver(race: Race, lives: int, fewest: int) -> tuple[int, int] | None:
    """Return after how many rounds one of the two left, and which (see `Race.settled`); None where both stay.

    lives: rounds that are planned; after the last of them nobody is spared anything.  fewest: that any sweep measures.
    """
    for rounds in range(1, min(lives, len(race.leads) + 1)):
        ahead = race.settled(rounds, min(lives - rounds, fewest))
        if ahead:
            return rounds, ahead
    return None


def leaving(screened: Screened, fresh: Sequence[Trial], rounds: Collection[int], lives: int, fewest: int) -> str | None:
    """Return the key of the finalist that left before `lives` rounds were complete, None where none did.

    fresh: fresh lives; rounds: those in which all finalists and baselines were measured.  fewest: see `leaver`.
    With limits both stay, as the slower one may be the one that keeps to them.
    """
    finalists = screened.finalists
    if len(finalists) != 2 or screened.goal.limits or not proposes(screened):
        return None
    found = leaver(_race(screened, fresh, rounds), lives, fewest)
    return None if found is None else finalists[found[1] > 0].figures.candidate.key


def leavers(
    screened: Sequence[Screened], fresh: Sequence[Trial], rounds: Collection[int], lives: int, fewest: int
) -> frozenset[str]:
    """Return the keys of those that left at every temperature at which they were finalists.

    None where so many rounds of all are there: what was measured counts.
    """
    if len(rounds) >= lives:
        return frozenset()
    left: set[str] = set()
    stay: set[str] = set()
    for at in screened:
        gone = leaving(at, fresh, rounds, lives, fewest)
        keys = {contender.figures.candidate.key for contender in at.finalists}
        left |= keys & {gone}
        stay |= keys - {gone}
    return frozenset(left - stay)


def _race(screened: Screened, fresh: Sequence[Trial], rounds: Collection[int]) -> Race:
    first, second = screened.finalists
    loads = proposed_loads(screened)
    before = advantage(first.ranked, second.ranked, loads)
    found = {arm.candidate.key: arm for arm in arms(fresh, Role.FINAL)}
    pair = [found.get(contender.figures.candidate.key) for contender in (first, second)]
    leads: tuple[float, ...] = ()
    if pair[0] is not None and pair[1] is not None:
        leads = _leads(pair[0], pair[1], rounds, loads, screened.goal.metric)
    return Race(leads, before.mean if before else None, smaller(first.figures.candidate, second.figures.candidate))


def proposed_loads(screened: Screened) -> tuple[LoadPoint, ...]:
    """Return the load points at which the single lives propose to speculate; all where they propose none."""
    return screened.choice.loads if proposes(screened) else screened.loads


def proposes(screened: Screened) -> bool:
    """Return whether the single lives propose to speculate."""
    return screened.choice.verdict in (Verdict.SPECULATE, Verdict.SPECULATE_BELOW)


def _leads(
    first: Arm, second: Arm, rounds: Collection[int], loads: Sequence[LoadPoint], metric: Metric
) -> tuple[float, ...]:
    both = [n for n in first.lives if n in second.lives and n in rounds]
    ended = sorted(both, key=lambda n: max(first.lives[n].record.number, second.lives[n].record.number))
    found = (_lead(first.lives[n], second.lives[n], loads, metric) for n in ended)
    return tuple(lead for lead in found if lead is not None)


def _lead(first: Trial, second: Trial, loads: Sequence[LoadPoint], metric: Metric) -> float | None:
    """Return the weighted mean over load points of log(cost of the second / of the first); None if one is missing."""
    cost, parts = COSTS[metric], []
    for load in loads:
        ours, theirs = load_view(first, load.key), load_view(second, load.key)
        ratios = logs(theirs, comparable(ours, [theirs], cost), cost) if ours and theirs else {}
        if not ratios:
            return None
        parts.append((load.weight, math.fsum(ratios.values()) / len(ratios)))
    return math.fsum(weight * mean for weight, mean in parts) / math.fsum(weight for weight, _ in parts)


def smaller(first: Candidate, second: Candidate) -> int:
    """Return which of two has the smaller K of one draft (see Race)."""
    if (first.draft_name, first.args_key) != (second.draft_name, second.args_key):
        return 0
    return (second.k > first.k) - (first.k > second.k)
