"""Whole trials compared over several load points; everything in logarithms of cost ratios, paired by prompt.

The cost is that of the metric in which the trials' figures were made (tuner.analysis.costs): TPOT unless another was
asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from tuner.analysis.costs import COSTS
from tuner.analysis.paired import allowance, life_note, lives_note, widened
from tuner.analysis.rounds import similar_prompts
from tuner.analysis.statistics import (
    Column,
    Estimate,
    Spread,
    combined,
    exp,
    log_ratios,
    mean_estimate,
    over_rounds,
    ratio_figure,
)
from tuner.records import Figure, LoadFigures, LoadPoint, Metric, TrialFigures

OBJECTIVE = "weighted geometric mean over load points of {} ratios"

FEW_LIVES = 5
"""Engine lives up to which their own spread alone is not trusted."""

Values = Callable[[LoadPoint], Mapping[str, float]]
Spreads = Callable[[LoadPoint], tuple[Spread, ...]]


def load_figures(trial: TrialFigures, load: LoadPoint) -> LoadFigures | None:
    """Return the trial's figures at that load point (by key: its weight may have changed); None if not measured."""
    return next((figures for figures in trial.loads if figures.load_point.key == load.key), None)


def log_drift(trial: TrialFigures, loads: Sequence[LoadPoint]) -> float | None:
    """Return the weighted mean size of the log drift of the trial's baseline over the load points.

    Without signs: drifts of opposite directions are no evidence of a steady engine. None where one is not known.
    Over several lives drift is part of what differs between rounds: 0.
    """
    if trial.lives > 1:
        return 0.0
    total, weight = 0.0, 0.0
    for load in loads:
        figures = load_figures(trial, load)
        drift = figures.figures.get("baseline_drift") if figures else None
        if drift is None or drift.value is None:
            return None
        total += load.weight * abs(math.log(drift.value))
        weight += load.weight
    return total / weight if weight else None


def weighted_estimate(
    loads: Sequence[LoadPoint], values: Values, spreads: Spreads, *, whole: bool = False
) -> Estimate | None:
    """Return the weighted mean over load points of per-prompt values; None if a load point has none.

    spreads: variances of a load point's mean that its prompts do not show.  whole: see Column.
    """
    return mean_estimate([Column(values(load), load.weight, load.eval_set, spreads(load), whole) for load in loads])


def is_whole(trial: TrialFigures) -> bool:
    """Whether the metric is of a load as a whole, and of no prompt."""
    return trial.metric is Metric.THROUGHPUT


def objective_words(metric: Metric) -> str:
    """Return the name of the estimator of the objective."""
    return OBJECTIVE.format(metric.words if metric is Metric.THROUGHPUT else f"paired {metric.words}")


def _own_spread(figures: LoadFigures | None) -> Spread:
    return Spread(figures.repeat_variance, figures.repeat_df) if figures else Spread()


def _baseline_spread(figures: LoadFigures | None) -> Spread:
    return Spread(figures.baseline_repeat_variance, figures.baseline_repeat_df) if figures else Spread()


def speedup_estimate(trial: TrialFigures, loads: Sequence[LoadPoint]) -> Estimate | None:
    """Return log(speedup) of the trial over its own baseline at these load points, drift allowed for.

    Where there are fresh lives, the mean over their rounds.
    """
    if trial.lives > 1:
        return over_rounds(_own_rounds(trial, loads), trial.confidence)

    def logs(load: LoadPoint) -> dict[str, float]:
        figures = load_figures(trial, load)
        return {p: math.log(s) for p, s in figures.speedup_by_prompt.items()} if figures else {}

    def spreads(load: LoadPoint) -> tuple[Spread, ...]:
        figures = load_figures(trial, load)
        return _own_spread(figures), _baseline_spread(figures)

    found = weighted_estimate(loads, logs, spreads, whole=is_whole(trial))
    return widened(found, allowance(log_drift(trial, loads)))


