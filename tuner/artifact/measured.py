"""What was measured for one answer: figures by load point, curves over K, the surface, the K schedule."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from tuner.artifact.figures import MeasuredFigure, Number, Outputs, Resolution
from tuner.artifact.part import Part, SparsePart
from tuner.records import Effect, Json


class Sampling(Part):
    """Sampling parameters as they were sent.

    temperature, top_p, top_k: of each request.  seed: each request gets it plus its place in the repeat.
    """

    temperature: Number
    top_p: Number
    top_k: int
    seed: int


class LoadPoint(Part):
    """A load as it was asked for.

    eval_set: name of the prompts' set.  sampling: parameters of each request.
    concurrency: requests in flight (closed loop).  max_tokens: limit of an answer.  ignore_eos: answers ran to it.
    num_prompts: the first so many of the eval set, null for all.  weight: share in the objective.
    """

    eval_set: str
    concurrency: int
    max_tokens: int
    sampling: Sampling
    ignore_eos: bool
    num_prompts: int | None
    weight: Number


class LoadResult(Part):
    """Everything measured of one setting at one load point.

    label: the load point in words.  load_point: as it was asked for.  figures: by name, see docs/reference/metrics.md.
    acceptance_by_position: share of the drafts accepted up to each position.
    conditional_acceptance_by_position: the same of those that were accepted before it.
    worst_category: the one with the lowest speedup.
    categories: the speedup in TPOT by category of prompts.  speedup_by_round: one number per round of fresh lives.
    same_output: null for the engine without speculation.
    """

    label: str
    load_point: LoadPoint
    figures: dict[str, MeasuredFigure]
    acceptance_by_position: tuple[MeasuredFigure, ...]
    conditional_acceptance_by_position: tuple[MeasuredFigure, ...]
    categories: dict[str, MeasuredFigure]
    worst_category: str | None
    same_output: Outputs | None
    speedup_by_round: dict[str, Number]


class Inflection(Part):
    """The first K from which one more token gains less than `threshold`.

    k: null when not resolved.  not_excluded: every K that noise, or not having been measured, leaves open.
    threshold: as a fraction.  note: why it is not resolved.
    """

    k: int | None
    not_excluded: tuple[int, ...]
    threshold: Number
    note: str


class CurvePoint(Part):
    """Figures at one K.

    k: 0 is no speculation.  speedup: over no speculation.  tpot_s: seconds.  mean_acceptance_length: tokens a draft.
    marginal_gain: per token since the measured K before it.
    """

    k: int
    speedup: MeasuredFigure
    tpot_s: MeasuredFigure
    mean_acceptance_length: MeasuredFigure
    marginal_gain: MeasuredFigure | None


class Curve(Part):
    """Speedup against K of one draft at one load point, with one set of engine arguments.

    draft, method, engine_args: whose curve it is.  load_point: its label.  best_k: 0 where none is faster.
    inflection: from where a further token gains next to nothing.  points: one for each measured K.
    """

    draft: str
    method: str
    engine_args: dict[str, Json]
    load_point: str
    best_k: int
    inflection: Inflection
    points: tuple[CurvePoint, ...]


class Best(SparsePart):
    """The best K over some load points, 0 for none.

    effect: whether it pays, is slower, or is not told apart from none.  best_k: 0 for none.  draft: its name.
    engine_args: other arguments of it.  speedup: of the best, or of the nearest candidate where that is none.
    speedup_of: that candidate.  not_excluded: what noise does not separate from the fastest.
    engine_lives: lives that it rests on.
    """

    always: ClassVar[frozenset[str]] = frozenset({"draft", "engine_args", "not_excluded"})

    effect: Effect
    best_k: int
    draft: str | None
    engine_args: dict[str, Json]
    not_excluded: tuple[str, ...]
    engine_lives: int
    speedup: MeasuredFigure
    speedup_of: str | None = None


class BestAt(Best):
    """The best K at one concurrency.

    concurrency: requests in flight.
    """

    concurrency: int


class Crossover(Part):
    """Concurrencies by what speculation does there.

    pays_at: it is faster.  slower_at: it is slower.  unclear_at: it is not told apart from none.
    """

    pays_at: tuple[int, ...]
    slower_at: tuple[int, ...]
    unclear_at: tuple[int, ...]


class CrossoverOf(Crossover):
    """The same of one setting at all concurrencies.

    of: its name.
    """

    of: str


class Crossovers(Part):
    """Where speculation stops paying.

    best_k_at_each: with the best K at each concurrency.  one_k: with one K at all of them.
    """

    best_k_at_each: Crossover
    one_k: CrossoverOf | None


class Traffic(Part):
    """The traffic that load points were weighted by.

    source: where it comes from.  shares: of busy time by measured concurrency.  not_covered: share at more requests
    than were measured.  one_k: the best single K over it.
    """

    source: str
    shares: dict[str, Number]
    not_covered: Number
    one_k: Best | None


class Bar(Part):
    """A reason why something may not be deployed.

    kind: a stable name.  text: in words.
    """

    kind: str
    text: str


class SchedulePoint(Part):
    """One load point under a K schedule.

    load_point: its label.  scheduled_k: K that the schedule has for its concurrency.
    drafted_per_draft, drafted_per_step: what the engine drafted.  allowed_per_step: least and most that the schedule
    allows for with the batches that were seen.  obeyed: whether it lies between, null where that is not known.
    static, schedule: speedups over no speculation from the same rounds.  schedule_over_static: the schedule against the
    static K.
    """

    load_point: str
    scheduled_k: int
    drafted_per_draft: MeasuredFigure
    drafted_per_step: MeasuredFigure
    allowed_per_step: tuple[Number, Number] | None
    obeyed: bool | None
    static: MeasuredFigure
    schedule: MeasuredFigure
    schedule_over_static: MeasuredFigure


class Schedule(Part):
    """What came of a K schedule by batch size, whether it may be deployed or not.

    why: what came of it, in words.  exportable: whether serve_config has it.
    ranges: [first batch size, last batch size, K], null where none was worth measuring.
    engine_lives: lives that it rests on.  speedup: over no speculation.  over_static_where_k_differs: over the static K
    at the load points at which its K is another one.  bars: why it may not be deployed.  load_points: one by one.
    """

    why: str
    exportable: bool
    ranges: tuple[tuple[int, int, int], ...] | None
    engine_lives: int
    speedup: MeasuredFigure | None
    over_static_where_k_differs: MeasuredFigure | None
    bars: tuple[Bar, ...]
    load_points: tuple[SchedulePoint, ...]


class Measured(Part):
    """What an answer rests on.

    engine_lives: lives that it rests on.  expected_speedup: of the setting that was judged best, over the load points,
    for `speculate_below` over those up to the limit.  expected_speedup_similar_prompts: with the prompts as a sample of
    prompts like them.  speedup_before_selection: as it was in one life, before the best of many was taken.
    resolution: how fine a difference could be told.  runner_up: name of the next best.
    by_concurrency: the best K at each concurrency.  crossover: where speculation stops paying.
    traffic: what the load points were weighted by.  curves: speedup against K.  schedule: what came of a K schedule.
    load_points: of that setting (of the engine without speculation where none is recommended).
    baseline_load_points: of the engine without speculation, with the same arguments on the same device.
    """

    engine_lives: int
    expected_speedup: MeasuredFigure
    expected_speedup_similar_prompts: MeasuredFigure | None
    speedup_before_selection: MeasuredFigure | None
    resolution: Resolution | None
    runner_up: str | None
    by_concurrency: tuple[BestAt, ...] | None
    crossover: Crossovers | None
    traffic: Traffic | None
    load_points: tuple[LoadResult, ...]
    baseline_load_points: tuple[LoadResult, ...] = Field(default=())
    curves: tuple[Curve, ...]
    schedule: Schedule | None
