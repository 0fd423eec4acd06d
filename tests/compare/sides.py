"""Sweeps for the tests of `tuner compare`, built from trials whose figures are known by construction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from tests.built_artifact import Built
from tests.conftest import LOAD, build_trial
from tuner.artifact import BestConfig
from tuner.compare.from_artifact import side_of
from tuner.compare.from_records import with_records
from tuner.compare.sides import Side
from tuner.records import LoadPoint, Protocol, Role, Trial

PROTOCOL = Protocol(lives=3, max_lives=3)
WOBBLE = (0.999, 1.0, 1.001)
"""Factors on the times of three lives: a life-to-life SD of 0.1 %."""
BASE_S = 0.02


def trials_of(
    speedup: float = 1.5,
    base: float = BASE_S,
    acceptance: Sequence[float] = (0.8, 0.6),
    ttft: float = 0.1,
    loads: Sequence[LoadPoint] = (LOAD,),
    wobble: Sequence[float] = WOBBLE,
    draft: str = "good",
    **facts: Any,
) -> list[Trial]:
    """Return a sweep: baseline, one draft with K = len(acceptance), the baseline again, and a round per factor.

    speedup: baseline TPOT / TPOT.  base, ttft: seconds.
    """
    k = len(acceptance)
    common: dict[str, Any] = {"loads": loads, **facts}
    speculating = {**common, "k": k, "draft": draft, "acceptance": acceptance}
    trials = [
        build_trial(0, tpot=base, ttft=ttft, **common),
        build_trial(1, tpot=base / speedup, ttft=ttft, **speculating),
        build_trial(2, role=Role.BASELINE_AGAIN, tpot=base, ttft=ttft, **common),
    ]
    for number, factor in enumerate(wobble):
        times: dict[str, Any] = {"role": Role.FINAL, "final_round": number, "ttft": ttft * factor}
        trials.append(build_trial(3 + 2 * number, tpot=base * factor, **times, **common))
        trials.append(build_trial(4 + 2 * number, tpot=base / speedup / factor, **times, **speculating))
    return trials


def config_of(trials: Sequence[Trial], loads: Sequence[LoadPoint] = (LOAD,), **changes: Any) -> BestConfig:
    """Return the artifact of the trials."""
    protocol = changes.pop("protocol", PROTOCOL)
    config = Built(trials, loads, protocol=protocol, **changes).config
    return config.model_copy(update={"protocol": asdict(protocol)})


def built_side(
    where: str = "old",
    *,
    records: bool = True,
    context: Mapping[str, Any] | None = None,
    loads: Sequence[LoadPoint] = (LOAD,),
    eval_sets: Mapping[str, str] | None = None,
    **of_trials: Any,
) -> Side:
    """Return a sweep as it is compared.  context: changes of the run's context.  eval_sets: hashes by name."""
    trials = trials_of(loads=loads, **of_trials)
    config = config_of(trials, loads, **(context or {}))
    if eval_sets is not None:
        fingerprint = {**config.fingerprint, "eval_sets": dict(eval_sets)}
        config = config.model_copy(update={"fingerprint": fingerprint})
    side = side_of(where, config)
    return with_records(side, trials) if records else side


def at_concurrencies(*concurrencies: int) -> tuple[LoadPoint, ...]:
    """Return LOAD at other concurrencies."""
    return tuple(replace(LOAD, concurrency=concurrency) for concurrency in concurrencies)