def claimable_estimate(trial: TrialFigures, loads: Sequence[LoadPoint]) -> Estimate | None:
    """Return speedup_estimate as a claim may rest on it: with few lives, no surer than the repeats alone allow.

    The values of three rounds agree by luck now and then, and a claim made then is a claim of luck. What repeats within
    the lives differ by is known much better, and is part of what rounds differ by: up to FEW_LIVES the standard error
    of the mean over L rounds is not taken to be below sqrt(r^2 / L), r^2 the variance of a round's value that its
    repeats account for.
    """
    found = speedup_estimate(trial, loads)
    if found is None or found.se is None or not 1 < trial.lives <= FEW_LIVES:
        return found
    total, variance = sum(load.weight for load in loads), 0.0
    for load in loads:
        figures = load_figures(trial, load)
        share = load.weight / total
        variance += share**2 * (_own_spread(figures).variance + _baseline_spread(figures).variance)
    return replace(found, se=max(found.se, math.sqrt(variance / trial.lives)))


def similar_prompts_estimate(trial: TrialFigures, loads: Sequence[LoadPoint]) -> Estimate | None:
    """Return what speedup_estimate does, for prompts like these. Within one life that is what it does already."""
    if trial.lives > 1:
        return similar_prompts(_own_rounds(trial, loads), trial.confidence)
    return speedup_estimate(trial, loads)


Rounds = Mapping[int, Mapping[str, float]]


def _own_rounds(trial: TrialFigures, loads: Sequence[LoadPoint]) -> list[list[Column]]:
    return _rounds(loads, lambda load: _log_rounds(load_figures(trial, load)), whole=is_whole(trial))


def _log_rounds(figures: LoadFigures | None) -> dict[int, dict[str, float]]:
    rounds = figures.rounds if figures else {}
    return {number: {p: math.log(s) for p, s in of_round.items()} for number, of_round in rounds.items()}


def _differences(first: TrialFigures, second: TrialFigures, load: LoadPoint) -> dict[int, dict[str, float]]:
    a, b = (load_figures(trial, load) for trial in (first, second))
    if a is None or b is None:
        return {}
    return {n: log_ratios(of_round, b.rounds[n]) for n, of_round in a.rounds.items() if n in b.rounds}


def _rounds(loads: Sequence[LoadPoint], values: Callable[[LoadPoint], Rounds], *, whole: bool) -> list[list[Column]]:
    """Return the columns of each round that has every load point."""
    at_loads = [(load, values(load)) for load in loads]
    if not at_loads:
        return []
    common = [n for n in at_loads[0][1] if all(n in rounds for _, rounds in at_loads)]
    return [[Column(rounds[n], load.weight, load.eval_set, (), whole) for load, rounds in at_loads] for n in common]


def advantage(first: TrialFigures, second: TrialFigures, loads: Sequence[LoadPoint]) -> Estimate | None:
    """Return log(how much faster `first` is than `second`), from paired differences on the same prompts.

    The speedups of two trials with one baseline differ by their own times alone: the baseline cancels. They are two
    engine lives all the same, so the drift seen between the baseline's lives is allowed for; between two devices (or
    two baselines) nothing cancels and both drifts count.
    """

    whole = is_whole(first)
    if first.lives > 1 and second.lives > 1:
        rounds = _rounds(loads, lambda load: _differences(first, second, load), whole=whole)
        return over_rounds(rounds, first.confidence)

    def differences(load: LoadPoint) -> dict[str, float]:
        a, b = load_figures(first, load), load_figures(second, load)
        return log_ratios(a.speedup_by_prompt, b.speedup_by_prompt) if a and b else {}

    same = (first.device_key, first.candidate.args_key) == (second.device_key, second.candidate.args_key)

    def spreads(load: LoadPoint) -> tuple[Spread, ...]:
        both = [load_figures(trial, load) for trial in (first, second)]
        own = tuple(_own_spread(figures) for figures in both)
        return own if same else (*own, *(_baseline_spread(figures) for figures in both))

    drifts = [log_drift(trial, loads) for trial in (first, second)]
    known = [drift for drift in drifts if drift is not None]
    found = weighted_estimate(loads, differences, spreads, whole=whole)
    return widened(found, max(known, default=0.0) if same else sum(known))


