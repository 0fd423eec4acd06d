"""Fresh engine lives after selection: which, how many, and what they say.

The winner of a sweep was picked for a high figure, so its figure is too high; and one life of an engine can differ from
the next by more than the effect. So the winner, its closest rival and their baselines are measured again in fresh
lives, and the answer comes from those alone.

Of two finalists one leaves as soon as what it may still gain is not worth its engine starts (tuner.analysis.leaving).

The lives are judged at most twice, and each look spends its part of the error (tuner.analysis.levels): adding lives
until something looks significant would find an effect where there is none.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from tuner.analysis.comparison import advantage, claimable_estimate, speedup_estimate
from tuner.analysis.eligibility import Contender
from tuner.analysis.fresh import MOST_FAILURES, fresh_contender
from tuner.analysis.leaving import leavers, proposed_loads
from tuner.analysis.levels import Levels, Look, claim_of, final_levels, look_confidence, looks, per_sweep_confidence
from tuner.analysis.power import lives_needed
from tuner.analysis.rounds import Arm, arms
from tuner.analysis.rules import Choice
from tuner.analysis.selection import Screened, decide
from tuner.analysis.statistics import CONFIDENCE, sd_ratio
from tuner.analysis.wording import in_short
from tuner.records import (
    Candidate,
    Protocol,
    Role,
    Trial,
    Verdict,
)

UNLUCKY = 0.25
"""Probability that a standard deviation of few lives is smaller, by chance, than what the plan for more assumes."""
HOPELESS = 4
"""A sweep that needs so many times the allowed lives stops at once and says so."""


@dataclass(frozen=True)
class Judgement:
    """What the fresh lives say so far.

    arms: what runs in each round, baselines first; () where nothing can be confirmed.  wanted: complete rounds that the
    question needs.  complete: how many there are.  choices: one per temperature, None before the first look.
    rounds: those that the choices rest on.  confidence: of their intervals.  contenders: the finalists at each
    temperature as these rounds show them, with what bars them.
    """

    arms: tuple[Candidate, ...]
    wanted: int
    complete: int
    choices: tuple[Choice | None, ...]
    rounds: tuple[int, ...] = ()
    confidence: float = CONFIDENCE
    contenders: tuple[tuple[Contender, ...], ...] = ()

    @property
    def settled(self) -> bool:
        """Whether no further life is wanted."""
        return self.complete >= self.wanted


def judge(screened: Sequence[Screened], trials: Sequence[Trial], protocol: Protocol) -> Judgement:
    """Return what the fresh lives among `trials` say, and how many rounds are wanted.

    Depends on the trials alone, so that a sweep that was interrupted goes on as if it had not been.
    """
    nothing = (None,) * len(screened)
    every_arm = finalists(screened)
    if protocol.lives < 2 or not every_arm:
        return Judgement((), 0, 0, nothing)
    fresh = [trial for trial in trials if trial.record.role is Role.FINAL]
    first_lives = [trial for trial in trials if trial.record.role is Role.BASELINE and trial.record.ok]
    together = complete_rounds(fresh, every_arm)
    choices: tuple[Choice | None, ...] = nothing
    contenders: tuple[tuple[Contender, ...], ...] = ()
    judged: tuple[int, ...] = ()
    lives, confidence = protocol.lives, CONFIDENCE
    for look in looks(protocol.lives, protocol.max_lives):
        left = leavers(screened, fresh, together, lives, protocol.lives)
        complete = complete_rounds(fresh, finalists(screened, left))
        if len(complete) < lives:
            break
        judged, confidence = tuple(complete[:lives]), look_confidence(look)
        seen = [_look(at, (*first_lives, *fresh), judged, look, len(screened), left) for at in screened]
        # What the first look settled stands: further lives were measured for another temperature.
        choices = tuple(
            old if old is not None and old.verdict is not Verdict.INCONCLUSIVE else new
            for old, (new, _) in zip(choices, seen, strict=True)
        )
        contenders = tuple(found for _, found in seen)
        more = lives if look.last else _more(choices, protocol)
        if more <= lives:
            break
        lives = more
    arms_left = finalists(screened, leavers(screened, fresh, together, lives, protocol.lives))
    complete = complete_rounds(fresh, arms_left)
    broken = _failures(fresh, [arm for arm in arms_left if not arm.k]) >= MOST_FAILURES
    wanted = len(complete) if broken else lives
    return Judgement(arms_left, wanted, len(complete), choices, judged, confidence, contenders)


def finalists(screened: Sequence[Screened], left: Collection[str] = ()) -> tuple[Candidate, ...]:
    """Return what each round has to measure: the baselines, then the finalists; each once, () without a finalist.

    left: keys of those that left.
    """
    speculative: dict[str, Candidate] = {}
    baselines: dict[str, Candidate] = {}
    for at_temperature in screened:
        for contender in _staying(at_temperature, left):
            candidate = contender.figures.candidate
            speculative.setdefault(candidate.key, candidate)
            for baseline in (at_temperature.baseline.figures.candidate, candidate.baseline):
                baselines.setdefault(baseline.key, baseline)
    return (*baselines.values(), *speculative.values())


def _staying(screened: Screened, left: Collection[str]) -> tuple[Contender, ...]:
    return tuple(c for c in screened.finalists if c.figures.candidate.key not in left)


def complete_rounds(fresh: Sequence[Trial], wanted: Sequence[Candidate], role: Role = Role.FINAL) -> list[int]:
    """Return the rounds in which every wanted arm was measured, in order.  role: of the lives that count."""
    lives = {arm.candidate.key: set(arm.lives) for arm in arms(fresh, role)}
    rounds = [lives.get(candidate.key, set()) for candidate in wanted]
    return sorted(set.intersection(*rounds)) if rounds else []


def _failures(fresh: Sequence[Trial], candidates: Sequence[Candidate]) -> int:
    keys = {candidate.key for candidate in candidates}
    return sum(not trial.record.ok and trial.record.candidate.key in keys for trial in fresh)


def _look(
    screened: Screened,
    trials: Sequence[Trial],
    rounds: Sequence[int],
    look: Look,
    answers: int,
    left: Collection[str],
) -> tuple[Choice | None, tuple[Contender, ...]]:
    """Return the verdict of these rounds alone, and the finalists; nothing where nobody is to be confirmed here.

    trials: fresh lives, and the baselines' first lives: their answers are what outputs are compared with.
    left: keys of finalists that left. The levels stay what they were with them.
    """
    staying = _staying(screened, left)
    if not staying:
        return None, ()
    found = {arm.candidate.key: only_rounds(arm, rounds) for arm in arms(trials)}
    reference = found[screened.baseline.figures.candidate.key]
    levels = _levels(screened, look, answers)
    base, *contenders = (
        fresh_contender(
            found[c.figures.candidate.key], reference, screened.loads, trials, levels.of_intervals, screened.goal
        )
        for c in (screened.baseline, *staying)
    )
    choice = decide(base, contenders, screened.loads, screened.barred, levels, screened.resolve)
    return _unless_others_pay(choice, screened, staying), tuple(contenders)


def _unless_others_pay(choice: Choice, screened: Screened, staying: Sequence[Contender]) -> Choice:
    """Return the choice, but no advice against speculation where another candidate paid in its single life."""
    if choice.verdict is not Verdict.DO_NOT:
        return choice
    able = [c for c in screened.contenders if c.k and not c.reasons and c not in staying]
    level = per_sweep_confidence(len(able))
    for other in able:
        estimate = speedup_estimate(other.figures, screened.loads)
        if estimate is not None and estimate.above(0.0, level):
            measured = in_short(other.figures, screened.loads)
            why = (
                f"{choice.why} But {other.name} was faster in its single life ({measured}) and was not measured as "
                f"often: lives differ more than the single ones showed."
            )
            return replace(choice, verdict=Verdict.INCONCLUSIVE, why=why)
    return choice


def only_rounds(arm: Arm, rounds: Sequence[int]) -> Arm:
    """Return the arm with its lives of these rounds alone."""

    def kept(lives: dict[int, Trial]) -> dict[int, Trial]:
        return {number: lives[number] for number in rounds if number in lives}

    return replace(arm, lives=kept(dict(arm.lives)), baseline=kept(dict(arm.baseline)))


def _levels(screened: Screened, look: Look, answers: int) -> Levels:
    """Return the levels with this as the main claim: the faster finalist pays where the single lives said so.

    Not the one of smaller K that was tied with it: it is the likelier to be slower. Where noise does not separate the
    two, single lives often have the wrong one in front: then each has a claim of its own.
    """
    proposed = proposed_loads(screened)

    def speed(contender: Contender) -> float:
        estimate = speedup_estimate(contender.ranked, proposed)
        return estimate.mean if estimate else -math.inf

    first, *others = sorted(screened.finalists, key=speed, reverse=True)
    leads = [(other, advantage(first.ranked, other.ranked, proposed)) for other in others]
    close = [other for other, lead in leads if lead is not None and not lead.above(0.0, CONFIDENCE)]
    claims = [claim_of(contender, proposed) for contender in (first, *close)]
    return final_levels(claims, len(screened.finalists), screened.loads, look, answers)


def _more(choices: Sequence[Choice | None], protocol: Protocol) -> int:
    """Return the number of lives that would settle what is open, within the limits.

    0 where nothing is open, where the lives so far would have shown what is worth knowing and rule it out, and where
    it is hopeless.
    The standard deviation of few lives is often too small by chance: it is divided by the value that s / sigma exceeds
    with probability 1 - UNLUCKY.
    """
    wanted = 0
    for choice in choices:
        if choice is None or choice.verdict is not Verdict.INCONCLUSIVE or choice.runner_up is None:
            continue
        estimate = claimable_estimate(choice.runner_up.figures, choice.loads)
        if estimate is None or estimate.se is None or estimate.lives < 2:
            continue
        sd = estimate.se * math.sqrt(estimate.lives)
        effect = max(abs(estimate.mean), math.log1p(protocol.resolve))
        interval = estimate.interval()
        worthless = interval is not None and interval[1] < math.log1p(protocol.resolve)
        if worthless and lives_needed(sd, effect, choice.confidence) <= estimate.lives:
            continue
        needed = lives_needed(sd / sd_ratio(estimate.df, UNLUCKY), effect, choice.confidence)
        if lives_needed(sd, effect, choice.confidence) <= HOPELESS * protocol.max_lives:
            wanted = max(wanted, min(protocol.max_lives, needed))
    return wanted
