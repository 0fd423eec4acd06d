"""Strategies that use no model: grid, random, and binary search on K."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tests.searchbench.strategy import measured_gains
from tests.searchbench.surfaces import Surface
from tuner.records import Candidate, Tried
from tuner.search.guided import Decision


class Grid:
    """Every candidate, K ascending; the drafts take turns, which serves a grid that is cut short best."""

    name = "grid"

    def __init__(self, surface: Surface) -> None:
        self._order: Sequence[Candidate] = sorted(surface.candidates, key=lambda c: c.k)

    def next(self, tried: Sequence[Tried]) -> Decision:
        """Return the first candidate that was not tried."""
        done = {one.candidate.key for one in tried}
        found = next((c for c in self._order if c.key not in done), None)
        return Decision(found, found is None, "the next in order")


class RandomOrder(Grid):
    """Every candidate in random order, none twice."""

    name = "random"

    def __init__(self, surface: Surface, seed: int) -> None:
        random = np.random.default_rng([surface.seed, seed, 5])
        self._order = [surface.candidates[i] for i in random.permutation(len(surface.candidates))]


class Binary:
    """Binary search on K for each draft, as is common practice: it takes the curve to have one peak.

    Measures the middle K and the one after it, and keeps the half that the faster of the two is in. Drafts take turns.
    """

    name = "binary"

    def __init__(self, surface: Surface) -> None:
        self._surface = surface

    def next(self, tried: Sequence[Tried]) -> Decision:
        """Return the next candidate that the search of the draft with the fewest runs compares."""
        gains = measured_gains(self._surface, tried)
        done = [one.candidate.key for one in tried]
        drafts = [one.candidate.draft_name for one in tried]
        for draft in sorted(self._surface.drafts, key=drafts.count):
            curve = sorted((c for c in self._surface.candidates if c.draft_name == draft), key=lambda c: c.k)
            missing = next((c for c in _path(curve, gains, done)), None)
            if missing is not None:
                return Decision(missing, False, f"where the search of {draft} stands")
        return Decision(None, True, "searched")


def _path(curve: Sequence[Candidate], gains: Mapping[str, float], done: Sequence[str]) -> Iterator[Candidate]:
    """Yield what the search of one draft still needs next; what failed is slower than anything."""
    low, high = 0, len(curve) - 1
    while low < high:
        middle = (low + high) // 2
        pair = curve[middle], curve[middle + 1]
        yield from (c for c in pair if c.key not in done)
        left, right = (gains.get(c.key, -np.inf) for c in pair)
        low, high = (middle + 1, high) if right > left else (low, middle)
    yield from (c for c in curve[low : low + 1] if c.key not in done)
