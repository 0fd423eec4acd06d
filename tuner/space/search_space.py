"""A search space after reading: what may be tried, under which load, and how it is judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tuner.records import Goal, Json, LoadPoint, Protocol, Traffic

GUIDED = "guided"
GRID = "grid"
SAMPLERS = (GUIDED, GRID, "random", "tpe", "gp")
"""How a sweep may choose what to measure next."""


@dataclass(frozen=True)
class DraftSpec:
    """One curve: a method with its draft and options, tried at each K of `ks` (ascending).

    model: as the user wrote it, None for methods without one.  name: unique in its space, safe in a file name.
    """

    name: str
    method: str
    model: str | None
    options: Mapping[str, Json]
    ks: tuple[int, ...]


@dataclass(frozen=True)
class Objective:
    """What is sought at the load points of one temperature, and what counts as a flat K curve.

    goal: the metric whose weighted geometric mean speedup decides, and the limits to keep to.
    inflection_threshold: the gain per further token below which the K curve counts as flat.
    """

    goal: Goal = field(default_factory=Goal)
    inflection_threshold: float = 0.01


@dataclass(frozen=True)
class Limits:
    """Where a sweep stops early; None for no limit."""

    max_trials: int | None = None
    max_minutes: float | None = None
    max_engine_starts: int | None = None

    def reached(self, begun: int, elapsed_s: float, reserved: int) -> str:
        """Return the limit by which another trial may not be begun, like "max_trials: 9"; "" where one may be.

        begun: engine starts so far.  reserved: starts that have to be left for others.
        """
        if self.max_trials is not None and begun >= self.max_trials:
            return f"max_trials: {self.max_trials}"
        if self.max_engine_starts is not None and begun + reserved >= self.max_engine_starts:
            return f"max_engine_starts: {self.max_engine_starts}"
        if self.max_minutes is not None and elapsed_s / 60 >= self.max_minutes:
            return f"max_minutes: {self.max_minutes:g}"
        return ""

    def left(self, begun: int, elapsed_s: float) -> tuple[int | None, float | None]:
        """Return the engine starts and the seconds that are still allowed, None where there is no such limit."""
        starts = [limit - begun for limit in (self.max_trials, self.max_engine_starts) if limit is not None]
        seconds = None if self.max_minutes is None else 60 * self.max_minutes - elapsed_s
        return min(starts, default=None), seconds


@dataclass(frozen=True)
class SearchSpace:
    """Everything that a search-space file says.

    source: the file's text.  target: model directory, hub id or `demo:NAME`, None if to be named elsewhere.
    engine_args: the same for every candidate; choices: engine arguments with the values to try.
    env: variables for the engine.  traffic: what the load points' weights come from, None where the file names none.
    Overrides (target, eval set, drafts) are in the fields and not in `source`.
    sampler: how candidates are chosen, one of SAMPLERS.
    """

    name: str
    source: str
    target: str | None
    drafts: tuple[DraftSpec, ...]
    load_points: tuple[LoadPoint, ...]
    engine_args: Mapping[str, Json] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    choices: Mapping[str, tuple[Json, ...]] = field(default_factory=dict)
    protocol: Protocol = field(default_factory=Protocol)
    objective: Objective = Objective()
    limits: Limits = Limits()
    description: str = ""
    traffic: Traffic | None = None
    sampler: str = GUIDED
