"""Whether speculation changed what the target says: figures for the report, bars for the verdict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tuner.analysis.losslessness import sameness
from tuner.records import Bar, BarKind, LoadPoint, Losslessness, SameOutput, Trial, TrialFigures

Compared = Sequence[tuple[LoadPoint, Losslessness]]
_DISTANCE = (
    SameOutput.NOT_COMPARED,
    SameOutput.NO_DIFFERENCE_FOUND,
    SameOutput.IDENTICAL,
    SameOutput.NEAR_TIES,
    SameOutput.UNEXPLAINED,
    SameOutput.DIFFERS,
)


def with_sameness(figures: TrialFigures, trial: Trial, baseline_lives: Sequence[Trial]) -> TrialFigures:
    """Return the figures of a candidate with its outputs compared at each load point.

    baseline_lives: of its own baseline, the first one first.
    """
    loads = [replace(load, sameness=sameness(trial, baseline_lives, load.load_point)) for load in figures.loads]
    return replace(figures, loads=tuple(loads))


def compared_outputs(trial: Trial, baseline_lives: Sequence[Trial], load_points: Sequence[LoadPoint]) -> Compared:
    """Return the trial's outputs against its baseline's at each of these load points."""
    return [(load, sameness(trial, baseline_lives, load)) for load in load_points]


def output_bars(compared: Compared) -> tuple[Bar, ...]:
    """Return a bar for each load point at which the outputs differ from the baseline's."""
    return tuple(
        Bar(BarKind.OUTPUT_DIFFERS, f"{load.label}: {same.note}")
        for load, same in compared
        if same.verdict is SameOutput.DIFFERS
    )


def farthest(found: Iterable[Losslessness]) -> Losslessness | None:
    """Return the comparison whose outputs are farthest from the baseline's, the first of equals; None without any."""
    return max(found, key=lambda same: _DISTANCE.index(same.verdict), default=None)
