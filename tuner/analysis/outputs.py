"""Whether speculation changed what the target says: figures for the report, bars for the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tuner.analysis.losslessness import sameness
from tuner.records import Bar, BarKind, LoadPoint, SameOutput, Trial, TrialFigures


def with_sameness(figures: TrialFigures, trial: Trial, baseline_lives: Sequence[Trial]) -> TrialFigures:
    """Return the figures of a candidate with its outputs compared at each load point.

    baseline_lives: of its own baseline, the first one first.
    """
    loads = [replace(load, sameness=sameness(trial, baseline_lives, load.load_point)) for load in figures.loads]
    return replace(figures, loads=tuple(loads))


def output_bars(trial: Trial, baseline_lives: Sequence[Trial], load_points: Sequence[LoadPoint]) -> tuple[Bar, ...]:
    """Return a bar for each of these load points at which the outputs differ from the baseline's."""
    compared = ((load, sameness(trial, baseline_lives, load)) for load in load_points)
    return tuple(
        Bar(BarKind.OUTPUT_DIFFERS, f"{load.label}: {same.note}")
        for load, same in compared
        if same.verdict is SameOutput.DIFFERS
    )
