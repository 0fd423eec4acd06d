"""A trial against its baseline at one load point, paired by prompt.

`speedup_*` are baseline / candidate (above 1: the candidate is better); `*_ratio` are candidate / baseline.
With several lives of the baseline, ratios are against their geometric mean and every interval is widened by the
largest drift between two of them in the same metric: an effect that is no larger than the drift, over either life,
cannot exclude 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from tuner.analysis.costs import WALL, cost_spread, costs
from tuner.analysis.life import LoadView, answer_length
from tuner.analysis.metric_table import DRIFT, PAIRED, RATES
from tuner.analysis.statistics import (
    Column,
    Estimate,
    Spread,
    combined,
    exp,
    log_ratios,
    mean_estimate,
    mean_over_lives,
    ratio_figure,
    undefined,
)
from tuner.records import Figure

RATE_DRIFT = "ratio of wall time per output token, later / earlier of the two lives that differ most"


def comparison_figures(view: LoadView, lives: Sequence[LoadView]) -> dict[str, Figure]:
    """Return the speedups and ratios of `view` against the lives of its baseline (one or more, the first one first)."""
    equal = view.measurement.load_point.equal_lengths
    return {
        "speedup_tpot": _paired(view, lives, "tpot_s"),
        "speedup_e2e": _paired(view, lives, "e2e_s") if equal else _lengths_differ(),
        "ttft_ratio": _inverse(_paired(view, lives, "ttft_s")),
        "throughput_ratio": _paired(view, lives, WALL),
    }


def category_speedups(view: LoadView, lives: Sequence[LoadView]) -> dict[str, Figure]:
    """Return speedup_tpot over the prompts of each category alone, in the order of the prompts.

    Repeats and drift are those of the category's prompts too. A category that did not work in one arm is undefined.
    """
    samples = [sample for arm in (view, *lives) for sample in arm.samples]
    return {
        category: _paired(of_category(view, category), [of_category(life, category) for life in lives], "tpot_s")
        for category in dict.fromkeys(sample.category for sample in samples)
    }


def of_category(view: LoadView, category: str) -> LoadView:
    """Return `view` with the requests of one category of prompts."""
    return replace(view, samples=tuple(sample for sample in view.samples if sample.category == category))


def speedup_by_prompt(view: LoadView, lives: Sequence[LoadView], name: str = "tpot_s") -> dict[str, float]:
    """Return baseline / candidate of a cost (see costs) for each prompt that all of them have."""
    base = mean_over_lives([costs(life, name) for life in lives])
    own = costs(comparable(view, lives, name), name)
    return {prompt: exp(ratio) for prompt, ratio in log_ratios(base, own).items()}


def drift_estimate(lives: Sequence[LoadView], name: str = "tpot_s") -> Estimate | None:
    """Return log(later / earlier) of a cost between the two lives of one baseline that differ most, by prompt.

    None with fewer than two lives.
    """
    found = []
    for earlier, later in combinations(lives, 2):
        ratios = log_ratios(costs(later, name), costs(earlier, name))
        spreads = (cost_spread(later, name), cost_spread(earlier, name))
        found.append(mean_estimate([Column(ratios, spreads=spreads, whole=name == WALL)]))
    return max((estimate for estimate in found if estimate), key=lambda e: abs(e.mean), default=None)


def baseline_spread(lives: Sequence[LoadView], name: str = "tpot_s") -> Spread:
    """Return the repeat spread of the mean of a baseline's lives; not known (df 0) if one life has a single repeat."""
    spreads = [cost_spread(life, name) for life in lives]
    if not all(spread.df for spread in spreads):
        return Spread()
    return combined([Spread(spread.variance / len(lives) ** 2, spread.df) for spread in spreads])


def drift_figure(lives: Sequence[LoadView], name: str = "tpot_s") -> Figure | None:
    """Return the baseline's drift in a cost: 1.02 means that it was 2 % slower when measured again."""
    drift = drift_estimate(lives, name)
    if drift is None:
        return None
    return ratio_figure(drift, RATE_DRIFT, n_of="repeats") if name == WALL else ratio_figure(drift, DRIFT)


def allowance(drift: float | None) -> float:
    """Return the half-width that a log drift adds to a log speedup; 0 where the drift is not known.

    Half of it leads from the mean of the two lives to the less favourable one, and from there the effect has to
    exceed the drift as a whole: the candidate's single life may have been as lucky as the lives differ.
    """
    return 1.5 * abs(drift) if drift is not None else 0.0


def widened(estimate: Estimate | None, by: float) -> Estimate | None:
    """Return `estimate` with an allowance."""
    return None if estimate is None else replace(estimate, allowance=by)


def life_note(drift: float | None, repeated: bool = True) -> str:
    """Say what an interval covers: a single engine life, whether the baseline was seen to drift, and repeats or not.

    repeated: whether both arms had two repeats or more.
    """
    single = "" if repeated else "; with one repeat the interval does not cover differences between repeats"
    if drift is None:
        return f"within this engine life; the baseline was measured once, its drift is unknown{single}"
    return f"within this engine life; the interval includes the baseline's drift of {exp(abs(drift)) - 1:.1%}{single}"


def lives_note(lives: int) -> str:
    """Say what an interval over several lives covers."""
    return f"over {lives} engine lives" if lives > 1 else "within one engine life"


def _paired(view: LoadView, lives: Sequence[LoadView], name: str) -> Figure:
    base = mean_over_lives([costs(life, name) for life in lives])
    view = comparable(view, lives, name)
    own = costs(view, name)
    ratios = log_ratios(base, own)
    of_requests = name != WALL
    n_of, estimator = ("prompts", PAIRED) if of_requests else ("repeats", RATES)
    if not ratios:
        reason = "no prompt worked in both arms" if of_requests else "no throughput in one of the arms"
        return undefined("x", estimator, reason, n_of)
    drift = drift_estimate(lives, name)
    lost = len(set(base) | set(own)) - len(ratios)
    spreads = (cost_spread(view, name), baseline_spread(lives, name))
    note = life_note(drift.mean if drift else None, all(spread.df for spread in spreads))
    note += f"; {lost} prompts could not be paired" if lost else ""
    mean = mean_estimate([Column(ratios, spreads=spreads, whole=not of_requests)])
    return ratio_figure(widened(mean, allowance(drift.mean if drift else None)), estimator, note=note, n_of=n_of)


def _lengths_differ() -> Figure:
    return undefined("x", PAIRED, "sampled answers differ in length between the arms")


def comparable(view: LoadView, lives: Sequence[LoadView], name: str) -> LoadView:
    """Return `view` with the requests whose cost can be held against that of all lives: E2E needs equal lengths."""
    return equal_lengths(view, lives) if name == "e2e_s" else view


def equal_lengths(view: LoadView, lives: Sequence[LoadView]) -> LoadView:
    """Return `view` without the prompts whose answers are not of one length in all arms."""
    own, *base = [v.by_prompt(answer_length) for v in (view, *lives)]
    equal = {prompt for prompt, length in own.items() if all(life.get(prompt) == length for life in base)}
    if all(sample.prompt_id in equal for sample in view.samples):
        return view  # with what it remembers
    return LoadView(view.measurement, view.repeats, tuple(s for s in view.samples if s.prompt_id in equal))


def _inverse(figure: Figure) -> Figure:
    if figure.value is None:
        return figure
    low = None if figure.high is None else 1 / figure.high
    high = None if figure.low is None else 1 / figure.low
    return Figure(1 / figure.value, figure.unit, figure.estimator, figure.n, figure.n_of, low, high, figure.note)
