"""One engine life at one load point, reduced to what counts: sound repeats and the requests that worked."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tuner.analysis.statistics import Spread, log_ratios, median, spread_of_mean
from tuner.records import LoadMeasurement, Repeat, RequestSample, Trial

Metric = Callable[[RequestSample], float | None]

LATENCIES: Mapping[str, Metric] = {
    "tpot_s": lambda sample: sample.tpot_s,
    "ttft_s": lambda sample: sample.ttft_s,
    "e2e_s": lambda sample: sample.e2e_s,
}


def answer_length(sample: RequestSample) -> float | None:
    """Tokens of the answer."""
    return sample.completion_tokens


@dataclass(frozen=True)
class LoadView:
    """One life's measurement of a load point reduced to the repeats that count (see counting_repeats).

    samples: the requests of those repeats that worked.
    """

    measurement: LoadMeasurement
    repeats: tuple[Repeat, ...]
    samples: tuple[RequestSample, ...]
    _medians: dict[Metric, dict[str, float]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _spreads: dict[Metric, Spread] = field(default_factory=dict, init=False, repr=False, compare=False)

    def by_prompt(self, metric: Metric) -> Mapping[str, float]:
        """Return the median of `metric` per prompt; prompts without a positive value are left out.

        It is remembered by the function that is given, so pass a named one, not a lambda of the moment.
        A whole answer in one chunk has a TPOT of zero, which is no measurement of speed.
        """
        if metric not in self._medians:
            self._medians[metric] = self._median_by_prompt(metric)
        return self._medians[metric]

    def _median_by_prompt(self, metric: Metric) -> dict[str, float]:
        values: dict[str, list[float]] = {}
        for sample in self.samples:
            value = metric(sample)
            if value is not None:
                values.setdefault(sample.prompt_id, []).append(value)
        medians = {prompt: median(of_prompt) for prompt, of_prompt in values.items()}
        return {prompt: value for prompt, value in medians.items() if value > 0}

    def repeat_spread(self, metric: Metric) -> Spread:
        """Return the part of the variance of mean log `metric` that comes from whole repeats being slower or faster.

        With m_r the mean over prompts of log(metric in repeat r / median over all repeats), it is s^2(m)/R with R - 1
        degrees of freedom. The distance to a prompt's own median is the log speedup of a repeat up to a constant, and
        a prompt that failed in one repeat does not shift that repeat's mean.
        """
        if metric not in self._spreads:
            self._spreads[metric] = spread_of_mean(self.repeat_means(metric, self.by_prompt(metric)))
        return self._spreads[metric]

    def repeat_means(self, metric: Metric, usual: Mapping[str, float]) -> list[float]:
        """Return the mean over prompts of log(metric in the repeat / usual) for each repeat that has such a prompt."""
        of_repeat: dict[int, list[RequestSample]] = {repeat.index: [] for repeat in self.repeats}
        for sample in self.samples:
            of_repeat[sample.repeat].append(sample)
        means = []
        for repeat in self.repeats:
            samples = tuple(of_repeat[repeat.index])
            logs = log_ratios(LoadView(self.measurement, (repeat,), samples).by_prompt(metric), usual)
            if logs:
                means.append(math.fsum(logs.values()) / len(logs))
        return means

    @property
    def tpot_by_prompt(self) -> Mapping[str, float]:
        """Seconds per output token, per prompt."""
        return self.by_prompt(LATENCIES["tpot_s"])

    @property
    def throughputs(self) -> list[float]:
        """Output tokens per second of wall time, one per repeat."""
        tokens = {repeat.index: 0 for repeat in self.repeats}
        for sample in self.samples:
            tokens[sample.repeat] += sample.completion_tokens or 0
        return [tokens[repeat.index] / repeat.wall_s for repeat in self.repeats if repeat.wall_s > 0]


ENOUGH_UNDISTURBED = 2
"""With so many undisturbed repeats a load point can do without the disturbed ones and still say how repeats differ."""


def counting_repeats(repeats: Sequence[Repeat]) -> tuple[Repeat, ...]:
    """Return the valid repeats that figures rest on: the undisturbed ones where there are two or more, else all."""
    valid = tuple(repeat for repeat in repeats if not repeat.problems)
    undisturbed = tuple(repeat for repeat in valid if not repeat.disturbances)
    return undisturbed if len(undisturbed) >= ENOUGH_UNDISTURBED else valid


_views: dict[int, dict[str, LoadView | None]] = {}
"""What load_view has returned, by identity of the trial, for as long as the trial lives: nearly every figure asks."""


def load_view(trial: Trial, key: str) -> LoadView | None:
    """Return what counts of `trial` at the load point with that key; None if it was not measured."""
    views = _views.get(id(trial))
    if views is None:
        views = _views[id(trial)] = {}
        weakref.finalize(trial, _views.pop, id(trial), None).atexit = False
    if key not in views:
        views[key] = _view(trial, key)
    return views[key]


def _view(trial: Trial, key: str) -> LoadView | None:
    for measurement in trial.record.loads:
        if measurement.load_point.key == key:
            repeats = counting_repeats(measurement.repeats)
            valid = {repeat.index for repeat in repeats}
            samples = tuple(s for s in trial.samples if s.load_point == key and s.ok and s.repeat in valid)
            return LoadView(measurement, repeats, samples)
    return None
