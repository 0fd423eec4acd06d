"""Which trials may win at all: capacity is decided here, before anybody looks at speed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tuner.analysis.limits import Check, over_limit
from tuner.analysis.plausible import counter_bars
from tuner.analysis.sanity import text_bars
from tuner.analysis.statistics import fisher_more
from tuner.records import Bar, BarKind, Barred, LoadMeasurement, LoadPoint, Trial, TrialFigures, canonical_json

FAILURE_LEVEL = 0.05
FOREIGN = "foreign traffic"
"""How the problem of a repeat begins that saw requests of somebody else: no fault of the candidate."""
GPU_MEMORY = "gpu_memory_utilization"


@dataclass(frozen=True)
class Contender:
    """A measured trial as selection sees it.

    figures: speedups over its own baseline.  ranked: speedups over the run's reference baseline, which makes trials
    with different engine arguments comparable (the same as `figures` where there is one set of arguments).
    bars: why it cannot win.  preempted: at any load point of the temperature in question.
    checks: its p95 latencies against the limits; those of a baseline too.
    """

    figures: TrialFigures
    ranked: TrialFigures
    bars: tuple[Bar, ...] = ()
    preempted: bool = False
    kv_cache_tokens: int | None = None
    checks: tuple[Check, ...] = ()

    def over(self, loads: Sequence[LoadPoint]) -> tuple[Check, ...]:
        """Return the limits that it breaks at these load points: there it cannot win."""
        keys = {load.key for load in loads}
        return tuple(check for check in self.checks if check.broken and check.load.key in keys)

    @property
    def reasons(self) -> tuple[str, ...]:
        """The bars in words."""
        return tuple(bar.text for bar in self.bars)

    @property
    def k(self) -> int:
        """Speculative tokens, 0 for a baseline."""
        return self.figures.candidate.k

    @property
    def name(self) -> str:
        """Words for a person."""
        return self.figures.candidate.label

    @property
    def gpu_memory(self) -> float | None:
        """gpu_memory_utilization, None for the engine's default."""
        value = self.figures.candidate.engine_args.get(GPU_MEMORY)
        return float(value) if isinstance(value, int | float) else None


def barred(contenders: Mapping[float, Sequence[Contender]]) -> tuple[Barred, ...]:
    """Return each speculative contender's bars, by temperature; a limit bars it at one load point alone."""
    found = [
        Barred(contender.figures.candidate, temperature, bar)
        for temperature, at in contenders.items()
        for contender in at
        if contender.k
        for bar in (*contender.bars, *over_limit(contender.checks))
    ]
    return tuple(found)


def disqualifications(trial: Trial, baseline: Trial | None, load_points: Sequence[LoadPoint]) -> tuple[Bar, ...]:
    """Return why `trial` cannot win at these load points (of one temperature), whatever its speed; empty if it can.

    More failed requests than its baseline, repeats whose counters contradict themselves or that saw other people's
    traffic, load points that are missing, preemptions where the baseline had none, another context than it has, answers
    that are clearly worse than the baseline's (tuner.analysis.sanity), counters that no draft can have (.plausible).
    """
    if baseline is None:
        text = "no baseline was measured on the same device with the same engine arguments"
        return (Bar(BarKind.NO_BASELINE, text),)
    bars = [*_unmeasured(trial, load_points), *_capacity(trial, baseline, load_points)]
    if trial is not baseline:
        bars += [*text_bars(trial, baseline, load_points), *counter_bars(trial, load_points)]
    return tuple(dict.fromkeys(bars))


def _unmeasured(trial: Trial, load_points: Sequence[LoadPoint]) -> list[Bar]:
    found = measured_loads(trial, load_points)
    keys = {load.load_point.key for load in found}
    missing = [f"not measured at {load.label}" for load in load_points if load.key not in keys]
    broken = [
        f"{load.load_point.label}: {problem}"
        for load in found
        for repeat in load.repeats
        for problem in repeat.problems
        if not (problem.startswith(FOREIGN) and any(not other.problems for other in load.repeats))
    ]
    return [
        *(Bar(BarKind.INCOMPLETE, text) for text in missing),
        *(Bar(BarKind.INVALID_REPEAT, text) for text in broken),
    ]


