"""A K schedule: how many tokens are proposed at which batch size, and what came of measuring it as deployed."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.records.candidate import Candidate, LoadPoint
from tuner.records.figure import Figure
from tuner.records.quality import Bar


@dataclass(frozen=True)
class SchedulePoint:
    """One load point under a schedule.

    k: scheduled at a batch of as many requests as the load point keeps in flight.
    effective: draft tokens per draft, by the engine's counters; undefined where it drafted nothing.
    per_step: draft tokens per decode step and request, by the same counters.  expected: what the schedule and the batch
    sizes that the requests were seen in allow for that; None where there is nothing to tell it from.
    obeyed: whether the one lies within the other; None where that is not known.
    static, schedule: speedups over no speculation; against_static: schedule / static.  All from the same rounds.
    """

    load_point: LoadPoint
    k: int
    effective: Figure
    per_step: Figure
    expected: tuple[float, float] | None
    obeyed: bool | None
    static: Figure
    schedule: Figure
    against_static: Figure


@dataclass(frozen=True)
class ScheduleAnswer:
    """What came of a K schedule at one temperature.

    why: a sentence, in any case.  candidate: the schedule as it was derived, None where none is worth measuring.
    static: the recommended single K, which it is held against.  lives: engine lives that the figures rest on, 0 where
    it was not measured.  exportable: whether it may be deployed instead of the static K.
    speedup: over no speculation, over all load points.  gain: schedule / static where their K differ.
    bars: why it may not be deployed, whatever its speed.
    """

    temperature: float
    why: str
    candidate: Candidate | None = None
    static: Candidate | None = None
    lives: int = 0
    exportable: bool = False
    points: tuple[SchedulePoint, ...] = ()
    speedup: Figure | None = None
    gain: Figure | None = None
    bars: tuple[Bar, ...] = ()
