"""The figures that are compared at each load point: one row each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

FigureName = Literal["acceptance_length", "speedup", "tpot", "ttft", "baseline_tpot", "baseline_ttft", "step_cost"]


@dataclass(frozen=True)
class ComparedFigure:
    """words: for a person.  unit: of its value.  tolerance: name of the one that holds for it.

    quantity: its name in tuner.compare.sides.  of_baseline: of the engine without speculation.
    decides: whether the verdict rests on it unless the user says otherwise; what does not decide explains.
    """

    words: str
    unit: str
    quantity: str
    tolerance: Literal["acceptance_length", "speedup", "tpot", "ttft"]
    higher_is_better: bool
    of_baseline: bool = False
    decides: bool = True


FIGURES: Mapping[FigureName, ComparedFigure] = {
    "acceptance_length": ComparedFigure(
        "acceptance length", "tokens/draft", "acceptance_length", "acceptance_length", higher_is_better=True
    ),
    "speedup": ComparedFigure("speedup", "x", "speedup", "speedup", higher_is_better=True),
    "tpot": ComparedFigure("TPOT", "s", "tpot", "tpot", higher_is_better=False),
    "ttft": ComparedFigure("TTFT", "s", "ttft", "ttft", higher_is_better=False),
    "baseline_tpot": ComparedFigure(
        "baseline's TPOT", "s", "tpot", "tpot", higher_is_better=False, of_baseline=True, decides=False
    ),
    "baseline_ttft": ComparedFigure(
        "baseline's TTFT", "s", "ttft", "ttft", higher_is_better=False, of_baseline=True, decides=False
    ),
    "step_cost": ComparedFigure(
        "cost of a step with a draft", "x", "step_cost", "speedup", higher_is_better=False, decides=False
    ),
}
