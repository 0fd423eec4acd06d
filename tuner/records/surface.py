"""K x concurrency: what each K brings at each concurrency, and which is best where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tuner.records.candidate import Candidate
from tuner.records.figure import Figure


class Effect(StrEnum):
    """What speculation does at some load points, by the 95 % interval: UNCLEAR where that holds 1."""

    PAYS = "pays"
    SLOWER = "slower"
    UNCLEAR = "unclear"


@dataclass(frozen=True)
class Cell:
    """One K at one concurrency.

    speedup: over the load points of that concurrency; value None with the reason as its note where this K failed.
    lives: fresh engine lives that it rests on, 1 for a single life.  barred: whether this candidate may not win.
    """

    k: int
    concurrency: int
    speedup: Figure
    lives: int = 1
    barred: bool = False

    @property
    def effect(self) -> Effect:
        """What this K does there, by the interval of its speedup; UNCLEAR without one."""
        low, high = self.speedup.low, self.speedup.high
        if low is not None and low > 1:
            return Effect.PAYS
        return Effect.SLOWER if high is not None and high < 1 else Effect.UNCLEAR


class Border(StrEnum):
    """Where speculation stops paying between two cells: by their whole intervals, or by their values alone."""

    PROVEN = "proven"
    OPEN = "open"


def border(one: Cell | None, other: Cell | None) -> Border | None:
    """Return what lies between two neighbouring cells; None where one has no value or both are on one side of 1."""
    values = [cell.speedup.value for cell in (one, other) if cell is not None and cell.speedup.value is not None]
    if one is None or other is None or len(values) < 2 or (values[0] > 1) == (values[1] > 1):
        return None
    return Border.PROVEN if {one.effect, other.effect} == {Effect.PAYS, Effect.SLOWER} else Border.OPEN


@dataclass(frozen=True)
class BestK:
    """What is best at some load points, of one draft or of all.

    best: the fastest, or the candidate of smallest K in its line that noise does not separate from it; the baseline
    where none is clearly faster than no speculation.
    fastest: of those that are clearly faster than no speculation, else of all.
    speedup: of `best`, of `fastest` where that is the baseline.  lives: engine lives that it rests on.
    not_excluded: candidates that noise does not separate from the fastest, the baseline included where it is one.
    effect: SLOWER only where every candidate is clearly slower.
    """

    best: Candidate
    fastest: Candidate
    speedup: Figure
    lives: int
    not_excluded: tuple[Candidate, ...]
    effect: Effect


@dataclass(frozen=True)
class Crossover:
    """Where speculation stops paying: the effect at each measured concurrency, ascending."""

    effects: Mapping[int, Effect] = field(default_factory=dict)

    def at(self, effect: Effect) -> tuple[int, ...]:
        """Return the concurrencies with that effect, ascending."""
        return tuple(concurrency for concurrency, found in sorted(self.effects.items()) if found is effect)

    @property
    def between(self) -> tuple[int, int] | None:
        """The last concurrency at which it pays and the first one at which it is slower.

        None where either is missing, or where it pays above a concurrency at which it is slower.
        """
        pays, slower = self.at(Effect.PAYS), self.at(Effect.SLOWER)
        return (pays[-1], slower[0]) if pays and slower and pays[-1] < slower[0] else None


@dataclass(frozen=True)
class DraftSurface:
    """One draft with one set of engine arguments.

    ks: those that the space has, 0 left out, ascending.  cells: measured and failed ones; the rest was not measured.
    best: by concurrency.  static: the best single K over all load points by their weights, None where no K has a
    figure at each of them.
    """

    draft_name: str
    method: str
    args_key: str
    ks: tuple[int, ...]
    cells: tuple[Cell, ...]
    best: Mapping[int, BestK]
    static: BestK | None = None


@dataclass(frozen=True)
class Surface:
    """K x concurrency at one temperature.

    drafts: in the space's order.  best, static: of all drafts, as in DraftSurface.
    crossover: with the best K at each concurrency.  static_crossover: with the best single K at all of them.
    """

    concurrencies: tuple[int, ...]
    drafts: tuple[DraftSurface, ...]
    best: Mapping[int, BestK]
    crossover: Crossover
    static: BestK | None = None
    static_crossover: Crossover = field(default_factory=Crossover)
