"""Optuna's own samplers over the candidates of a sweep: a proposal becomes the nearest candidate that is left."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from optuna.distributions import IntDistribution
from optuna.samplers import BaseSampler

from tuner.records import Candidate, short_hash
from tuner.search.choosing import Choosing
from tuner.search.decision import Decision
from tuner.search.parameters import Parameters

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import FrozenTrial


class MappedSampler(Choosing):
    """Asks another sampler until every candidate was tried.

    make: a new inner sampler of that seed.  Each trial gets one, seeded with its number: what is proposed follows from
    the study alone, and a sweep that was interrupted goes on as it would have.  first: what comes before any proposal.
    """

    def __init__(
        self,
        make: Callable[[int], BaseSampler],
        candidates: Sequence[Candidate],
        parameters: Parameters,
        first: Sequence[Candidate] = (),
    ) -> None:
        super().__init__(candidates, parameters)
        self._make = make
        self._first = tuple(first)

    def nothing(self, study: Study) -> Decision | None:
        """Return that all is done once no candidate is left."""
        return None if self._left(study) else Decision(None, True, "")

    def choose(self, study: Study, trial: FrozenTrial) -> Candidate:
        """Return the candidate that is nearest to the proposal; of several, one by lot.  ValueError if none is left."""
        left = self._left(study)
        if not left:
            raise ValueError("there is nothing to measure any more")
        known = next((candidate for candidate in self._first if candidate in left), None)
        if known is not None:
            return known
        proposed = self._proposal(study, trial)
        lot = {candidate.key: short_hash([trial.number, candidate.key]) for candidate in left}
        return min(left, key=lambda candidate: (self._distance(proposed, candidate), lot[candidate.key]))

    def _left(self, study: Study) -> list[Candidate]:
        known = {one.candidate.key for one in self.tried(study)}
        return [candidate for candidate in self.candidates if candidate.key not in known]

    def _proposal(self, study: Study, trial: FrozenTrial) -> dict[str, Any]:
        inner = self._make(trial.number)
        proposed = inner.sample_relative(study, trial, inner.infer_relative_search_space(study, trial))
        for name, distribution in self.parameters.distributions.items():
            if name not in proposed and not distribution.single():
                proposed[name] = inner.sample_independent(study, trial, name, distribution)
        return proposed

    def _distance(self, proposed: Mapping[str, Any], candidate: Candidate) -> float:
        """Return how far a candidate is from a proposal: 1 for each other choice, less for another K."""
        values = self.parameters.of(candidate)
        total = 0.0
        for name, distribution in self.parameters.distributions.items():
            wanted, value = proposed.get(name, values[name]), values[name]
            if isinstance(distribution, IntDistribution) and isinstance(value, int):
                total += abs(wanted - value) / (distribution.high - distribution.low + 1)
            else:
                total += wanted != value
        return total
