"""What the records of a sweep say beyond its artifact: each engine life, by prompt."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tuner.analysis.life import LATENCIES, LoadView, load_view
from tuner.analysis.metrics import counter_figures
from tuner.analysis.rounds import arms as fresh_arms
from tuner.analysis.rounds import logs, mean_repeat_spread
from tuner.analysis.statistics import Estimate, Spread, combined, spread_of_mean
from tuner.compare.quantity import WHOLE, Quantity, nothing
from tuner.compare.sides import Arm, SettingKey, Side, SideAnswer, SideLoad, setting_key, with_arms
from tuner.records import Candidate, LoadPoint, Repeat, Role, Trial

_COUNTED = {"acceptance_length": "mean_acceptance_length", "tokens_per_step": "effective_tokens_per_step"}
_TIMED = {"tpot": "tpot_s", "ttft": "ttft_s"}


def with_records(side: Side, trials: Sequence[Trial]) -> Side:
    """Return the sweep with what its trials say.

    Of trials whose request samples were not kept, only what is counted is used: acceptance, life by life.
    """
    if not trials:
        return side
    loads = tuple(_with_lives(load, side.answer(load.load.sampling.temperature), trials) for load in side.loads)
    return replace(side, loads=loads, records=True)


def _with_lives(load: SideLoad, answer: SideAnswer, trials: Sequence[Trial]) -> SideLoad:
    rounds, args = answer.rounds, answer.best.args_key
    role = Role.FINAL if answer.schedule is None else Role.SCHEDULE
    single = {
        setting_key(trial.record.candidate): trial
        for trial in trials
        if trial.record.ok and trial.record.role is Role.CANDIDATE and trial.record.candidate.args_key == args
    }
    arms: dict[SettingKey, Arm] = {key: _within_one_life(load.load, trial) for key, trial in single.items()}
    baseline: Arm = {}
    for arm in fresh_arms(trials, role):
        if arm.candidate.args_key != args:
            continue
        key = setting_key(arm.candidate)
        lives = {n: life for n, life in arm.lives.items() if not rounds or n in rounds}
        if not arm.candidate.k:
            baseline = _over_lives(load.load, lives | _single_lives(trials, arm.candidate), {})
        elif len(lives) > 1:
            arms[key] = _over_lives(load.load, lives, arm.baseline)
        elif key in single:
            # Not fit to be timed, but what was accepted in two lives tells more than in one.
            arms[key] = {**arms[key], **_counts(load.load, [single[key], *lives.values()])}
    return with_arms(load, baseline, arms)


def _single_lives(trials: Sequence[Trial], baseline: Candidate) -> dict[int, Trial]:
    """Return the baseline's lives outside of rounds, under numbers that no round has.

    Nothing was selected by how fast they were, so they are lives like any other.
    """
    roles = (Role.BASELINE, Role.BASELINE_AGAIN)
    found = (t for t in trials if t.record.ok and t.record.role in roles and t.record.candidate.key == baseline.key)
    return {-1 - trial.record.number: trial for trial in found}


def _over_lives(load: LoadPoint, lives: Mapping[int, Trial], baseline: Mapping[int, Trial]) -> Arm:
    views = {n: view for n, life in lives.items() if (view := load_view(life, load.key)) is not None}
    arm = _counts(load, list(lives.values()))
    if len(views) < 2 or not all(view.tpot_by_prompt for view in views.values()):
        return arm
    arm |= {name: _timed(list(views.values()), metric) for name, metric in _TIMED.items()}
    plain = {n: view for n in views if n in baseline and (view := load_view(baseline[n], load.key)) is not None}
    if set(plain) == set(views):
        arm["speedup"] = _speedup([(views[n], plain[n]) for n in views])
    return arm


def _counts(load: LoadPoint, lives: Sequence[Trial]) -> dict[str, Quantity]:
    views = [view for life in lives if (view := load_view(life, load.key)) is not None]
    return {name: _counted(views, figure) for name, figure in _COUNTED.items()}


def _timed(views: Sequence[LoadView], metric: str) -> Quantity:
    lives = [{p: math.log(value) for p, value in view.by_prompt(LATENCIES[metric]).items()} for view in views]
    if not all(lives):
        return nothing("an engine life has no valid request")
    return Quantity(tuple(lives), repeats=mean_repeat_spread(views, metric))


def _speedup(pairs: Sequence[tuple[LoadView, LoadView]]) -> Quantity:
    lives = tuple(logs(base, view, "tpot_s") for view, base in pairs)
    if not all(lives):
        return nothing("a round has no prompt that worked in both arms")
    parts = [mean_repeat_spread([pair[arm] for pair in pairs]) for arm in (0, 1)]
    return Quantity(lives, repeats=combined(parts) if all(part.df for part in parts) else Spread())


def _counted(views: Sequence[LoadView], figure: str) -> Quantity:
    values = [counter_figures(view.repeats)[figure] for view in views]
    known = [value.value for value in values if value.value is not None]
    if not known or len(known) < len(values):
        return nothing(next((value.note for value in values if value.value is None), "it was not measured"))
    spreads = [spread_of_mean(_logs_of_repeats(view.repeats, figure)) for view in views]
    variance = math.fsum(spread.variance for spread in spreads) / len(spreads)
    return Quantity(
        tuple({WHOLE: math.log(value)} for value in known),
        repeats=Spread(variance, math.fsum(spread.df for spread in spreads)),
    )


def _within_one_life(load: LoadPoint, trial: Trial) -> Arm:
    """Return what one engine life says of acceptance.

    Acceptance is counted and not timed, and the repeats of a life already see what batching does to it. So its repeats
    give an interval here, which says so; times of one life get none.
    """
    view = load_view(trial, load.key)
    if view is None:
        return {}
    figure = _COUNTED["acceptance_length"]
    length = Quantity(
        known=_over_repeats(_logs_of_repeats(view.repeats, figure)), note="within one engine life, over its repeats"
    )
    return {**_counts(load, [trial]), "acceptance_length": length}


def _logs_of_repeats(repeats: Sequence[Repeat], figure: str) -> list[float]:
    values = (counter_figures([repeat])[figure].value for repeat in repeats)
    return [math.log(value) for value in values if value is not None]


def _over_repeats(values: Sequence[float]) -> Estimate | None:
    if not values:
        return None
    spread = spread_of_mean(values)
    return Estimate(
        math.fsum(values) / len(values), math.sqrt(spread.variance) if spread.df else None, spread.df, len(values)
    )
