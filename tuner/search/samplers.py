"""The ways to choose what is measured: names, what each needs, and when it has nothing left to ask."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol

from tuner.errors import InputError
from tuner.records import Candidate, LoadPoint, Tried
from tuner.search.decision import Decision
from tuner.search.guided import Guided, GuidedSettings
from tuner.search.known import Doubt, Held, Start
from tuner.search.known_first import KnownFirst
from tuner.search.left import Predicted, predicted_speedups
from tuner.search.parameters import Parameters
from tuner.space.search_space import GRID, GUIDED, SAMPLERS

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler

    from tuner.search.choosing import Choosing


class Policy(Protocol):
    """Chooses from what is known; a pure function of its arguments."""

    def next(self, tried: Sequence[Tried]) -> Decision:
        """Return the next candidate, or that there is none now, or none any more."""


@dataclass(frozen=True)
class Search:
    """How candidates are chosen.

    sampler: its name.  loads: the load points that count.  settings: of the guided search.
    start: what an earlier sweep found best, None to begin from nothing.
    """

    sampler: str = GUIDED
    loads: tuple[LoadPoint, ...] = ()
    settings: GuidedSettings = field(default_factory=GuidedSettings)
    start: Start | None = None

    def policy(self, candidates: Sequence[Candidate]) -> Policy:
        """Return what says when the search has its answer: from the records alone, without a study."""
        return self._known_first(candidates) or self._whole(candidates)

    def _whole(self, candidates: Sequence[Candidate]) -> Policy:
        if self.sampler == GUIDED:
            return Guided(candidates, self.loads, self.settings)
        return InOrder(candidates)

    def _known_first(self, candidates: Sequence[Candidate]) -> KnownFirst | None:
        if self.start is None:
            return None
        doubt = Doubt(self.settings.life_sd, self.settings.repeat_sd)
        stops = self.sampler == GUIDED
        return KnownFirst(self.start, self._whole(candidates), candidates, self.loads, doubt, may_stop=stops)

    def first(self, candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
        """Return what is measured first because an earlier sweep found it best; () for nothing."""
        known = self._known_first(candidates)
        return known.first if known else ()

    def held(self, candidates: Sequence[Candidate], tried: Sequence[Tried]) -> Held | None:
        """Return whether what an earlier sweep found still holds; None where that is not asked or not known yet."""
        known = self._known_first(candidates)
        return known.held(tried) if known else None

    def make(self, candidates: Sequence[Candidate], parameters: Parameters) -> Choosing:
        """Return the Optuna sampler.  Raises InputError where it lacks a library or is not known."""
        if self.sampler in (GUIDED, GRID):
            from tuner.search.guided_sampler import PolicySampler

            return PolicySampler(self.policy(candidates), candidates, parameters)
        from tuner.search.mapped_sampler import MappedSampler

        return MappedSampler(_inner(self.sampler), candidates, parameters, self.first(candidates))

    def predicted(self, candidates: Sequence[Candidate], tried: Sequence[Tried]) -> dict[str, Predicted]:
        """Return the speedup over no speculation that is predicted of what was not measured, by candidate key."""
        if self.sampler != GUIDED:
            return {}
        return predicted_speedups(Guided(candidates, self.loads, self.settings).report(tried), tried)

    def expected(self, candidates: Sequence[Candidate]) -> int:
        """Return how many candidates will be measured in all, a guess where that depends on what is found.

        The guided search: the baseline, three K of each draft, and two starts for each further set of engine arguments.
        """
        if self.sampler != GUIDED:
            return len(candidates)
        groups = len({candidate.args_key for candidate in candidates})
        ks: dict[str, set[int]] = {}
        for candidate in candidates:
            if candidate.speculation:
                ks.setdefault(candidate.draft_name, set()).add(candidate.k)
        return min(len(candidates), 1 + sum(min(3, len(of_draft)) for of_draft in ks.values()) + 2 * (groups - 1))


class InOrder:
    """Every candidate once, in the order of the space."""

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self._candidates = tuple(candidates)

    def next(self, tried: Sequence[Tried]) -> Decision:
        """Return the first candidate that was not tried yet; done where all were."""
        known = {one.candidate.key for one in tried}
        left = next((candidate for candidate in self._candidates if candidate.key not in known), None)
        return Decision(left, left is None, "")


RANDOM_STARTS = 4
"""Trials after which TPE and GP begin to model: Optuna's own 10 are more engine starts than a sweep should need."""


def _inner(name: str) -> Callable[[int], BaseSampler]:
    """Return what makes Optuna's own sampler of a seed."""
    from optuna.samplers import GPSampler, RandomSampler, TPESampler

    if name == "gp" and find_spec("torch") is None:
        hint = "Install torch beside the tuner (the CPU build will do), or choose another sampler."
        raise InputError("Optuna's GP sampler needs torch, and this environment has none.", hint)
    samplers: dict[str, Callable[[int], BaseSampler]] = {
        "random": lambda seed: RandomSampler(seed=seed),
        "tpe": lambda seed: TPESampler(seed=seed, n_startup_trials=RANDOM_STARTS),
        "gp": lambda seed: GPSampler(seed=seed, n_startup_trials=RANDOM_STARTS),
    }
    if name not in samplers:
        raise InputError(f"There is no sampler {name!r}.", f"Name one of {', '.join(SAMPLERS)}.")
    return samplers[name]
