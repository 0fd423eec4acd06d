"""Strategies that use no model: grid, random, and binary search on K."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.searchbench.strategy import measured_gains
from tests.searchbench.surfaces import Surface
from tuner.records import Candidate, Tried
from tuner.search.guided import Decision


class Grid:
    """Every candidate in the order of the search space: draft by draft, K ascending."""

    name = "grid"

    def __init__(self, surface: Surface) -> None:
        self._order: Sequence[Candidate] = surface.candidates

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
    """Binary search on K for each draft in turn, as is common practice: it takes the curve to have one peak.

    Measures the middle K and the one after it, and keeps the half that the faster of the two is in.
    """

    name = "binary"

    def __init__(self, surface: Surface) -> None:
        self._surface = surface

    def next(self, tried: Sequence[Tried]) -> Decision:
        """Return the next candidate that the search compares."""
        gains = measured_gains(self._surface, tried)
        done = {one.candidate.key for one in tried}
        for draft in self._surface.drafts:
            curve = sorted((c for c in self._surface.candidates if c.draft_name == draft), key=lambda c: c.k)
            low, high = 0, len(curve) - 1
            while low < high:
                middle = (low + high) // 2
                missing = next((c for c in (curve[middle], curve[middle + 1]) if c.key not in done), None)
                if missing is not None:
                    return Decision(missing, False, "the middle, and the one after it")
                left, right = (gains.get(curve[i].key, -np.inf) for i in (middle, middle + 1))
                low, high = (middle + 1, high) if right > left else (low, middle)
            if curve and curve[low].key not in done:
                return Decision(curve[low], False, "what the search ended at")
        return Decision(None, True, "searched")
