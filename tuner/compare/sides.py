"""One sweep as it is compared: what it recommends, and the quantities of its settings at each load point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tuner.analysis.statistics import CONFIDENCE
from tuner.artifact import BestConfig
from tuner.compare.quantity import Quantity, inverse, nothing, product
from tuner.records import Candidate, LoadPoint, Verdict, canonical_json

Arm = Mapping[str, Quantity]
"""Quantities of one setting by name: acceptance_length (tokens/draft), tokens_per_step, speedup and step_cost (no
unit), tpot and ttft (seconds)."""
SettingKey = str


def setting_key(candidate: Candidate) -> SettingKey:
    """Return what makes two settings of two sweeps the same: draft by name, method, K, options; not the model's path.

    The draft's content and the engine arguments are what may have changed between the sweeps.
    """
    spec = candidate.speculation
    if spec is None:
        return "none"
    options = dict(spec.options)
    return canonical_json([spec.draft_name, spec.method, spec.num_speculative_tokens, options])


@dataclass(frozen=True)
class SideLoad:
    """One load point of one sweep.  eval_set_hash: None where it is not known.

    baseline: without speculation, with the engine arguments of the recommended setting.  arms: of settings that
    speculate, the recommended one among them.
    """

    load: LoadPoint
    eval_set_hash: str | None
    baseline: Arm
    arms: Mapping[SettingKey, Arm] = field(default_factory=dict)


@dataclass(frozen=True)
class SideAnswer:
    """What a sweep says at one temperature.

    best: the setting that it judged best, without speculation where none pays.  up_to: the concurrency up to which it
    pays, None for all.  schedule: of K by batch size, None for one K.  rounds: of fresh lives that it rests on, where
    the artifact names them.
    """

    temperature: float
    verdict: Verdict
    best: Candidate
    up_to: int | None
    schedule: str | None
    rounds: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Side:
    """One sweep.  where: it was read from, as path or URL.  confidence: of its own intervals over lives.

    records: whether what each engine life measured was at hand, or the artifact's figures alone.
    """

    where: str
    config: BestConfig
    loads: tuple[SideLoad, ...]
    answers: tuple[SideAnswer, ...]
    confidence: float = CONFIDENCE
    records: bool = False

    def answer(self, temperature: float) -> SideAnswer:
        """Return the answer at a temperature.  StopIteration where there is none."""
        return next(answer for answer in self.answers if answer.temperature == temperature)


def with_step_cost(arm: Arm) -> Arm:
    """Return the arm with what one of its steps takes over a step without speculation.

    TPOT is the time of a step divided by its tokens, so speedup = tokens per step / (step with a draft / step without),
    at a load point that keeps the batch the same.
    """
    tokens, speedup = arm.get("tokens_per_step"), arm.get("speedup")
    if tokens is None or speedup is None:
        return {**arm, "step_cost": nothing("tokens per step or speedup were not measured")}
    return {**arm, "step_cost": product(tokens, inverse(speedup))}


def merged(arm: Arm, better: Arm) -> Arm:
    """Return the arm with what `better` knows of it instead, where it knows something."""
    return {**arm, **{name: quantity for name, quantity in better.items() if quantity.estimate is not None}}


def with_arms(load: SideLoad, baseline: Arm, arms: Mapping[SettingKey, Arm]) -> SideLoad:
    """Return the load point with what the records know instead of what the figures say."""
    all_keys = dict.fromkeys((*load.arms, *arms))
    found = {key: with_step_cost(merged(load.arms.get(key, {}), arms.get(key, {}))) for key in all_keys}
    return replace(load, baseline=merged(load.baseline, baseline), arms=found)
