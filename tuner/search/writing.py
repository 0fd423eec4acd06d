"""How trials get into Optuna's study: a new one in one transaction, and nothing that only a reader needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tuner.records import Candidate, Json
from tuner.search.attributes import CANDIDATE, CONSTRAINTS, TOLD
from tuner.search.parameters import Parameters

if TYPE_CHECKING:
    from optuna import Study
    from optuna.storages import RDBStorage
    from optuna.trial import TrialState


def begin(study: Study, candidate: Candidate, parameters: Parameters) -> int:
    """Begin a trial of this candidate and return its id."""
    from optuna.trial import TrialState, create_trial

    trial = create_trial(
        state=TrialState.RUNNING,
        params=parameters.of(candidate),
        distributions=dict(parameters.distributions),
        user_attrs={CANDIDATE: candidate.key},
    )
    return study._storage.create_new_trial(study._study_id, trial)


def tell(study: Study, trial_id: int, values: Sequence[float] | None, attrs: Mapping[str, Json]) -> None:
    """End a trial.  values: None if it failed.

    Not by Optuna's own `tell`, which reads the trial back first, and the sampler's `after_trial`.
    """
    storage = study._storage
    for name, value in {**attrs, TOLD: True}.items():
        storage.set_trial_user_attr(trial_id, name, value)
    for name, value in _for_optuna(attrs).items():
        storage.set_trial_system_attr(trial_id, name, value)
    storage.set_trial_state_values(trial_id, state_of(values), values)


def add(
    study: Study,
    candidate: Candidate,
    parameters: Parameters | None,
    values: Sequence[float] | None,
    attrs: Mapping[str, Json],
) -> None:
    """Add a trial that has ended.  parameters: None where the candidate is not in the study's space."""
    from optuna.trial import create_trial

    trial = create_trial(
        state=state_of(values),
        values=None if values is None else list(values),
        params=parameters.of(candidate) if parameters else {},
        distributions=dict(parameters.distributions) if parameters else {},
        user_attrs={**attrs, CANDIDATE: candidate.key, TOLD: True},
        system_attrs=_for_optuna(attrs),
    )
    study.add_trial(trial)


def enqueued(study: Study, database: RDBStorage) -> bool:
    """Whether somebody enqueued a trial in a dashboard; asked of the database, which looks up only such trials."""
    from optuna.trial import TrialState

    return bool(database.get_all_trials(study._study_id, deepcopy=False, states=(TrialState.WAITING,)))


def state_of(values: Sequence[float] | None) -> TrialState:
    """Return the state of a trial that ended with these values, None for none."""
    from optuna.trial import TrialState

    return TrialState.FAIL if values is None else TrialState.COMPLETE


def _for_optuna(attrs: Mapping[str, Json]) -> dict[str, Json]:
    """Return the constraints in the form that all of Optuna's samplers and dashboards read."""
    return {CONSTRAINTS: attrs[CONSTRAINTS]} if attrs.get(CONSTRAINTS) is not None else {}
