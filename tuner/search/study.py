"""The sweep as an ordinary Optuna study, so that optuna-dashboard and Optuna's own tools can open it.

The records in the run directory are the truth; the study can be rebuilt from them and is, where it contradicts them.
Only the driver writes to it: what runs elsewhere returns values.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tuner.errors import InputError
from tuner.records import Candidate, Json, canonical_json
from tuner.search.database import (
    check_sqlite,
    database_errors,
    open_storage,
    set_aside_sqlite,
    without_password,
)

if TYPE_CHECKING:
    from optuna import Study as OptunaStudy
    from optuna.distributions import BaseDistribution
    from optuna.storages import RDBStorage
    from optuna.trial import FrozenTrial, Trial

Done = tuple[Candidate, Sequence[float] | None, Mapping[str, Json]]

_SPACE = "tuner:parameters"  # on every study that is ours; no other is ever rebuilt
_OBJECTIVES = "tuner:objectives"
_CANDIDATE = "candidate"
_TOLD = "told"  # tells a trial that failed from one that a killed sweep left running


class Study:
    """Hands out each candidate once, in order, and keeps what came of it.

    Parameters of the study: "arm" (the draft's name, "none" for the baseline), "k", and every engine argument that
    differs between candidates.  One objective per temperature, all minimised.
    notes: what had to be repaired, for a person.
    """

    def __init__(
        self, storage: RDBStorage, name: str, candidates: Sequence[Candidate], temperatures: Sequence[float]
    ) -> None:
        self.notes: list[str] = []
        self._storage = storage
        self._name = name
        self._objectives = [f"TPOT at temperature {temperature:g}" for temperature in temperatures]
        self._pending = {candidate.key: candidate for candidate in candidates}
        self._space = _distributions(tuple(self._pending.values()))
        self._running: dict[str, Trial] = {}
        self._study = self._create()

    @staticmethod
    def open(
        storage: str,
        name: str,
        candidates: Sequence[Candidate],
        temperatures: Sequence[float],
        *,
        replace_damaged: bool = True,
    ) -> Study:
        """Open or create the study; then call `reconcile` with what the run directory holds.

        storage: an Optuna storage URL ("sqlite:////absolute/study.db").  name: one per run, the fingerprint's hash in
        it.  candidates: in the order in which they are to be measured.  replace_damaged: move an SQLite file that
        cannot be read to "quarantine/" beside it and make a new one; False for a storage that the user named.
        InputError: the storage cannot be used, or has a study of that name that is not of this sweep.
        """
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        unusable = database_errors()
        try:
            try:
                check_sqlite(storage)
                return _readable(Study(open_storage(storage), name, candidates, temperatures))
            except unusable as error:
                moved = set_aside_sqlite(storage) if replace_damaged else None
                if moved is None:
                    raise
                study = Study(open_storage(storage), name, candidates, temperatures)
                study.notes.append(f"the study's database was damaged ({_first_line(error)}); set aside as {moved}")
                return study
        except unusable as error:
            hint = "Give an Optuna storage URL whose database exists, and install its driver."
            where = without_password(storage)
            raise InputError(f"the study's storage {where} cannot be used: {_first_line(error)}", hint) from error

    @property
    def waiting(self) -> int:
        """Candidates that were not asked for yet."""
        return len(self._pending)

    def close(self) -> None:
        """Let go of the database."""
        self._storage.engine.dispose()

    def ask(self) -> Candidate | None:
        """Return the next candidate that is neither measured nor being measured; None when there is none."""
        if not self._pending:
            return None
        key, candidate = next(iter(self._pending.items()))
        self._study.enqueue_trial(self._parameters(candidate), user_attrs={_CANDIDATE: key})
        self._running[key] = self._study.ask(self._space)
        del self._pending[key]
        return candidate

    def tell(self, candidate: Candidate, values: Sequence[float] | None, attrs: Mapping[str, Json]) -> None:
        """Keep what came of a candidate that `ask` returned.

        values: the objective at each temperature, None if it was not measured (state FAIL).  attrs: for people, shown
        in dashboards.  ValueError: not one finite number per temperature.  KeyError: the candidate is not running.
        """
        from optuna.trial import TrialState

        self._check(values)
        trial = self._running.pop(candidate.key)
        for name, value in {**attrs, _TOLD: True}.items():
            trial.set_user_attr(name, value)
        if values is None:
            self._study.tell(trial, state=TrialState.FAIL)
        else:
            self._study.tell(trial, list(values))

    def reconcile(self, done: Sequence[Done]) -> None:
        """Make the study agree with the records: call it once after opening, before the first `ask`.

        done: every candidate that was tried, with values and attributes as for `tell`.  Those are not asked again.
        What a killed sweep left running or waiting fails, and is asked again unless it is done.  Results that the
        study lacks are added; if it holds one that the records do not, it is rebuilt from them.
        """
        results = {candidate.key: (candidate, values, attrs) for candidate, values, attrs in done}
        for _, values, _ in results.values():
            self._check(values)
        self._fail_leftovers()
        if self._contradicts(results):
            self._rebuild()
        known = {trial.user_attrs[_CANDIDATE] for trial in self._told()}
        for key, result in results.items():
            if key not in known:
                self._study.add_trial(self._finished(*result))
            self._pending.pop(key, None)

    def _create(self) -> OptunaStudy:
        import optuna

        study = optuna.create_study(
            storage=self._storage,
            study_name=self._name,
            sampler=optuna.samplers.RandomSampler(seed=0),  # never asked: every parameter is enqueued
            directions=["minimize"] * len(self._objectives),
            load_if_exists=True,
        )
        if not study.user_attrs and not study.get_trials(deepcopy=False):
            study.set_user_attr(_OBJECTIVES, self._objectives)
            study.set_user_attr(_SPACE, _described(self._space))
        # load_if_exists silently ignores other directions, so what was loaded is compared.
        if _SPACE not in study.user_attrs or study.user_attrs.get(_OBJECTIVES) != self._objectives:
            hint = "Give another storage, or delete that study with optuna's own command."
            raise InputError(f"the storage has a study {self._name!r} that is not of this sweep", hint)
        return study

    def _told(self) -> list[FrozenTrial]:
        return [trial for trial in self._study.get_trials(deepcopy=False) if trial.user_attrs.get(_TOLD)]

    def _fail_leftovers(self) -> None:
        from optuna.trial import TrialState

        while self._study.get_trials(deepcopy=False, states=(TrialState.WAITING,)):
            self._study.ask()  # a waiting trial cannot be told; asking makes it a running one
        for trial in self._study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
            self._study.tell(trial.number, state=TrialState.FAIL)

    def _contradicts(self, results: Mapping[str, Done]) -> bool:
        if self._study.user_attrs[_SPACE] != _described(self._space):
            return True  # an old study refuses a new choice of a categorical parameter
        told = {trial.user_attrs[_CANDIDATE]: trial for trial in self._told()}
        return any(
            key not in results or not _agree(trial.values, results[key][1]) for key, trial in told.items()
        ) or len(told) < len(self._told())

    def _rebuild(self) -> None:
        import optuna

        if self._study.get_trials(deepcopy=False):
            self.notes.append(f"study {self._name} was rebuilt from the records")
        optuna.delete_study(study_name=self._name, storage=self._storage)
        self._study = self._create()

    def _finished(self, candidate: Candidate, values: Sequence[float] | None, attrs: Mapping[str, Json]) -> FrozenTrial:
        from optuna.trial import TrialState, create_trial

        return create_trial(
            state=TrialState.FAIL if values is None else TrialState.COMPLETE,
            values=None if values is None else list(values),
            params=self._parameters(candidate) if candidate.key in self._pending else {},
            distributions=self._space if candidate.key in self._pending else {},
            user_attrs={**attrs, _CANDIDATE: candidate.key, _TOLD: True},
        )

    def _parameters(self, candidate: Candidate) -> dict[str, _Choice]:
        return {name: value for name, value in _parameters(candidate).items() if name in self._space}

    def _check(self, values: Sequence[float] | None) -> None:
        # Optuna itself turns NaN into FAIL and keeps infinity as a result.
        if values is not None and (
            len(values) != len(self._objectives) or not all(math.isfinite(value) for value in values)
        ):
            raise ValueError(f"{list(values)} is not one finite number for each of {self._objectives}")


_Choice = str | int | float | bool | None


def _parameters(candidate: Candidate) -> dict[str, _Choice]:
    arguments = {name: _choice(value) for name, value in candidate.engine_args.items()}
    return {**arguments, "arm": candidate.draft_name, "k": candidate.k}


def _choice(value: Json) -> _Choice:
    return canonical_json(value) if isinstance(value, list | dict) else value


def _distributions(candidates: Sequence[Candidate]) -> dict[str, BaseDistribution]:
    """Return the study's parameters: arm, k, and the engine arguments of which there is more than one value."""
    from optuna.distributions import CategoricalDistribution, IntDistribution

    names = dict.fromkeys(name for candidate in candidates for name in candidate.engine_args)
    choices = {
        name: tuple(dict.fromkeys(_choice(candidate.engine_args.get(name)) for candidate in candidates))
        for name in names
    }
    space: dict[str, BaseDistribution] = {
        "arm": CategoricalDistribution(tuple(dict.fromkeys(candidate.draft_name for candidate in candidates))),
        "k": IntDistribution(0, max((candidate.k for candidate in candidates), default=0)),
    }
    for name, values in choices.items():
        if len(values) > 1:
            space[name] = CategoricalDistribution(values)
    return space


def _described(space: Mapping[str, BaseDistribution]) -> Json:
    from optuna.distributions import distribution_to_json

    described: Json = {name: json.loads(distribution_to_json(space[name])) for name in sorted(space)}
    return described


def _agree(one: Sequence[float] | None, other: Sequence[float] | None) -> bool:
    if one is None or other is None:
        return one is other
    return all(math.isclose(a, b, rel_tol=1e-9) for a, b in zip(one, other, strict=True))


def _readable(study: Study) -> Study:
    # Optuna reads lazily: damage inside a row would otherwise surface in the middle of the sweep.
    study._study.get_trials(deepcopy=False)
    return study


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