def against(trial: TrialFigures, own: TrialFigures, reference: TrialFigures) -> TrialFigures:
    """Return `trial` with its speedups over another baseline of the same device instead of its own.

    own: its own baseline, or the trial itself where it is a baseline.  The cost of `reference` / `own` per prompt is
    the gain of the engine arguments alone.
    """
    loads = []
    for figures in trial.loads:
        ours, theirs = load_figures(own, figures.load_point), load_figures(reference, figures.load_point)
        gain = log_ratios(theirs.cost_by_prompt, ours.cost_by_prompt) if ours and theirs else {}
        base = figures.speedup_by_prompt if trial.candidate.k else dict.fromkeys(figures.cost_by_prompt, 1.0)
        scaled = {prompt: base[prompt] * exp(gain[prompt]) for prompt in base if prompt in gain}
        base_spread = _baseline_spread(figures)
        if own.number != reference.number:
            base_spread = combined([base_spread, _own_spread(ours), _own_spread(theirs)])
        loads.append(
            replace(
                figures,
                speedup_by_prompt=scaled,
                baseline_repeat_variance=base_spread.variance,
                baseline_repeat_df=base_spread.df,
            )
        )
    return replace(trial, loads=tuple(loads))


def loads_at(trial: TrialFigures, temperature: float) -> tuple[LoadPoint, ...]:
    """Return the trial's load points of one temperature, in its order."""
    points = (figures.load_point for figures in trial.loads)
    return tuple(load for load in points if load.sampling.temperature == temperature)


def objective_speedup(figs: TrialFigures, temperature: float, loads: Sequence[LoadPoint] | None = None) -> Figure:
    """Return the weighted geometric mean speedup over the load points of one temperature (or over `loads` alone).

    The baseline's is 1 by definition. Undefined, with the reason, where a load point has no speedup.
    """
    points = loads_at(figs, temperature) if loads is None else tuple(loads)
    name, n_of = objective_words(figs.metric), counted(figs)
    if not figs.candidate.k:
        return Figure(1.0, "x", name, 0, n_of, 1.0, 1.0, "the baseline, 1 by definition")
    estimate = speedup_estimate(figs, points)
    if estimate is None:
        note = f"not every load point at temperature {temperature:g} has a speedup"
        return ratio_figure(None, name, note=note, n_of=n_of)
    if figs.lives > 1:
        return ratio_figure(estimate, name, note=lives_note(estimate.lives), n_of=n_of)
    at_points = [load_figures(figs, load) for load in points]
    repeated = all(figures and figures.repeat_df and figures.baseline_repeat_df for figures in at_points)
    return ratio_figure(estimate, name, note=life_note(log_drift(figs, points), repeated), n_of=n_of)


def counted(figs: TrialFigures) -> str:
    """Return what the n of the trial's speedup counts."""
    return "prompts" if not is_whole(figs) else "rounds" if figs.lives > 1 else "repeats"


def objective_cost(figs: TrialFigures, temperature: float) -> float | None:
    """Return the weighted geometric mean of the metric's cost over the load points of one temperature, seconds.

    For throughput that is the wall time per output token. None where a load point has none.
    """
    loads = [figures for figures in figs.loads if figures.load_point.sampling.temperature == temperature]
    values = [_cost(figures, figs.metric) for figures in loads]
    weights = [figures.load_point.weight for figures in loads]
    if not loads or any(value is None for value in values):
        return None
    logs = [weight * math.log(value) for weight, value in zip(weights, values, strict=True) if value is not None]
    return math.exp(sum(logs) / sum(weights))


def _cost(figures: LoadFigures, metric: Metric) -> float | None:
    if metric is not Metric.THROUGHPUT:
        return figures.figures[COSTS[metric]].value
    rate = figures.figures["throughput_tok_s"].value
    return 1 / rate if rate else None
