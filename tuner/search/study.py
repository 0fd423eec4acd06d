"""The sweep as an ordinary Optuna study, so that optuna-dashboard and Optuna's own tools can open it.

The records in the run directory are the truth; the study can be rebuilt from them and is, where it contradicts them.
Only the driver writes to it: what runs elsewhere returns values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tuner.errors import InputError
from tuner.records import Candidate, Json
from tuner.records.redaction import without_credentials
from tuner.search.attributes import CANDIDATE, OBSERVED, TOLD
from tuner.search.database import (
    check_sqlite,
    database_errors,
    is_refusal,
    naming,
    open_storage,
    refused,
    set_aside_sqlite,
)
from tuner.search.decision import Decision
from tuner.search.parameters import Parameters
from tuner.search.samplers import Search
from tuner.search.writing import add, begin, enqueued, state_of, tell

if TYPE_CHECKING:
    from optuna import Study as OptunaStudy
    from optuna.storages import RDBStorage
    from optuna.trial import FrozenTrial

Done = tuple[Candidate, Sequence[float] | None, Mapping[str, Json]]

_SPACE = "tuner:parameters"  # on every study that is ours; no other is ever rebuilt
_OBJECTIVES = "tuner:objectives"


class Study:
    """Hands out each candidate at most once, as its sampler chooses, and keeps what came of it.

    Parameters of the study: "arm" (the draft's name, "none" for the baseline), "k", and every engine argument that
    differs between candidates.  One objective per temperature, all minimised.
    notes: what had to be repaired, for a person.  Where the machine refuses the database, OutputError names it.
    """

    def __init__(
        self,
        storage: RDBStorage,
        name: str,
        candidates: Sequence[Candidate],
        temperatures: Sequence[float],
        search: Search,
        cost: str = "TPOT",
    ) -> None:
        self.notes: list[str] = []
        self._storage = storage
        self._name = name
        self._objectives = [f"{cost} at temperature {temperature:g}" for temperature in temperatures]
        self._pending = {candidate.key: candidate for candidate in candidates}
        self._parameters = Parameters(candidates)
        self._sampler = search.make(candidates, self._parameters)
        self._expected = search.expected(candidates)
        self._space = frozenset(self._pending)
        self._running: dict[str, int] = {}
        self._nothing: Decision | None = None
        self._study = self._create()

    @staticmethod
    def open(
        storage: str,
        name: str,
        candidates: Sequence[Candidate],
        temperatures: Sequence[float],
        search: Search,
        *,
        cost: str = "TPOT",
        replace_damaged: bool = True,
    ) -> Study:
        """Open or create the study; then call `reconcile` with what the run directory holds.

        storage: an Optuna storage URL ("sqlite:////absolute/study.db").  name: one per run, the fingerprint's hash in
        it.  candidates: baselines first.  search: how they are chosen.  cost: what is minimised, in words.
        replace_damaged: move an SQLite file that cannot be read to "quarantine/" beside it and make a new one; False
        for a storage that the user named.
        InputError: the storage cannot be used, or has a study of that name that is not of this sweep, or the sampler
        lacks a library.
        """
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        unusable = database_errors()
        try:
            try:
                check_sqlite(storage)
                return _readable(Study(open_storage(storage), name, candidates, temperatures, search, cost))
            except unusable as error:
                moved = set_aside_sqlite(storage) if replace_damaged and not is_refusal(error) else None
                if moved is None:
                    raise
                study = Study(open_storage(storage), name, candidates, temperatures, search, cost)
                study.notes.append(f"the study's database was damaged ({_first_line(error)}); set aside as {moved}")
                return study
        except unusable as error:
            if is_refusal(error):
                raise refused(storage, error) from error
            hint = "Give an Optuna storage URL whose database exists, and install its driver."
            where = without_credentials(storage)
            raise InputError(f"the study's storage {where} cannot be used: {_first_line(error)}", hint) from error

    @property
    def storage_url(self) -> str:
        """Where the study is; asked for when it has to be named."""
        return str(self._storage.url)

    @property
    def waiting(self) -> int:
        """Candidates that are expected to be asked for yet, see `Search.expected`; 0 once the sampler is done."""
        if self._nothing is not None and self._nothing.done:
            return 0
        asked = len(self._space) - len(self._pending)
        return min(len(self._pending), max(0, self._expected - asked))

    def close(self) -> None:
        """Let go of the database."""
        self._storage.engine.dispose()

    @naming
    def ask(self) -> Decision:
        """Return the next candidate that is neither measured nor being measured, or that there is none.

        Without a candidate the decision stands until something is told: asking again then costs nothing.
        ValueError: the sampler proposed what is not left.
        """
        from optuna.trial import TrialState

        if self._nothing is None:
            self._nothing = self._sampler.nothing(self._study)
        if self._nothing is not None:
            # Nothing would ever end what waits for nothing.
            return self._nothing if self._running else replace(self._nothing, done=True)
        while True:
            planned = None if enqueued(self._study, self._storage) else self._sampler.planned()
            candidate, trial_id = self._begin(planned) if planned else self._propose()
            if candidate is not None:
                del self._pending[candidate.key]
                self._running[candidate.key] = trial_id
                self._sampler.note(candidate, TrialState.RUNNING, {})
                return Decision(candidate, False, self._sampler.why)

    def _begin(self, candidate: Candidate) -> tuple[Candidate, int]:
        if candidate.key not in self._pending:
            raise ValueError(f"the sampler proposed {candidate.label}, which is no candidate that is left")
        return candidate, begin(self._study, candidate, self._parameters)

    def _propose(self) -> tuple[Candidate | None, int]:
        """Begin a trial that Optuna proposes, or that was enqueued; without a candidate if it can be none."""
        trial = self._study.ask(dict(self._parameters.distributions))
        candidate = self._parameters.candidate(trial.params)
        if candidate is not None and candidate.key in self._pending:
            trial.set_user_attr(CANDIDATE, candidate.key)
            return candidate, trial._trial_id
        self._fail(trial.number)
        chosen = self._sampler.chosen
        if chosen and trial.params == self._parameters.of(chosen):  # else somebody enqueued it in a dashboard
            raise ValueError(f"the sampler proposed {trial.params}, which is no candidate that is left")
        return None, trial._trial_id

    @naming
    def tell(self, candidate: Candidate, values: Sequence[float] | None, attrs: Mapping[str, Json]) -> None:
        """Keep what came of a candidate that `ask` returned.

        values: the objective at each temperature, None if it was not measured (state FAIL).  attrs: for people, shown
        in dashboards, and for the sampler (see `attributes`).  ValueError: not one finite number per temperature.
        KeyError: the candidate is not running.
        """
        self._check(values)
        tell(self._study, self._running.pop(candidate.key), values, attrs)
        self._sampler.note(candidate, state_of(values), attrs)
        self._nothing = None

    @naming
    def add(self, candidate: Candidate, values: Sequence[float] | None, attrs: Mapping[str, Json]) -> None:
        """Keep what came of a candidate that was measured although `ask` did not return it; see `tell`."""
        self._check(values)
        ours = candidate.key in self._space
        add(self._study, candidate, self._parameters if ours else None, values, attrs)
        self._sampler.note(candidate, state_of(values), attrs)
        self._pending.pop(candidate.key, None)
        self._nothing = None

    @naming
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
        known = {trial.user_attrs[CANDIDATE] for trial in self._told()}
        for key, result in results.items():
            if key not in known:
                self.add(*result)
            self._pending.pop(key, None)
        self._sampler.remember(self._study)

    def _create(self) -> OptunaStudy:
        import optuna

        study = optuna.create_study(
            storage=self._storage,
            study_name=self._name,
            sampler=self._sampler,
            directions=["minimize"] * len(self._objectives),
            load_if_exists=True,
        )
        if not study.user_attrs and not study.get_trials(deepcopy=False):
            study.set_user_attr(_OBJECTIVES, self._objectives)
            study.set_user_attr(_SPACE, self._parameters.described())
        # load_if_exists silently ignores other directions, so what was loaded is compared.
        if _SPACE not in study.user_attrs or study.user_attrs.get(_OBJECTIVES) != self._objectives:
            hint = "Give another storage, or delete that study with optuna's own command."
            raise InputError(f"the storage has a study {self._name!r} that is not of this sweep", hint)
        return study

    def _told(self) -> list[FrozenTrial]:
        return [trial for trial in self._study.get_trials(deepcopy=False) if trial.user_attrs.get(TOLD)]

    def _fail_leftovers(self) -> None:
        from optuna.trial import TrialState

        while self._study.get_trials(deepcopy=False, states=(TrialState.WAITING,)):
            self._study.ask()  # a waiting trial cannot be told; asking makes it a running one
        for trial in self._study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
            self._fail(trial.number)

    def _fail(self, number: int) -> None:
        from optuna.trial import TrialState

        self._study.tell(number, state=TrialState.FAIL)

    def _contradicts(self, results: Mapping[str, Done]) -> bool:
        if self._study.user_attrs[_SPACE] != self._parameters.described():
            return True  # an old study refuses a new choice of a categorical parameter
        told = {trial.user_attrs[CANDIDATE]: trial for trial in self._told()}
        return len(told) < len(self._told()) or any(
            key not in results
            or not _agree(trial.values, results[key][1])
            or trial.user_attrs.get(OBSERVED) != results[key][2].get(OBSERVED)
            for key, trial in told.items()
        )

    def _rebuild(self) -> None:
        import optuna

        if self._study.get_trials(deepcopy=False):
            self.notes.append(f"study {self._name} was rebuilt from the records")
        optuna.delete_study(study_name=self._name, storage=self._storage)
        self._study = self._create()

    def _check(self, values: Sequence[float] | None) -> None:
        # Optuna itself turns NaN into FAIL and keeps infinity as a result.
        if values is not None and (
            len(values) != len(self._objectives) or not all(math.isfinite(value) for value in values)
        ):
            raise ValueError(f"{list(values)} is not one finite number for each of {self._objectives}")


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
