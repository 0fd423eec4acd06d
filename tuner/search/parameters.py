"""Candidates as parameters of an Optuna study: "arm" (the draft's name), "k", and engine arguments that differ."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tuner.records import Candidate, Json, canonical_json

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

Choice = str | int | float | bool | None

ARM = "arm"
K = "k"


class Parameters:
    """The parameters of a study of these candidates, and the way there and back.

    distributions: by name, what Optuna has to know of each.
    """

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self.distributions = _distributions(candidates)
        self._candidates = {self._identity(self.of(candidate)): candidate for candidate in candidates}

    def of(self, candidate: Candidate) -> dict[str, Choice]:
        """Return the candidate's parameters by name; None for an engine argument that it leaves to the engine."""
        every = {**candidate.engine_args, ARM: candidate.draft_name, K: candidate.k}
        return {name: _choice(every.get(name)) for name in self.distributions}

    def candidate(self, params: Mapping[str, Choice]) -> Candidate | None:
        """Return the candidate that has these parameters, None if none of them has."""
        return self._candidates.get(self._identity(params))

    def described(self) -> Json:
        """Return the distributions as JSON."""
        from optuna.distributions import distribution_to_json

        space = self.distributions
        described: Json = {name: json.loads(distribution_to_json(space[name])) for name in sorted(space)}
        return described

    @staticmethod
    def _identity(params: Mapping[str, Choice]) -> str:
        return canonical_json(dict(params))


def _choice(value: Json) -> Choice:
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
        ARM: CategoricalDistribution(tuple(dict.fromkeys(candidate.draft_name for candidate in candidates))),
        K: IntDistribution(0, max((candidate.k for candidate in candidates), default=0)),
    }
    for name, values in choices.items():
        if len(values) > 1:
            space[name] = CategoricalDistribution(values)
    return space
