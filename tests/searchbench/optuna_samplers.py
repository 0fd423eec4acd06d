"""Optuna's own TPE and GP samplers, asked and told in memory, never measuring a point twice."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from optuna.samplers import BaseSampler, GPSampler, TPESampler
from optuna.trial import TrialState

from tests.searchbench.strategy import measured_gains
from tests.searchbench.surfaces import Surface
from tuner.records import Candidate, Tried
from tuner.search.guided import Decision

STARTUP = 3
"""Random points before the model counts. Optuna's 10 are more than these searches have in all."""


def sampler(name: str, seed: int) -> BaseSampler:
    """Return Optuna's sampler of that name ("tpe", "gp")."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        if name == "gp":
            return GPSampler(seed=seed, n_startup_trials=STARTUP, deterministic_objective=False)
        return TPESampler(seed=seed, n_startup_trials=STARTUP)


class OptunaSearch:
    """Draft and K as Optuna's parameters, measured log speedup as its objective.

    Where the sampler repeats a point, the nearest K of that draft that was not tried is measured in its place, then any
    other draft's; the sampler is told of what was measured.
    """

    def __init__(self, name: str, surface: Surface, seed: int) -> None:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.name = name
        self._surface = surface
        self._study = optuna.create_study(direction="maximize", sampler=sampler(name, (surface.seed + seed) % 2**31))
        self._space: dict[str, BaseDistribution] = {
            "draft": CategoricalDistribution(surface.drafts),
            "k": IntDistribution(1, max(surface.k.values())),
        }
        self._told = 0

    def next(self, tried: Sequence[Tried]) -> Decision:
        """Tell the sampler what is new, ask it, and return the nearest candidate that was not tried."""
        self._tell(tried)
        left = [c for c in self._surface.candidates if c.key not in {one.candidate.key for one in tried}]
        if not left:
            return Decision(None, True, "nothing is left")
        trial = self._study.ask(self._space)
        draft, k = trial.params["draft"], trial.params["k"]
        self._study.tell(trial, state=TrialState.FAIL)  # what is measured is told as a trial of its own
        nearest = min(left, key=lambda c: (c.draft_name != draft, abs(c.k - k), c.k))
        return Decision(nearest, False, f"the sampler named {draft} K={k}")

    def _tell(self, tried: Sequence[Tried]) -> None:
        gains = measured_gains(self._surface, tried)
        for one in tried[self._told :]:
            if one.candidate.k:
                self._study.add_trial(self._trial(one.candidate, gains.get(one.candidate.key)))
        self._told = len(tried)

    def _trial(self, candidate: Candidate, gain: float | None) -> optuna.trial.FrozenTrial:
        return optuna.trial.create_trial(
            state=TrialState.FAIL if gain is None else TrialState.COMPLETE,
            value=gain,
            params={"draft": candidate.draft_name, "k": candidate.k},
            distributions=self._space,
        )
