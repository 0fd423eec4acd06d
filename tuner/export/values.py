"""Figures and other values as the artifact has them: plain, and no more digits than were measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from enum import StrEnum

from tuner.records import Figure, Json

_SIGNIFICANT_DIGITS = 6


def figure_json(figure: Figure) -> Json:
    """Return a figure as a mapping: what it does not have is left out, but an undefined value is null."""
    return {name: value for name, value in plain_mapping(asdict(figure)).items() if value not in (None, "")} | {
        "value": plain_value(figure.value)
    }


def optional_figure(figure: Figure | None) -> Json:
    """Return a figure as a mapping, None if there is none."""
    return None if figure is None else figure_json(figure)


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
        return float(f"{value:.{_SIGNIFICANT_DIGITS}g}")
    if isinstance(value, StrEnum):
        return value.value
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [plain_mapping(item) if isinstance(item, dict) else plain_value(item) for item in value]
    raise TypeError(f"{type(value).__name__} has no place in the artifact")
