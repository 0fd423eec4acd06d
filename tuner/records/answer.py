"""What is concluded: figures, curves, and the best configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tuner.records.candidate import Candidate, LoadPoint
from tuner.records.figure import Figure
from tuner.records.goal import Goal, Metric
from tuner.records.notice import ChangedSettings, Diagnosis
from tuner.records.quality import Bar, Losslessness
from tuner.records.scheduled import ScheduleAnswer
from tuner.records.surface import Surface
from tuner.records.traffic import Coverage


@dataclass(frozen=True)
class LoadFigures:
    """All figures of one trial at one load point; speedups are against the trial's own baseline (None for it).

    categories: speedup_tpot of each category of prompts.
    conditional_by_position: A_i / A_(i-1).  sameness: outputs against the baseline's, None for a baseline.

    What follows is in the metric that decides (TrialFigures.metric), and every interval rests on it. For throughput,
    which is of no prompt, there is one value (see tuner.analysis.costs).
    cost_by_prompt: seconds, per prompt id.  speedup_by_prompt: baseline / candidate.  rounds: of a finalist measured in
    fresh lives: by round the speedups by prompt over the baseline's life of the same round.
    repeat_variance, repeat_df: variance of the trial's mean log cost that comes from whole repeats being faster or
    slower, and its degrees of freedom (0: a single repeat, not known).  baseline_repeat_*: the same of its baseline.
    """

    load_point: LoadPoint
    figures: Mapping[str, Figure]
    acceptance_by_position: tuple[Figure, ...] = ()
    conditional_by_position: tuple[Figure, ...] = ()
    categories: Mapping[str, Figure] = field(default_factory=dict)
    sameness: Losslessness | None = None
    rounds: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    cost_by_prompt: Mapping[str, float] = field(default_factory=dict)
    speedup_by_prompt: Mapping[str, float] = field(default_factory=dict)
    repeat_variance: float = 0.0
    repeat_df: int = 0
    baseline_repeat_variance: float = 0.0
    baseline_repeat_df: float = 0.0


@dataclass(frozen=True)
class TrialFigures:
    """A trial's figures at every load point, in the space's order.

    lives: engine lives that they rest on; with more than one they are figures of all of those together.
    confidence: of their intervals over lives. Above 0.95 where the lives may be judged twice: measuring then stops more
    often where the spread came out small by luck.
    metric: that of the speedups by which trials are compared.
    """

    number: int
    candidate: Candidate
    device_key: str
    loads: tuple[LoadFigures, ...]
    lives: int = 1
    confidence: float = 0.95
    metric: Metric = Metric.TPOT


@dataclass(frozen=True)
class CurvePoint:
    """Speedup at one K.  K = 0 is the baseline, by definition 1.

    speedup: value None with the reason as its note where this K failed.
    marginal_gain: per token since the measured K before it, as a fraction (0.05 is 5 % a token).
    """

    k: int
    speedup: Figure
    tpot: Figure
    acceptance_length: Figure
    acceptance_by_position: tuple[Figure, ...] = ()
    marginal_gain: Figure | None = None


@dataclass(frozen=True)
class Inflection:
    """The first K from which one more token gains less than `threshold`, by its upper bound.

    k: None when not resolved.  candidates: every K that noise, or not having been measured, leaves open.
    """

    k: int | None
    candidates: tuple[int, ...]
    threshold: float
    note: str = ""


@dataclass(frozen=True)
class KCurve:
    """Speedup against K for one draft at one load point, engine arguments fixed.  metric: that of the speedup."""

    draft_name: str
    method: str
    args_key: str
    load_point: LoadPoint
    points: tuple[CurvePoint, ...]
    inflection: Inflection
    best_k: int
    metric: Metric = Metric.TPOT


class Verdict(StrEnum):
    """What to do."""

    SPECULATE = "speculate"
    SPECULATE_BELOW = "speculate_below"
    DO_NOT = "do_not"
    INCONCLUSIVE = "inconclusive"


class Limit(StrEnum):
    """What an answer's uncertainty comes from, mostly."""

    REPEATS = "repeats"
    LIVES = "lives"
    PROMPTS = "prompts"
    DRIFT = "drift"


@dataclass(frozen=True)
class Resolution:
    """How fine a difference an answer could tell.  Effects are fractions: 0.03 is a speedup of 1.03x.

    smallest_effect: what would have been called in nine of ten sweeps like this one.
    needed: as many of what limits it (repeats per life, lives, prompts) settle `effect`, the measured effect or the
    smallest one worth knowing, whichever is larger; None where more of it would not help.
    life_sd, repeat_sd: standard deviation of a life's log speedup from life to life, and from its repeats; None where
    one life cannot tell.
    """

    limited_by: Limit
    smallest_effect: float
    effect: float
    needed: int | None
    life_sd: float | None = None
    repeat_sd: float | None = None


@dataclass(frozen=True)
class Answer:
    """The answer for one temperature.

    best: the candidate to deploy (the baseline for do_not and inconclusive).  objective: weighted geometric mean
    speedup over the load points, for speculate_below over those up to `up_to`.  loads: figures of `best`, one per load
    point of this temperature.  why: the evidence in words.

    lives: engine lives that the answer rests on, of `best` or, where nothing is recommended, of the runner-up; with 1
    it claims nothing beyond that one life.  similar_prompts: the objective with the prompts as a sample of prompts like
    them, where `objective` speaks of this eval set.  screened: the objective as it was before selection, in one life:
    too high on average, since the best of many was taken.

    surface: the best K by concurrency.

    For speculate_below: up_to is the largest measured concurrency at which `best` pays, the limit to operate by; below
    is the lowest measured one above it at which it is slower or breaks a limit.  Between the two nothing is claimed.
    """

    temperature: float
    verdict: Verdict
    best: Candidate
    objective: Figure
    why: str
    loads: tuple[LoadFigures, ...]
    curves: tuple[KCurve, ...]
    below: int | None = None
    up_to: int | None = None
    runner_up: Candidate | None = None
    lives: int = 1
    similar_prompts: Figure | None = None
    screened: Figure | None = None
    resolution: Resolution | None = None
    surface: Surface | None = None


@dataclass(frozen=True)
class Barred:
    """A candidate that may not win at a temperature, and why."""

    candidate: Candidate
    temperature: float
    bar: Bar


@dataclass(frozen=True)
class Findings:
    """Everything that analysis concludes from a run's records.

    trials: single lives.  finals: arms measured in fresh lives, baselines included.  floor: what reading the weights
    takes in each step, and how near the baseline comes to it.  finished: whether all was measured that was asked
    for.  barred: one for each reason.  schedules: of K by batch size, one for each temperature, () where none was asked
    for.  traffic: how the load points cover the traffic, by temperature; {} where the space names none.  goal: what
    decided, and the limits to keep to.  changed_settings: what engines changed by themselves.  diagnoses: the causes
    that the measurements show, the most telling first.
    """

    answers: tuple[Answer, ...]
    trials: tuple[TrialFigures, ...]
    drift: Mapping[str, Figure]
    warnings: tuple[str, ...]
    failed: Mapping[str, str]
    finals: tuple[TrialFigures, ...] = ()
    floor: Mapping[str, Figure] = field(default_factory=dict)
    finished: bool = True
    barred: tuple[Barred, ...] = ()
    goal: Goal = field(default_factory=Goal)
    schedules: tuple[ScheduleAnswer, ...] = ()
    traffic: Mapping[float, Coverage] = field(default_factory=dict)
    changed_settings: tuple[ChangedSettings, ...] = ()
    diagnoses: tuple[Diagnosis, ...] = ()
