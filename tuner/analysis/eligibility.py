"""Which trials may win at all: capacity is decided here, before anybody looks at speed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tuner.records import LoadMeasurement, LoadPoint, Trial, TrialFigures, canonical_json

GPU_MEMORY = "gpu_memory_utilization"


@dataclass(frozen=True)
class Contender:
    """A measured trial as selection sees it.

    figures: speedups over its own baseline.  ranked: speedups over the run's reference baseline, which makes trials
    with different engine arguments comparable (the same as `figures` where there is one set of arguments).
    reasons: why it cannot win.  preempted: at any load point of the temperature in question.
    """

    figures: TrialFigures
    ranked: TrialFigures
    reasons: tuple[str, ...] = ()
    preempted: bool = False
    kv_cache_tokens: int | None = None

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


def disqualifications(trial: Trial, baseline: Trial | None, load_points: Sequence[LoadPoint]) -> tuple[str, ...]:
    """Return why `trial` cannot win at these load points (of one temperature), whatever its speed; empty if it can.

    More failed requests than its baseline, repeats whose counters contradict themselves or that saw other people's
    traffic, load points that are missing, preemptions where the baseline had none, a shorter context than it.
    """
    if baseline is None:
        return ("no baseline was measured on the same device with the same engine arguments",)
    found = _measured(trial, load_points)
    measured = {load.load_point.key for load in found}
    reasons = [f"not measured at {load.label}" for load in load_points if load.key not in measured]
    for load in found:
        reasons += [f"{load.load_point.label}: {problem}" for r in load.repeats for problem in r.problems]
    failed, tolerated = _failure_rate(found), _failure_rate(_measured(baseline, load_points))
    if failed > tolerated:
        reasons.append(f"{failed:.1%} of its requests failed, {tolerated:.1%} of the baseline's")
    preempted = preemptions(trial, load_points)
    if preempted and not preemptions(baseline, load_points):
        reasons.append(f"{preempted} preemptions where the baseline had none: it does not fit the memory")
    ours, theirs = (t.record.engine.max_model_len if t.record.engine else None for t in (trial, baseline))
    if ours is not None and theirs is not None and ours < theirs:
        reasons.append(f"its max_model_len is {ours}, the baseline's {theirs}")
    return tuple(dict.fromkeys(reasons))


def preemptions(trial: Trial, load_points: Sequence[LoadPoint]) -> int:
    """Return the preemptions at these load points over all repeats, 0 where the engine does not count them."""
    found = _measured(trial, load_points)
    return sum(repeat.counters.preemptions or 0 for load in found for repeat in load.repeats)


def _measured(trial: Trial, load_points: Sequence[LoadPoint]) -> list[LoadMeasurement]:
    keys = {load.key for load in load_points}
    return [load for load in trial.record.loads if load.load_point.key in keys]


def _failure_rate(loads: Sequence[LoadMeasurement]) -> float:
    repeats = [repeat for load in loads for repeat in load.repeats]
    requests = sum(repeat.requests for repeat in repeats)
    return sum(repeat.failed for repeat in repeats) / requests if requests else 0.0


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
