"""A finalist's figures over all its fresh engine lives."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tuner.analysis.costs import COSTS, WALL, WHOLE, costs
from tuner.analysis.device_figures import device_figures
from tuner.analysis.life import LATENCIES, LoadView, load_view
from tuner.analysis.metrics import (
    acceptance_by_position,
    conditional_by_position,
    count_figures,
    counter_figures,
    latency_percentiles,
    throughput_figure,
)
from tuner.analysis.paired import comparable, lives_note
from tuner.analysis.rounds import Arm, logs, mean_over, mean_repeat_spread, similar_prompts
from tuner.analysis.statistics import CONFIDENCE, Column, Spread, exp, over_rounds, ratio_figure, undefined
from tuner.records import Figure, LoadFigures, LoadPoint, Metric, RequestSample, Trial, TrialFigures

PAIRED = "mean over rounds of engine lives of geometric means over prompts of paired ratios"
OWN = "mean over engine lives of geometric means over prompts of medians over repeats"
RATES = "geometric mean over rounds of engine lives of ratios of medians over repeats"

_LENGTHS = ("mean_acceptance_length", "effective_tokens_per_step")

Pairs = Mapping[int, tuple[LoadView, LoadView]]


def final_figures(
    arm: Arm,
    load_points: Sequence[LoadPoint],
    over: Mapping[int, Trial] | None = None,
    confidence: float = CONFIDENCE,
    metric: Metric = Metric.TPOT,
) -> TrialFigures:
    """Return the figures of an arm with at least one life.  Speedups are over the baseline's life of the same round.

    over: lives of another baseline, instead of the arm's own.  A baseline has no speedups but over another one.
    confidence: of the intervals.  metric: what decides between arms; all other figures are the same.
    A round counts at a load point where both lives have a valid request there.
    """
    base_lives = arm.baseline if over is None else over
    paired = arm.candidate.k > 0 or over is not None
    lives = {n: (life, base_lives.get(n) if paired else life) for n, life in arm.lives.items()}
    record = next(iter(arm.lives.values())).record
    loads = []
    for load in load_points:
        views = {n: (load_view(life, load.key), load_view(base, load.key)) for n, (life, base) in lives.items() if base}
        pairs = {n: (a, b) for n, (a, b) in views.items() if a and b and a.tpot_by_prompt and b.tpot_by_prompt}
        if pairs:
            loads.append(_load_figures(load, pairs, COSTS[metric], paired=paired, confidence=confidence))
    return TrialFigures(
        number=record.number,
        candidate=arm.candidate,
        device_key=record.worker.device_key,
        loads=tuple(loads),
        lives=len(arm.lives),
        confidence=confidence,
        metric=metric,
    )


def _load_figures(load: LoadPoint, pairs: Pairs, cost: str, *, paired: bool, confidence: float) -> LoadFigures:
    views, baselines = [view for view, _ in pairs.values()], [view for _, view in pairs.values()]
    samples = [sample for view in views for sample in view.samples]
    repeats = [repeat for view in views for repeat in view.repeats]
    figures: dict[str, Figure] = {}
    for name in LATENCIES:
        figures |= {name: _own(views, name, confidence), **latency_percentiles(name, samples)}
    figures |= {**_over_lives(counter_figures(repeats), views, confidence), **device_figures(repeats)}
    figures |= count_figures([repeat for view in views for repeat in view.measurement.repeats])
    figures["throughput_tok_s"] = throughput_figure([rate for view in views for rate in view.throughputs])
    ratios = {number: logs(base, life, "tpot_s") for number, (life, base) in pairs.items()} if paired else {}
    decided = ratios if cost == "tpot_s" or not paired else _decided(pairs, cost)
    own, base = mean_repeat_spread(views, cost), mean_repeat_spread(baselines, cost) if paired else Spread()
    if paired:
        figures |= _comparisons(load, pairs, ratios, confidence)
    own_costs = [{p: math.log(seconds) for p, seconds in costs(view, cost).items()} for view in views]
    return LoadFigures(
        load_point=load,
        figures=figures,
        acceptance_by_position=acceptance_by_position(repeats),
        conditional_by_position=conditional_by_position(repeats),
        categories=_categories(samples, list(ratios.values()), confidence),
        rounds={number: _exp(of_round) for number, of_round in decided.items()},
        cost_by_prompt=_exp(mean_over(own_costs)),
        speedup_by_prompt=_exp(mean_over(list(decided.values()))),
        repeat_variance=own.variance,
        repeat_df=int(own.df),
        baseline_repeat_variance=base.variance,
        baseline_repeat_df=base.df,
    )


def _over_lives(figures: dict[str, Figure], views: Sequence[LoadView], confidence: float) -> dict[str, Figure]:
    """Return the engine's counts over all lives, tokens per draft and per step with the interval of the lives' own."""
    found = dict(figures)
    for name in _LENGTHS:
        values = [counter_figures(view.repeats)[name].value for view in views]
        logs_ = [math.log(value) for value in values if value is not None]
        estimate = over_rounds([[Column({WHOLE: value})] for value in logs_], confidence)
        interval = estimate.interval() if estimate else None
        if interval is not None and len(logs_) == len(views):
            low, high = map(exp, interval)
            found[name] = replace(figures[name], low=low, high=high, note=lives_note(len(views)))
    return found


def _decided(pairs: Pairs, cost: str) -> dict[int, dict[str, float]]:
    """Return the log speedups in another metric than TPOT, of each round that has some."""
    ratios = {number: logs(base, comparable(life, [base], cost), cost) for number, (life, base) in pairs.items()}
    return {number: of_round for number, of_round in ratios.items() if of_round}


def _categories(
    samples: Sequence[RequestSample], ratios: Sequence[Mapping[str, float]], confidence: float
) -> dict[str, Figure]:
    """Return the speedup of each category of prompts, over the rounds."""
    category = {sample.prompt_id: sample.category for sample in samples}
    names = dict.fromkeys(category[prompt] for of_round in ratios for prompt in of_round)
    return {
        name: _over(
            [{p: value for p, value in of_round.items() if category[p] == name} for of_round in ratios], confidence
        )
        for name in names
    }


def _exp(values: Mapping[str, float]) -> dict[str, float]:
    return {prompt: exp(value) for prompt, value in values.items()}


def _own(views: Sequence[LoadView], name: str, confidence: float) -> Figure:
    """Return a latency in seconds, with the interval that its lives give."""
    lives = [{p: math.log(value) for p, value in view.by_prompt(LATENCIES[name]).items()} for view in views]
    estimate = over_rounds([[Column(life)] for life in lives], confidence)
    return ratio_figure(estimate, OWN, unit="s", note=lives_note(len(views)) if estimate else "no request worked")


def _comparisons(
    load: LoadPoint, pairs: Pairs, ratios: Mapping[int, Mapping[str, float]], confidence: float
) -> dict[str, Figure]:
    similar = similar_prompts([[Column(of_round)] for of_round in ratios.values()], confidence)
    return {
        "speedup_tpot": _over(list(ratios.values()), confidence),
        "speedup_tpot_similar_prompts": ratio_figure(
            similar, PAIRED, note=f"{lives_note(len(pairs))}, prompts like these"
        ),
        "speedup_e2e": _e2e(load, pairs, confidence),
        "ttft_ratio": _over([logs(life, base, "ttft_s") for life, base in pairs.values()], confidence),
        "throughput_ratio": _throughput(pairs, confidence),
    }


def _over(rounds: Sequence[Mapping[str, float]], confidence: float) -> Figure:
    usable = [of_round for of_round in rounds if of_round]
    if not usable:
        return undefined("x", PAIRED, "no prompt worked in both arms")
    estimate = over_rounds([[Column(of_round)] for of_round in usable], confidence)
    return ratio_figure(estimate, PAIRED, note=lives_note(len(usable)))


def _e2e(load: LoadPoint, pairs: Pairs, confidence: float) -> Figure:
    if not load.equal_lengths:
        return undefined("x", PAIRED, "sampled answers differ in length between the arms")
    return _over(list(_decided(pairs, "e2e_s").values()), confidence)


def _throughput(pairs: Pairs, confidence: float) -> Figure:
    """Return output tokens per second, candidate / baseline; each round is one observation."""
    usable = list(_decided(pairs, WALL).values())
    estimate = over_rounds([[Column(of_round, whole=True)] for of_round in usable], confidence)
    note = lives_note(len(usable)) if estimate else "no throughput in one of the arms"
    return ratio_figure(estimate, RATES, note=note, n_of="rounds")
