"""What every sampler of a sweep has in common: it reads its study, and never proposes a candidate twice."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from optuna.samplers import BaseSampler
from optuna.trial import TrialState

from tuner.records import Candidate, Outcome, Tried
from tuner.search.attributes import CANDIDATE, CONSTRAINTS, NUMBER, OBSERVED, TOLD
from tuner.search.decision import Decision
from tuner.search.observing import Comparing, Told, told_from
from tuner.search.parameters import Parameters

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial


class Choosing(BaseSampler):
    """An Optuna sampler that samples all parameters of a candidate at once, or says that there is none to sample.

    why: words on the last candidate, "" where there is nothing to say.  chosen: the last candidate, None before the
    first.
    """

    def __init__(self, candidates: Sequence[Candidate], parameters: Parameters) -> None:
        self.why = ""
        self.chosen: Candidate | None = None
        self.candidates = tuple(candidates)
        self.parameters = parameters
        self._by_key = {candidate.key: candidate for candidate in candidates}
        self._read: dict[int, Told] = {}
        self._comparing = Comparing()

    @abstractmethod
    def nothing(self, study: Study) -> Decision | None:
        """Return why no trial is to be begun now, None if one is."""

    @abstractmethod
    def choose(self, study: Study, trial: FrozenTrial) -> Candidate:
        """Return a candidate that was not tried yet; there is one, or `nothing` would have said so."""

    def tried(self, study: Study) -> list[Tried]:
        """Return what became of each candidate that was begun: in the order of their records, running ones last."""
        trials = study.get_trials(deepcopy=False)
        begun = [(trial, candidate) for trial in trials if (candidate := self._candidate(trial)) is not None]
        begun.sort(key=lambda pair: pair[0].user_attrs.get(NUMBER, float("inf")))
        return self._comparing.comparable([self._told(trial, candidate) for trial, candidate in begun])

    def _candidate(self, trial: FrozenTrial) -> Candidate | None:
        """Return what a trial is of; None for what a killed sweep left, and for a candidate that is not in the space.

        A running trial may not have its key yet.
        """
        if trial.user_attrs.get(TOLD) or trial.state is TrialState.COMPLETE:
            return self._by_key.get(trial.user_attrs.get(CANDIDATE, ""))
        return self.parameters.candidate(trial.params) if trial.state is TrialState.RUNNING else None

    def _told(self, trial: FrozenTrial, candidate: Candidate) -> Told:
        if trial.state is TrialState.RUNNING:
            return Told(Tried(candidate, Outcome.RUNNING), {})
        if trial._trial_id not in self._read:
            observed = trial.user_attrs.get(OBSERVED)
            outcome = Outcome.MEASURED if trial.state is TrialState.COMPLETE else Outcome.FAILED
            found = Told(Tried(candidate, outcome), {}) if observed is None else told_from(candidate, observed)
            self._read[trial._trial_id] = found
        return self._read[trial._trial_id]

    # ---- what Optuna calls

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """Return all parameters: they are sampled together."""
        return dict(self.parameters.distributions)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Return the parameters of the next candidate."""
        self.chosen = self.choose(study, trial)
        return dict(self.parameters.of(self.chosen))

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Refuse: a parameter that is not of the study's space belongs to no candidate."""
        raise ValueError(f"{param_name} is no parameter of this sweep: {', '.join(self.parameters.distributions)}")

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        """Hand the trial's constraints to Optuna in the form that all its samplers and dashboards read."""
        constraints = trial.user_attrs.get(CONSTRAINTS)
        if constraints is not None:
            study._storage.set_trial_system_attr(trial._trial_id, CONSTRAINTS, constraints)
