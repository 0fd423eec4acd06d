"""What every sampler of a sweep has in common: it reads its study, and never proposes a candidate twice."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from optuna.samplers import BaseSampler
from optuna.trial import TrialState

from tuner.records import Candidate, Json, Outcome, Tried
from tuner.search.attributes import CANDIDATE, NUMBER, OBSERVED, TOLD
from tuner.search.decision import Decision
from tuner.search.observing import Comparing, Told, told_from
from tuner.search.parameters import Parameters

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial


Known = tuple[float, Told]
"""The number of a candidate's record, infinite where it has none yet, and what came of it."""


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
        self._ended: list[Known] | None = None
        self._running: dict[str, Known] = {}
        self._comparing = Comparing()

    @abstractmethod
    def nothing(self, study: Study) -> Decision | None:
        """Return why no trial is to be begun now, None if one is."""

    @abstractmethod
    def choose(self, study: Study, trial: FrozenTrial) -> Candidate:
        """Return a candidate that was not tried yet; there is one, or `nothing` would have said so."""

    def planned(self) -> Candidate | None:
        """Return the next candidate where that is known before there is a trial, None where Optuna is to propose it."""
        return None

    def tried(self, study: Study) -> list[Tried]:
        """Return what became of each candidate that was begun: in the order of their records, running ones last."""
        known = self._read(study) if self._ended is None else [*self._ended, *self._running.values()]
        known.sort(key=lambda one: one[0])
        return self._comparing.comparable([told for _, told in known])

    def remember(self, study: Study) -> None:
        """Read the study, in which nothing runs, for the last time: from now on `note` says what begins and ends.

        Optuna reads all running trials from the database again whenever it is asked for trials: with many workers that
        costs more than all else that a search does.
        """
        self._ended = self._read(study)

    def note(self, candidate: Candidate, state: TrialState, attrs: Mapping[str, Json]) -> None:
        """Take note of a trial that began or ended; nothing before `remember`.  attrs: as the study has them."""
        if self._ended is None or candidate.key not in self._by_key:
            return
        self._running.pop(candidate.key, None)
        known = _known(candidate, state, attrs)
        if state is TrialState.RUNNING:
            self._running[candidate.key] = known
        else:
            self._ended.append(known)

    def _read(self, study: Study) -> list[Known]:
        trials = study.get_trials(deepcopy=False)
        begun = [(trial, candidate) for trial in trials if (candidate := self._candidate(trial)) is not None]
        return [_known(candidate, trial.state, trial.user_attrs) for trial, candidate in begun]

    def _candidate(self, trial: FrozenTrial) -> Candidate | None:
        """Return what a trial is of; None for what a killed sweep left, and for a candidate that is not in the space.

        A running trial may not have its key yet.
        """
        if trial.user_attrs.get(TOLD) or trial.state is TrialState.COMPLETE:
            return self._by_key.get(trial.user_attrs.get(CANDIDATE, ""))
        return self.parameters.candidate(trial.params) if trial.state is TrialState.RUNNING else None

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


def _known(candidate: Candidate, state: TrialState, attrs: Mapping[str, Json]) -> Known:
    number = attrs.get(NUMBER)
    place = number if isinstance(number, int) else float("inf")
    if state is TrialState.RUNNING:
        return place, Told(Tried(candidate, Outcome.RUNNING), {})
    if OBSERVED in attrs:
        return place, told_from(candidate, attrs[OBSERVED])
    return place, Told(Tried(candidate, Outcome.MEASURED if state is TrialState.COMPLETE else Outcome.FAILED), {})