def _capacity(trial: Trial, baseline: Trial, load_points: Sequence[LoadPoint]) -> list[Bar]:
    bars = []
    failed, tolerated = (_failure_rate(measured_loads(t, load_points)) for t in (trial, baseline))
    if failed > tolerated:
        text = f"{failed:.1%} of its requests failed, {tolerated:.1%} of the baseline's"
        bars.append(Bar(BarKind.MORE_FAILURES, text))
    preempted = preemptions(trial, load_points)
    if preempted and not preemptions(baseline, load_points):
        text = f"{preempted} preemptions where the baseline had none: it does not fit the memory"
        bars.append(Bar(BarKind.PREEMPTED, text))
    ours, theirs = (t.record.engine.max_model_len if t.record.engine else None for t in (trial, baseline))
    if ours is not None and theirs is not None and ours != theirs:
        bars.append(Bar(BarKind.CONTEXT_DIFFERS, f"its max_model_len is {ours}, the baseline's {theirs}"))
    return bars


def failures_over_lives(pairs: Sequence[tuple[Trial, Trial]], load_points: Sequence[LoadPoint]) -> list[Bar]:
    """Return a bar where clearly more requests failed over all fresh lives than in their baselines' (Fisher, 5 %).

    pairs: life and baseline of each round. Over many lives a rare failure meets either arm by chance.
    """
    failed, of = _failed([load for life, _ in pairs for load in measured_loads(life, load_points)])
    tolerated, base_of = _failed([load for _, base in pairs for load in measured_loads(base, load_points)])
    if failed * base_of <= tolerated * of or fisher_more(failed, of, tolerated, base_of) >= FAILURE_LEVEL:
        return []
    text = f"{failed} of {of} requests failed over {len(pairs)} fresh lives, {tolerated} of {base_of} of the baseline's"
    return [Bar(BarKind.MORE_FAILURES, text)]


def preemptions(trial: Trial, load_points: Sequence[LoadPoint]) -> int:
    """Return the preemptions at these load points over all repeats, 0 where the engine does not count them."""
    found = measured_loads(trial, load_points)
    return sum(repeat.counters.preemptions or 0 for load in found for repeat in load.repeats)


def measured_loads(trial: Trial, load_points: Sequence[LoadPoint]) -> list[LoadMeasurement]:
    """Return what was measured at these load points, in the order it was measured."""
    keys = {load.key for load in load_points}
    return [load for load in trial.record.loads if load.load_point.key in keys]


def _failed(loads: Sequence[LoadMeasurement]) -> tuple[int, int]:
    """Return how many requests failed, of how many."""
    repeats = [repeat for load in loads for repeat in load.repeats]
    return sum(repeat.failed for repeat in repeats), sum(repeat.requests for repeat in repeats)


def _failure_rate(loads: Sequence[LoadMeasurement]) -> float:
    failed, requests = _failed(loads)
    return failed / requests if requests else 0.0


def fitting_memory(contenders: Sequence[Contender], default: float | None) -> tuple[Contender, ...]:
    """Return for each set of otherwise equal candidates the one with the right gpu_memory_utilization.

    Right is the smallest value that served every load point without preemption; values that gave the same KV cache
    serve equally well, and among those the engine's default is taken. Where none served, the largest one measured
    stays (with its reasons). Speed is not looked at.
    """
    groups: dict[str, list[Contender]] = {}
    for contender in contenders:
        groups.setdefault(_without_memory(contender), []).append(contender)
    return tuple(_fitting(group, default) for group in groups.values())


def _without_memory(contender: Contender) -> str:
    candidate, spec = contender.figures.candidate, contender.figures.candidate.speculation
    rest = {name: value for name, value in candidate.engine_args.items() if name != GPU_MEMORY}
    identity = (
        [spec.method, spec.draft_name, spec.draft, spec.num_speculative_tokens, dict(spec.options)] if spec else []
    )
    return canonical_json([rest, identity])


def _fitting(group: Sequence[Contender], default: float | None) -> Contender:
    def size(contender: Contender) -> float:
        return contender.gpu_memory if contender.gpu_memory is not None else (default or 0.0)

    ordered = sorted(group, key=size)
    serving = [c for c in ordered if not c.preempted and not c.reasons]
    if not serving:
        return ordered[-1]
    smallest = serving[0]
    equal = [c for c in serving if c.kv_cache_tokens is not None and c.kv_cache_tokens == smallest.kv_cache_tokens]
    return next((c for c in equal if default is not None and size(c) == default), smallest)
