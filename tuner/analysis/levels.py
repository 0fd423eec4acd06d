"""How sure each claim of a sweep has to be, so that all of them together are wrong in at most 5 % of sweeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tuner.analysis.eligibility import Contender
from tuner.analysis.statistics import CONFIDENCE
from tuner.records import LoadPoint

Loads = tuple[LoadPoint, ...]
Claim = tuple[str, frozenset[int]]
"""Key of a candidate and the concurrencies at which it is said to pay."""

SPENDING = (0.4, 0.6)
"""How the looks at fresh lives share the error, where the number of lives adapts; most sweeps end with the first."""
ADAPTIVE_CONFIDENCE = (0.96, 0.97)
"""Of the intervals of the two looks at fresh lives whose number adapts."""
SLOWER_SHARE = 0.5
"""Part of a look's share for the claim that a finalist is slower: three rounds of real noise are not quite normal, and
this leaves a reserve. What is called too seldom is advice against speculation, which `serve.yaml` gives anyway."""
MAIN_SHARE = 0.8
"""Share of the error that the claims made before the fresh lives may use; all else that they show has the rest."""


@dataclass(frozen=True)
class Levels:
    """Confidence of the claim that a contender pays: `main` for each of `main_claims`, `other` for any other one.

    slower: of the claim that a contender is slower than no speculation.
    main_claims: see claim_of.  of_intervals: confidence of the intervals that are shown.
    """

    other: float
    slower: float = CONFIDENCE
    main: float = 1.0
    main_claims: tuple[Claim, ...] = ()
    of_intervals: float = CONFIDENCE

    def of(self, contender: Contender, loads: Loads) -> float:
        """Return the confidence that the claim "it pays at these load points" needs."""
        return self.main if claim_of(contender, loads) in self.main_claims else self.other


def claim_of(contender: Contender, loads: Loads) -> Claim:
    """Return what identifies the claim that a contender pays at these load points."""
    return contender.figures.candidate.key, frozenset(load.concurrency for load in loads)


def per_sweep_confidence(comparisons: int) -> float:
    """Return the level of each of so many comparisons that keeps the error of all of them together at 5 %."""
    return 1 - (1 - CONFIDENCE) / max(comparisons, 1)


def screening_levels(contenders: int) -> Levels:
    """Return the levels of a single life each: any of the contenders may be the lucky one (Bonferroni)."""
    return Levels(other=per_sweep_confidence(contenders))


@dataclass(frozen=True)
class Look:
    """A look at the fresh lives.  part: of the error of 5 % that it may spend; those of all looks together are 1."""

    part: float
    last: bool = True


def looks(lives: int, max_lives: int) -> tuple[Look, ...]:
    """Return the looks at the lives that a sweep may take; a single one where their number is fixed."""
    return (Look(SPENDING[0], last=False), Look(SPENDING[1])) if max_lives > lives else (Look(1.0),)


def look_confidence(look: Look) -> float:
    """Return the confidence of the intervals of a look.

    A sweep ends at its first look more often where the spread came out small by luck, so that plain 95 % intervals
    cover too seldom. Both looks together cover in 93 % of sweeps at the very least, and in about 95 % of simulated
    ones; the second, which only sweeps with much noise reach, needs the more.
    """
    if look.part == 1.0:
        return CONFIDENCE
    first, last = ADAPTIVE_CONFIDENCE
    return last if look.last else first


def final_levels(main_claims: Sequence[Claim], finalists: int, loads: Loads, look: Look, answers: int) -> Levels:
    """Return the levels of fresh lives, measured after the claims were made: one, or one for each of two close rivals.

    The look's part of the error is shared by the `answers` (temperatures) equally. Of each share the main claims get
    MAIN_SHARE in equal parts, all other claims that the lives could support (each finalist, up to each concurrency or
    at it alone) the rest together.
    """
    share = (1 - CONFIDENCE) * look.part / answers
    others = finalists * (2 * len({load.concurrency for load in loads}) - 1) - len(main_claims)
    main = share * (MAIN_SHARE if others else 1.0)
    return Levels(
        other=1 - (share - main) / others if others else 1.0,
        slower=1 - share * SLOWER_SHARE,
        main=1 - main / len(main_claims),
        main_claims=tuple(main_claims),
        of_intervals=look_confidence(look),
    )
