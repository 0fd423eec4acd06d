"""One number with what a reader needs to trust it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One number with what a reader needs to trust it.

    value: None when undefined, and then `note` says why.  low, high: 95 % interval, None if there is none.
    n: how many observations it rests on, of what kind `n_of`.  estimator: name of the formula.
    """

    value: float | None
    unit: str
    estimator: str
    n: int
    n_of: str = "prompts"
    low: float | None = None
    high: float | None = None
    note: str = ""
