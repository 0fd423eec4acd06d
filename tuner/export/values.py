"""Figures and other values as the artifact has them: plain, and no more digits than were measured."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import overload

from tuner.artifact.figures import MeasuredFigure
from tuner.records import Figure, Json

_SIGNIFICANT_DIGITS = 6


def measured_figure(figure: Figure) -> MeasuredFigure:
    """Return a figure as the artifact has it."""
    return MeasuredFigure(
        value=rounded(figure.value),
        unit=figure.unit,
        estimator=figure.estimator,
        n=figure.n,
        n_of=figure.n_of,
        low=rounded(figure.low),
        high=rounded(figure.high),
        note=figure.note,
    )


def optional_figure(figure: Figure | None) -> MeasuredFigure | None:
    """Return a figure as the artifact has it, None if there is none."""
    return None if figure is None else measured_figure(figure)


def measured_figures(figures: Mapping[str, Figure]) -> dict[str, MeasuredFigure]:
    """Return named figures as the artifact has them."""
    return {name: measured_figure(figure) for name, figure in figures.items()}


@overload
def rounded(value: float) -> float: ...
@overload
def rounded(value: float | None) -> float | None: ...
def rounded(value: float | None) -> float | None:
    """Return a number with six significant digits, whole numbers as they are: more was not measured."""
    return float(f"{value:.{_SIGNIFICANT_DIGITS}g}") if isinstance(value, float) else value


def plain_mapping(mapping: Mapping[str, object]) -> dict[str, Json]:
    """Return the mapping with plain values, those inside it included.  Raises TypeError as plain_value does."""
    return {
        name: plain_mapping(value) if isinstance(value, dict) else plain_value(value) for name, value in mapping.items()
    }


def plain_value(value: object) -> Json:
    """Return floats with six significant digits: more was not measured, and a reader's eye is spared.

    Raises TypeError for what has no place in the artifact.
    """
    if isinstance(value, float):
        return rounded(value)
    if isinstance(value, StrEnum):
        return value.value
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [plain_mapping(item) if isinstance(item, dict) else plain_value(item) for item in value]
    raise TypeError(f"{type(value).__name__} has no place in the artifact")
