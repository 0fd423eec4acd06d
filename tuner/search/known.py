"""What an earlier sweep of the same target found, and whether a few engine starts confirm it. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tuner.records import Candidate, LoadPoint, Observed
from tuner.search.curves import History, curves

Range = tuple[float, float]

CERTAIN = 2.0
"""Standard deviations by which a neighbour has to be faster before the best K has moved."""


@dataclass(frozen=True)
class Expected:
    """Where figures at one load point have to lie: the earlier interval, widened by the tolerances.

    speedup: of TPOT.  length: mean acceptance length, tokens per draft.  None: not known then, and not looked at.
    """

    speedup: Range | None = None
    length: Range | None = None


@dataclass(frozen=True)
class KnownBest:
    """What was the best at one temperature.

    candidate: it, or the one nearest to no speculation where that was the best.  pays: whether it was faster.
    loads: by the key of each load point that the answer rested on.  life_sd: log SD between two lives of one engine.
    """

    temperature: float
    candidate: Candidate
    pays: bool
    loads: Mapping[str, Expected]
    life_sd: float = 0.01


@dataclass(frozen=True)
class Start:
    """Where a search begins.

    best: one for each temperature.  open_for: why the search goes on whatever these show, "" if it may end with them.
    """

    best: tuple[KnownBest, ...]
    open_for: str = ""

    def candidates(self, of: Sequence[Candidate]) -> tuple[Candidate, ...]:
        """Return what is measured first, among these: each best, then the next smaller and the next larger K."""
        if not _all_there(self.best, of):
            return ()
        found = {one.key: one for best in self.best for one in neighbours(best.candidate, of)}
        return tuple(found.values())


@dataclass(frozen=True)
class Held:
    """Whether what was known still holds, and why or why not, in a sentence."""

    holds: bool
    why: str


@dataclass(frozen=True)
class Doubt:
    """Log SD that a life is taken to have where its own is not known: between lives, and from a single repeat."""

    life_sd: float = 0.01
    repeat_sd: float = 0.015


def neighbours(best: Candidate, of: Sequence[Candidate]) -> list[Candidate]:
    """Return `best` and the candidates of its curve with the next smaller and the next larger K, none of them K = 0."""
    curve = next((c for c in curves(of) if any(one.key == best.key for one in c.candidates)), None)
    if curve is None:
        return []
    place = next(i for i, one in enumerate(curve.candidates) if one.key == best.key)
    return [curve.candidates[place], *curve.candidates[max(0, place - 1) : place], *curve.candidates[place + 1 :][:1]]


def still_holds(
    start: Start, candidates: Sequence[Candidate], history: History, loads: Sequence[LoadPoint], doubt: Doubt
) -> Held:
    """Return whether the earlier answer holds, by single lives of each best and its neighbours, and why.

    It does where, at every temperature, no neighbour is faster than the best by more than noise, and the best's speedup
    and acceptance length lie within what is expected at every load point. Where no speculation was the best, none of
    them may be faster than that by more than noise.
    """
    if start.open_for:
        return Held(False, start.open_for)
    for best in start.best:
        counting = [load for load in loads if load.key in best.loads]
        moved = _moved(best, neighbours(best.candidate, candidates), history, counting, doubt)
        if moved:
            at = f" at temperature {best.temperature:g}" if len(start.best) > 1 else ""
            return Held(False, f"{moved}{at}")
    return Held(True, "; ".join(_confirmed(best, candidates) for best in start.best))


def _moved(
    best: KnownBest, three: Sequence[Candidate], history: History, loads: Sequence[LoadPoint], doubt: Doubt
) -> str:
    """Return what has changed, "" for nothing."""
    plain = best.candidate.baseline
    for candidate in (plain, *three):
        if any(history.observed(candidate, load.key) is None for load in loads):
            return f"{candidate.label} could not be measured"
    winner = best.candidate if best.pays else plain
    for other in three:
        gain, sd = _gain(winner, other, history, loads, _larger(doubt, best.life_sd))
        if other.key != winner.key and gain > CERTAIN * sd:
            return f"{other.label} is {math.expm1(gain) * 100:.1f} % faster than {winner.label} now"
    for load in loads:
        found = _outside(best, load, history)
        if found:
            return found
    return ""


def _larger(doubt: Doubt, life_sd: float) -> Doubt:
    return Doubt(max(doubt.life_sd, life_sd), doubt.repeat_sd)


def _gain(
    one: Candidate, other: Candidate, history: History, loads: Sequence[LoadPoint], doubt: Doubt
) -> tuple[float, float]:
    """Return log(TPOT of one / TPOT of other), weighted over the load points, and its standard deviation."""
    whole = math.fsum(load.weight for load in loads)
    gain = variance = 0.0
    for load in loads:
        share = load.weight / whole
        pair = [history.observed(candidate, load.key) for candidate in (one, other)]
        seen = [observed for observed in pair if observed is not None]
        gain += share * (seen[0].log_tpot - seen[1].log_tpot)
        variance += share**2 * math.fsum(_se(observed, doubt) ** 2 for observed in seen)
    return gain, math.sqrt(variance + 2 * doubt.life_sd**2)  # what a life is off by, it is at all load points


def _se(observed: Observed, doubt: Doubt) -> float:
    return doubt.repeat_sd if observed.se is None else observed.se


def _outside(best: KnownBest, load: LoadPoint, history: History) -> str:
    expected = best.loads[load.key]
    seen, plain = (history.observed(c, load.key) for c in (best.candidate, best.candidate.baseline))
    if seen is None or plain is None:
        return ""
    rows = (
        ("speedup", math.exp(plain.log_tpot - seen.log_tpot), expected.speedup, "x"),
        ("acceptance length", seen.length, expected.length, ""),
    )
    for what, value, range_, unit in rows:
        if value is not None and range_ is not None and not range_[0] <= value <= range_[1]:
            return (
                f"the {what} of {best.candidate.label} is {value:.2f}{unit} ({load.label}), "
                f"expected was {range_[0]:.2f}-{range_[1]:.2f}{unit}"
            )
    return ""


def _confirmed(best: KnownBest, candidates: Sequence[Candidate]) -> str:
    beside = [one.label for one in neighbours(best.candidate, candidates)[1:]]
    if not best.pays:
        tried = " or ".join([best.candidate.label, *beside])
        return f"nothing was gained by {tried} then, and nothing is now"
    faster = f"{beside[0]} is not faster by more than noise, and " if len(beside) == 1 else ""
    if len(beside) > 1:
        faster = f"neither {' nor '.join(beside)} is faster by more than noise, and "
    return f"{faster}speedup and acceptance length of {best.candidate.label} are what they were"


def _all_there(best: Sequence[KnownBest], of: Sequence[Candidate]) -> bool:
    keys = {candidate.key for candidate in of}
    return all(one.candidate.key in keys for one in best)
