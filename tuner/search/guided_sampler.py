"""A policy of the tuner's own as an Optuna sampler: the guided search, and the grid in its order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tuner.records import Candidate
from tuner.search.choosing import Choosing
from tuner.search.decision import Decision
from tuner.search.parameters import Parameters

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import FrozenTrial

    from tuner.search.samplers import Policy


class PolicySampler(Choosing):
    """Asks the policy with what the study's own trials say."""

    def __init__(self, policy: Policy, candidates: Sequence[Candidate], parameters: Parameters) -> None:
        super().__init__(candidates, parameters)
        self._policy = policy
        self._next: Candidate | None = None

    def nothing(self, study: Study) -> Decision | None:
        """Return the policy's decision if it has no candidate; else remember the candidate for `choose`."""
        decision = self._decide(study)
        self._next, self.why = decision.candidate, decision.why
        return decision if decision.candidate is None else None

    def planned(self) -> Candidate | None:
        """Return the candidate that `nothing` found."""
        return self._next

    def choose(self, study: Study, trial: FrozenTrial) -> Candidate:
        """Return the policy's candidate.  ValueError if it has none: whoever asks calls `nothing` first."""
        candidate, self._next = self._next or self._decide(study).candidate, None
        if candidate is None:
            raise ValueError("there is nothing to measure now")
        return candidate

    def _decide(self, study: Study) -> Decision:
        tried = self.tried(study)
        decision = self._policy.next(tried)
        chosen = decision.candidate
        if chosen is not None and (chosen.key not in self._by_key or any(chosen.key == t.candidate.key for t in tried)):
            raise ValueError(f"the search proposed {chosen.label}, which is no candidate or was tried before")
        return decision
