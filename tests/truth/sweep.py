"""One sweep as the tuner runs it, in process: single lives, then rounds of fresh lives until they have settled it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tests.truth.world import WORKER, Lab, World
from tuner.analysis.comparison import similar_prompts_estimate, speedup_estimate
from tuner.analysis.finals import judge
from tuner.analysis.findings import findings
from tuner.analysis.rules import Choice
from tuner.analysis.screening import screening
from tuner.analysis.statistics import Estimate
from tuner.records import Answer, Limit, LoadPoint, Protocol, Role, Trial, Verdict
from tuner.search.rounds import FinalRounds

ASKED_AT_MOST = 120
"""Lives or repeats beyond which nobody follows the tool's advice."""
FEWEST_ARMS = 2
"""Of a round: a baseline and one finalist, who does not leave."""
RECOMMENDED = (Verdict.SPECULATE, Verdict.SPECULATE_BELOW)


@dataclass(frozen=True)
class Told:
    """What a sweep said and what is true, of the candidate that its answer speaks of.

    low, value, high: of the answer's own interval, logarithms; similar_*: of that for prompts like these.
    truth: log speedup over the load points that the answer speaks for.  asked: lives or repeats that a further
    measurement was told to have, 0 if none.  lives: that the answer rests on.
    """

    verdict: Verdict
    trials: int
    recommended: bool = False
    truth: float = math.nan
    similar_truth: float = math.nan
    low: float = math.nan
    value: float = math.nan
    high: float = math.nan
    similar_low: float = math.nan
    similar_high: float = math.nan
    smallest_effect: float = math.nan
    lives: int = 1
    asked: int = 0


def screen_all(lab: Lab, world: World, protocol: Protocol) -> list[Trial]:
    """Measure the baseline, then every candidate, with the baseline again after every few and at the end."""
    baseline = world.candidates[0].baseline
    trials = [lab.life(Role.BASELINE, baseline, protocol)]
    since = 0
    for candidate in world.candidates:
        if since >= protocol.baseline_every:
            trials.append(lab.life(Role.BASELINE_AGAIN, baseline, protocol))
            since = 0
        trial = lab.life(Role.CANDIDATE, candidate, protocol)
        trials.append(trial)
        since += trial.record.ok
    trials.append(lab.life(Role.BASELINE_AGAIN, baseline, protocol))
    return trials


def confirm(lab: Lab, world: World, trials: list[Trial], protocol: Protocol) -> Choice:
    """Add rounds of the finalists' fresh lives to `trials`, as many as the analysis wants; return its last word."""
    rounds = FinalRounds(trial.record for trial in trials)
    screened = screening(trials, world.loads).screened
    while True:
        judgement = judge(screened, trials, protocol)
        rounds.want(judgement.arms, judgement.wanted)
        if rounds.idle:
            return judgement.choices[0] or screened[0].choice
        # A life that failed may bar somebody; after a round one of two finalists may leave.
        most = len(judgement.arms) if len(judgement.arms) > FEWEST_ARMS else ASKED_AT_MOST
        for _ in range(most):
            task = rounds.next(WORKER.device_key)
            if task is None:
                break
            trial = lab.life(Role.FINAL, task.candidate, protocol, task.round)
            trials.append(trial)
            rounds.finished(trial.record)
            if not trial.record.ok:
                break
        if world.life_fails or world.request_fails:  # else no fresh life bars anybody
            screened = screening(trials, world.loads).screened


def run_sweep(world: World, protocol: Protocol, follow: int = 0) -> Told:
    """Run a sweep and return what it told.

    follow: so often the sweep is taken further as its answer asks while it is inconclusive: with more lives the same
    run goes on, with more repeats there is a new run.
    """
    lab, asked = Lab(world), 0
    trials = screen_all(lab, world, protocol)
    choice = confirm(lab, world, trials, protocol)
    found = findings(trials, world.loads, protocol=protocol)
    for _ in range(follow):
        more = _as_asked(found.answers[0], protocol)
        if more is None:
            break
        asked = max(asked, more.lives if more.lives != protocol.lives else more.repeats)
        if more.repeats != protocol.repeats:
            trials = screen_all(lab, world, more)
        protocol = more
        choice = confirm(lab, world, trials, protocol)
        found = findings(trials, world.loads, protocol=protocol)
    return replace(told(found.answers[0], choice, world, len(trials)), asked=asked)


def _as_asked(answer: Answer, protocol: Protocol) -> Protocol | None:
    """Return the protocol that an inconclusive answer asks for; None if it asks for nothing new or for too much."""
    fine = answer.resolution
    if answer.verdict is not Verdict.INCONCLUSIVE or fine is None or fine.needed is None:
        return None
    needed = min(fine.needed, ASKED_AT_MOST)
    if fine.limited_by is Limit.LIVES and needed > protocol.lives:
        return replace(protocol, lives=needed, max_lives=max(needed, protocol.max_lives))
    if fine.limited_by is Limit.REPEATS and needed > protocol.repeats:
        return replace(protocol, repeats=needed, max_repeats=max(needed, protocol.max_repeats))
    return None


def told(answer: Answer, choice: Choice, world: World, trials: int) -> Told:
    """Return what the answer says of its candidate, beside the truth.

    choice: what the answer was made from; it has figures of a candidate that is not recommended too.
    """
    recommended = answer.verdict in RECOMMENDED
    subject = choice.best if recommended else choice.runner_up
    if subject is None:
        return Told(answer.verdict, trials)
    figures, loads = subject.figures, spoken_for(answer, world.loads)
    own = _bounds(speedup_estimate(figures, loads))
    if recommended:
        shown = answer.objective
        assert shown.low is not None
        assert shown.high is not None
        own = math.log(shown.low), own[1], math.log(shown.high)
    similar = _bounds(similar_prompts_estimate(figures, loads))
    return Told(
        verdict=answer.verdict,
        trials=trials,
        recommended=recommended,
        truth=world.true_log(figures.candidate, loads),
        similar_truth=world.true_similar_log(figures.candidate, loads),
        low=own[0],
        value=own[1],
        high=own[2],
        similar_low=similar[0],
        similar_high=similar[2],
        smallest_effect=answer.resolution.smallest_effect if answer.resolution else math.nan,
        lives=answer.lives,
    )


def spoken_for(answer: Answer, loads: Sequence[LoadPoint]) -> tuple[LoadPoint, ...]:
    """Return the load points that the verdict speaks for."""
    return tuple(load for load in loads if answer.up_to is None or load.concurrency <= answer.up_to)


def _bounds(estimate: Estimate | None) -> tuple[float, float, float]:
    interval = estimate.interval() if estimate else None
    if estimate is None or interval is None:
        return float("-inf"), float("nan"), float("inf")
    return interval[0], estimate.mean, interval[1]
