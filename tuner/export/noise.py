"""The noise of an engine as one JSON document."""

from __future__ import annotations

from collections.abc import Sequence

from tuner.analysis.noise import ArmNoise, Deviation, LoadNoise
from tuner.analysis.power import MOST_LIVES
from tuner.records import Json

ESTIMATOR = "one-way variance components of mean log TPOT, prompts relative to their own mean over lives"


def noise_document(arms: Sequence[ArmNoise]) -> dict[str, Json]:
    """Return the document; every standard deviation and effect is a fraction (0.01 is 1 %).

    lives_for: null where it would take more than MOST_LIVES.
    """
    return {"estimator": ESTIMATOR, "unit": "fraction of TPOT", "arms": [_arm(arm) for arm in arms]}


def _arm(arm: ArmNoise) -> Json:
    spec = arm.candidate.speculation
    return {
        "candidate": arm.candidate.label,
        "draft": spec.draft if spec else None,
        "num_speculative_tokens": arm.candidate.k,
        "device": arm.device_key,
        "load_points": [_load(load) for load in arm.loads],
    }


def _load(load: LoadNoise) -> Json:
    return {
        "load_point": load.load_point.label if load.load_point else "all",
        "temperature": load.temperature,
        "lives": load.lives,
        "repeats": load.repeats or None,
        "prompts": load.prompts,
        "repeat_sd": _deviation(load.repeat),
        "life_sd": _deviation(load.life),
        "one_life_sd": _deviation(load.total),
        "largest_difference": _rounded(load.largest),
        "smallest_effect": _rounded(load.smallest),
        "smallest_effect_at_most_lives": _rounded(load.smallest_at_most),
        "lives_for": {
            f"{effect:g}": lives if lives < MOST_LIVES else None for effect, lives in (load.lives_for or {}).items()
        },
    }


def _deviation(sd: Deviation | None) -> Json:
    if sd is None:
        return None
    return {"value": _rounded(sd.value), "df": sd.df, "low": _rounded(sd.low), "high": _rounded(sd.high)}


def _rounded(value: float | None) -> Json:
    return None if value is None else float(f"{value:.4g}")
