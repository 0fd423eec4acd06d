"""Fresh engine lives of finalists and their baselines: paired within a round, compared between rounds.

A round is one life of each, started one directly after another on one device. Its paired log ratio is one observation;
what differs between lives shows as the spread between rounds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tuner.analysis.costs import cost_spread, costs
from tuner.analysis.life import LoadView
from tuner.analysis.statistics import (
    CONFIDENCE,
    Column,
    Estimate,
    Spread,
    combined,
    exp,
    log_ratios,
    mean_estimate,
    over_rounds,
    student_t,
)
from tuner.records import Candidate, LoadFigures, Role, Trial


@dataclass(frozen=True)
class Arm:
    """One finalist's lives that count, by round.  baseline: those of its own baseline; empty if it is one itself."""

    candidate: Candidate
    lives: Mapping[int, Trial]
    baseline: Mapping[int, Trial]

    @property
    def pairs(self) -> dict[int, tuple[Trial, Trial]]:
        """Life and baseline of each round that has both."""
        return {number: (life, self.baseline[number]) for number, life in self.lives.items() if number in self.baseline}


def arms(trials: Sequence[Trial], role: Role = Role.FINAL) -> tuple[Arm, ...]:
    """Return the finalists and baselines that were measured in fresh lives, in the order of their first life.

    role: FINAL, or SCHEDULE for the arms of a K schedule.

    Lives of a round count where they ran on one device: the one on which the round began.
    """
    finals = [t for t in trials if t.record.role is role and t.record.ok and t.record.round is not None]
    device: dict[int, str] = {}
    lives: dict[str, dict[int, Trial]] = {}
    for trial in sorted(finals, key=lambda t: t.record.number):
        record, number = trial.record, trial.record.round or 0
        if device.setdefault(number, record.worker.device_key) == record.worker.device_key:
            lives.setdefault(record.candidate.key, {})[number] = trial
    found = []
    for of_one in lives.values():
        candidate = next(iter(of_one.values())).record.candidate
        found.append(Arm(candidate, of_one, lives.get(candidate.baseline.key, {}) if candidate.k else {}))
    return tuple(found)


def logs(top: LoadView, bottom: LoadView, name: str) -> dict[str, float]:
    """Return log(top / bottom) of a cost for each prompt that both lives have."""
    return log_ratios(costs(top, name), costs(bottom, name))


def round_speedups(load: LoadFigures) -> dict[int, float]:
    """Return the geometric mean over prompts of each round's speedups, by round."""
    rounds = {number: [math.log(s) for s in of_round.values()] for number, of_round in load.rounds.items() if of_round}
    return {number: exp(math.fsum(logs) / len(logs)) for number, logs in sorted(rounds.items())}


def mean_repeat_spread(views: Sequence[LoadView], name: str = "tpot_s") -> Spread:
    """Return the mean over lives of the variance of a life's mean log cost that comes from its repeats.

    Its degrees of freedom are those of all lives together (pooled), so that they also count the repeats.
    Not known (df 0) if a life has a single repeat.
    """
    spreads = [cost_spread(view, name) for view in views]
    if not spreads or not all(spread.df for spread in spreads):
        return Spread()
    return Spread(
        math.fsum(spread.variance for spread in spreads) / len(spreads), math.fsum(spread.df for spread in spreads)
    )


def mean_over(lives: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return per prompt the mean over lives, for the prompts that every life has."""
    if not lives:
        return {}
    common = [prompt for prompt in lives[0] if all(prompt in life for life in lives)]
    return {prompt: math.fsum(life[prompt] for life in lives) / len(lives) for prompt in common}


def similar_prompts(rounds: Sequence[Sequence[Column]], confidence: float = CONFIDENCE) -> Estimate | None:
    """Return what `over_rounds` does, for prompts like these instead of these very prompts.

    The prompts are a second random factor, crossed with the rounds: the variance over prompts of their means over the
    rounds, divided by their number, is added to that of the rounds (Welch-Satterthwaite for the degrees of freedom).
    The means over the rounds still hold some of the rounds' noise, which errs on the wide side. A claim about more than
    these prompts is never more certain than the one about these: where more degrees of freedom would make it so, those
    of the rounds count.
    """
    these = over_rounds(rounds, confidence)
    if these is None or these.se is None:
        return these
    columns = [
        replace(first, values=mean_over([columns[i].values for columns in rounds]), spreads=())
        for i, first in enumerate(rounds[0])
    ]
    prompts = mean_estimate(columns)
    if prompts is None or prompts.se is None:
        return replace(these, se=None)
    both = combined([Spread(these.se**2, these.df), Spread(prompts.se**2, prompts.df)])
    se = math.sqrt(both.variance)
    wider = student_t(confidence, both.df) * se >= student_t(confidence, these.df) * these.se
    return replace(these, se=se, df=both.df if wider else these.df)
