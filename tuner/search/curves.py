"""Candidates as curves over K, and what was tried of them. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from tuner.analysis.arcs import curve_name
from tuner.records import Candidate, Observed, Outcome, Tried
from tuner.search.feasible import ruled_out


@dataclass(frozen=True)
class Curve:
    """Candidates that differ in K alone, K ascending.

    family: method and draft model: curves of one family have other engine arguments or options.
    """

    candidates: tuple[Candidate, ...]

    @cached_property
    def ks(self) -> tuple[int, ...]:
        """Every K."""
        return tuple(c.k for c in self.candidates)

    @property
    def family(self) -> tuple[str, str | None]:
        """Method and draft."""
        spec = self.candidates[0].speculation
        return (spec.method, spec.draft) if spec else ("", None)

    @cached_property
    def name(self) -> str:
        """Identity of the curve."""
        return curve_name(self.candidates[0])

    @property
    def args_key(self) -> str:
        """Identity of the engine arguments."""
        return self.candidates[0].args_key


def curves(candidates: Iterable[Candidate]) -> tuple[Curve, ...]:
    """Return a curve per draft, options and engine arguments, in the order in which they first appear."""
    groups: dict[str, dict[int, Candidate]] = {}
    for candidate in candidates:
        if candidate.k:
            groups.setdefault(curve_name(candidate), {}).setdefault(candidate.k, candidate)
    return tuple(Curve(tuple(group[k] for k in sorted(group))) for group in groups.values())


@dataclass(frozen=True)
class History:
    """What became of the candidates, repeats of one candidate put together."""

    tried: tuple[Tried, ...]

    @cached_property
    def outcomes(self) -> dict[str, Outcome]:
        """Outcome by candidate key; MEASURED wins over others, and is FAILED where no load point was measured."""
        found: dict[str, Outcome] = {}
        for one in self.tried:
            if found.get(one.candidate.key) is not Outcome.MEASURED:
                empty = one.outcome is Outcome.MEASURED and not one.loads
                found[one.candidate.key] = Outcome.FAILED if empty else one.outcome
        return found

    @cached_property
    def running(self) -> int:
        """How many candidates are running."""
        return sum(outcome is Outcome.RUNNING for outcome in self.outcomes.values())

    @cached_property
    def _lives(self) -> dict[tuple[str, str], list[Observed]]:
        found: dict[tuple[str, str], list[Observed]] = {}
        for one in self.tried:
            if one.outcome is Outcome.MEASURED:
                for load, observed in one.loads.items():
                    found.setdefault((one.candidate.key, load), []).append(observed)
        return found

    @cached_property
    def _noise(self) -> dict[str, float]:
        """Root mean square of the standard errors, by load point: a single one is of few repeats."""
        squares: dict[str, list[float]] = {}
        for (_, load), lives in self._lives.items():
            squares.setdefault(load, []).extend(o.se**2 for o in lives if o.se is not None)
        return {load: math.sqrt(math.fsum(values) / len(values)) for load, values in squares.items() if values}

    def observed(self, candidate: Candidate, load: str) -> Observed | None:
        """Return what a candidate's lives said at a load point, the mean of them; None if none was measured."""
        lives = self._lives.get((candidate.key, load))
        if not lives:
            return None
        mean = math.fsum(o.log_tpot for o in lives) / len(lives)
        se = self._noise.get(load)
        return replace(lives[0], log_tpot=mean, se=None if se is None else se / math.sqrt(len(lives)))

    @cached_property
    def _without_memory(self) -> tuple[Candidate, ...]:
        return tuple(one.candidate for one in self.tried if one.outcome is Outcome.MEMORY)

    @cached_property
    def _args_failed(self) -> frozenset[str]:
        """Engine arguments whose baseline did not run: nothing can be compared there."""
        failed = {o.candidate.args_key for o in self.tried if o.candidate.k == 0 and self._is_out(o.candidate)}
        return frozenset(failed)

    def _is_out(self, candidate: Candidate) -> bool:
        return self.outcomes.get(candidate.key) in (Outcome.FAILED, Outcome.MEMORY)

    def open(self, curve: Curve) -> tuple[Candidate, ...]:
        """Return the curve's candidates that may still be started, K ascending."""
        if curve.args_key in self._args_failed:
            return ()
        untried = (c for c in curve.candidates if c.key not in self.outcomes)
        return tuple(c for c in untried if ruled_out(c, self._without_memory) is None)

    def chance(self, curve: Curve, candidate: Candidate) -> float:
        """Return how likely a candidate has memory enough: between a K that had and one that had not, evenly spread."""
        without = min((c.k for c in self.of(curve, Outcome.MEMORY)), default=None)
        if without is None:
            return 1.0
        enough = max((c.k for c in self.of(curve, Outcome.MEASURED)), default=0)
        return 1.0 if candidate.k <= enough else (without - candidate.k) / (without - enough)

    def of(self, curve: Curve, *outcomes: Outcome) -> tuple[Candidate, ...]:
        """Return the curve's candidates with one of these outcomes, K ascending."""
        return tuple(c for c in curve.candidates if self.outcomes.get(c.key) in outcomes)
