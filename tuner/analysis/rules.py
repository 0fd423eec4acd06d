"""The rules by which a verdict is reached, over contenders that may win."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log, log1p

from tuner.analysis.comparison import advantage, claimable_estimate, load_figures, speedup_estimate
from tuner.analysis.curve import smallest_tied
from tuner.analysis.eligibility import Contender
from tuner.analysis.levels import Levels, Loads
from tuner.analysis.limit_words import nobody_within, within_reach
from tuner.analysis.limits import over_limit
from tuner.analysis.resolution import RESOLVE
from tuner.analysis.statistics import CONFIDENCE, exp
from tuner.analysis.wording import between, describe, in_short, not_proven, what_limits
from tuner.records import LoadPoint, Verdict

TOLERATED = log(0.99)
"""Log speedup down to which a load point counts as not slower."""
MARGIN = log(1.0025)
"""Log speedup that is no difference: medians of a few repeats can be off by this much where single steps are outliers,
as an answer of fewer, longer steps is hit less often and harder."""


@dataclass(frozen=True)
class Choice:
    """A verdict with the contender it rests on, before it is dressed as an Answer.  loads: those it speaks for.

    runner_up: the closest rival of `best` or, where that is the baseline, what came nearest to winning.
    rival: where nobody won, what came next and noise does not separate from it.
    confidence: that "it pays" needs, of `best` or, where that is the baseline, of the runner-up.
    """

    verdict: Verdict
    best: Contender
    loads: Loads
    why: str
    up_to: int | None = None
    below: int | None = None
    runner_up: Contender | None = None
    rival: Contender | None = None
    confidence: float = CONFIDENCE

    @property
    def subject(self) -> Contender | None:
        """The speculative contender that the evidence is about."""
        return self.best if self.best.k else self.runner_up


@dataclass(frozen=True)
class Rules:
    """The decision rules, tried in the order of `decide`.

    levels: confidence of each claim.  barred: contenders that may not win, and may be faster all the same.
    resolve: the smallest effect worth knowing, as a fraction.
    """

    baseline: Contender
    able: tuple[Contender, ...]
    levels: Levels
    barred: tuple[Contender, ...] = ()
    resolve: float = RESOLVE

    def decide(self, loads: Loads) -> Choice:
        """Return the verdict over these load points."""
        choice = (
            self.speculate(loads)
            or self.only_within_limits(loads)
            or self.speculate_below(loads)
            or self.neither(loads)
        )
        subject = choice.subject
        return replace(choice, confidence=self.levels.of(subject, choice.loads)) if subject else choice

    def speculate(self, loads: Loads) -> Choice | None:
        """Speculation pays over all load points and was measured slower at none.

        To count as slower needs no proof: were noise an excuse, a noisier sweep would recommend more.
        """
        winners = [c for c in self.able if self._pays(c, loads) and not slower_at(c, loads)]
        if not winners:
            return None
        best, rival, tie = self._pick(winners, loads)
        why = f"{describe(best.figures, loads)}; no load point was measured slower.{tie}"
        return Choice(Verdict.SPECULATE, best, loads, why, runner_up=rival)

    def only_within_limits(self, loads: Loads) -> Choice | None:
        """The best engine without speculation breaks a limit that a candidate keeps to: limits come before speed."""
        reach = within_reach(self.able, loads)
        if not self.baseline.over(reach):
            return None
        best, rival, tie = self._pick([c for c in self.able if not c.over(reach)], reach)
        why = f"{describe(best.figures, reach)}.{tie}"
        higher = sorted({load.concurrency for load in loads if load not in reach})
        if not higher:
            return Choice(Verdict.SPECULATE, best, loads, why, runner_up=rival)
        up_to = max(load.concurrency for load in reach)
        why = f"Up to concurrency {up_to}: {why} {self._why_not(best, loads, higher[0])}"
        return Choice(Verdict.SPECULATE_BELOW, best, reach, why, up_to, higher[0], rival)

    def speculate_below(self, loads: Loads) -> Choice | None:
        """Speculation pays at every concurrency up to some value, and was measured slower or breaks a limit above."""
        steps = sorted({load.concurrency for load in loads})
        for up_to in reversed(steps[:-1]):
            low = tuple(load for load in loads if load.concurrency <= up_to)
            high = [step for step in steps if step > up_to]
            winners = [
                c
                for c in self.able
                if self._pays(c, low)
                and not slower_at(c, low)
                and all(_faster(c, _at(low, step)) for step in steps if step <= up_to)
                and any(_lost(c, _at(loads, step)) for step in high)
            ]
            if winners:
                best, rival, tie = self._pick(winners, low)
                lost = [step for step in high if _lost(best, _at(loads, step))]
                why = (
                    f"Up to concurrency {up_to}: {describe(best.figures, low)}. "
                    f"{self._why_not(best, loads, lost[0])} "
                    f"{between(up_to, lost[0], steps)}{self._elsewhere(best, loads, lost)}"
                    f"{self._not_proven(best, loads, low, up_to)}{tie}"
                )
                return Choice(Verdict.SPECULATE_BELOW, best, low, why, up_to, lost[0], rival)
        return None

    def _why_not(self, best: Contender, loads: Loads, step: int) -> str:
        """Return why `best` cannot be recommended at a higher concurrency."""
        at = _at(loads, step)
        over = best.over(at)
        return f"At concurrency {step}: {over[0].words if over else describe(best.figures, at)}."

    def _elsewhere(self, best: Contender, loads: Loads, lost: Sequence[int]) -> str:
        """Return a sentence on another candidate that pays where `best` does not."""
        for step in lost:
            at = _at(loads, step)
            others = [c for c in self.able if c is not best and self._pays(c, at)]
            if others:
                other = max(others, key=lambda c: _score(c, at))
                evidence = in_short(other.figures, at)
                return (
                    f" At concurrency {step} {other.name} is faster ({evidence}): it would need an engine of its own."
                )
        return ""

    def _not_proven(self, best: Contender, loads: Loads, low: Loads, up_to: int) -> str:
        """Return a sentence on one that was faster in `low` and not slower above, as `best` was, and is not proven."""
        faster = [c for c in self.able if _score(c, low) > _score(best, low) and _faster(c, low)]
        others = [c for c in faster if not slower_at(c, loads) and not c.over(loads)]
        top = max(others, key=lambda c: _score(c, low), default=None)
        return not_proven(top.figures, low, up_to) if top else ""

    def neither(self, loads: Loads) -> Choice:
        """Say that every candidate that keeps to the limits is slower, or that this sweep cannot tell."""
        reach = within_reach(self.able, loads)
        if not reach:
            return Choice(Verdict.INCONCLUSIVE, self.baseline, loads, nobody_within(self.able, loads))
        within = tuple(c for c in self.able if not c.over(reach))
        barred = (replace(c, bars=over_limit(c.over(reach))) for c in self.able if c.over(reach))
        choice = replace(self, able=within, barred=(*self.barred, *barred))._neither(reach)
        if reach == loads:
            return choice
        up_to = max(load.concurrency for load in reach)
        why = f"Up to concurrency {up_to}: {choice.why} Above that no candidate keeps to the limits."
        return replace(choice, why=why)

    def _neither(self, loads: Loads) -> Choice:
        if all(self._slower(c, loads) for c in self.able):
            return self._all_slower(loads)
        mixed = [c for c in self.able if self._pays(c, loads)]
        if mixed:
            top = max(mixed, key=lambda c: _score(c, loads))
            slow = slower_at(top, loads)[0]
            there = f"{slow.label} ({in_short(top.figures, (slow,))})"
            why = f"{describe(top.figures, loads)}, but slower at {there}: decide by your traffic."
        else:
            top = max((c for c in self.able if not self._slower(c, loads)), key=lambda c: self._promise(c, loads))
            level = self.levels.of(top, loads)
            limits = what_limits(top.figures, loads, level, len(self.able), self.resolve)
            why = f"{describe(top.figures, loads)}: {limits}."
        return Choice(Verdict.INCONCLUSIVE, self.baseline, loads, why, runner_up=top, rival=self._rival(top, loads))

    def _rival(self, top: Contender, loads: Loads) -> Contender | None:
        """Return the next best after `top`, unless it is clearly slower: than `top`, or than no speculation.

        Single lives often put the wrong one of two close candidates first; fresh lives of both find the better one.
        """
        others = [c for c in self.able if c is not top and not self._slower(c, loads)]
        if not others:
            return None
        rival = max(others, key=lambda c: self._promise(c, loads))
        lead = advantage(top.ranked, rival.ranked, loads)
        return None if lead is not None and lead.above(0.0, CONFIDENCE) else rival

    def _promise(self, contender: Contender, loads: Loads) -> tuple[bool, float]:
        """Return whether the contender may yet be worth it (its upper bound), then its speedup."""
        estimate = speedup_estimate(contender.figures, loads)
        interval = estimate.interval() if estimate else None
        return interval is None or interval[1] > log1p(self.resolve), _score(contender, loads)

    def _all_slower(self, loads: Loads) -> Choice:
        """Advise against speculation, unless a candidate that may not win was measured faster."""
        top = max(self.able, key=lambda c: _score(c, loads))
        again = top.figures.lives > 1
        who = (
            "What was measured again in fresh lives" if again else "Every candidate that could be measured and compared"
        )
        why = f"{who} is slower than no speculation; the best of {len(self.able)}, {describe(top.figures, loads)}."
        for c in self.barred:
            measured = _compared(c, loads)
            estimate = speedup_estimate(c.figures, measured)
            if estimate is not None and estimate.mean > 0.0:
                faster = (
                    f"{c.name} was measured faster ({in_short(c.figures, measured)}) and cannot win: {c.reasons[0]}."
                )
                who = "What was measured again and" if again else "Every candidate that"
                why = f"{who} may win is slower than no speculation, but {faster}"
                return Choice(Verdict.INCONCLUSIVE, self.baseline, loads, why, runner_up=top)
        return Choice(Verdict.DO_NOT, self.baseline, loads, why, runner_up=top)

    def _pays(self, contender: Contender, loads: Loads) -> bool:
        """Clearly faster than its own baseline and than the best engine without speculation, and within the limits."""
        own, level = claimable_estimate(contender.figures, loads), self.levels.of(contender, loads)
        if own is None or not own.above(MARGIN, level) or contender.over(loads):
            return False
        if contender.figures.candidate.args_key == self.baseline.figures.candidate.args_key:
            return True
        lead = advantage(contender.ranked, self.baseline.ranked, loads)
        return lead is not None and lead.above(MARGIN, level)

    def _slower(self, contender: Contender, loads: Loads) -> bool:
        estimate = claimable_estimate(contender.figures, loads)
        return estimate is not None and estimate.below(-MARGIN, self.levels.slower)

    def _pick(self, winners: Sequence[Contender], loads: Loads) -> tuple[Contender, Contender | None, str]:
        """Return the winner, its closest rival, and a sentence on ties within noise (smaller K wins)."""
        top = max(winners, key=lambda c: (_score(c, loads), -c.k))
        line = [c for c in winners if _line(c) == _line(top)]
        chosen = smallest_tied([c.ranked for c in line], loads)
        best = next((c for c in line if c.ranked is chosen), top)
        others = [c for c in self.able if c is not best and not c.over(loads)]
        rival = max(others, key=lambda c: _score(c, loads)) if others else None
        return best, rival, _tie(top, best, loads) if best is not top else ""


def _tie(top: Contender, best: Contender, loads: Loads) -> str:
    """Return a sentence on a larger K that was measured faster and is not proven to be."""
    lead = advantage(top.ranked, best.ranked, loads)
    interval = lead.interval() if lead else None
    if lead is None or interval is None:
        return f" {top.name} was measured faster, which one observation cannot prove: the smaller K is taken."
    low, high = exp(interval[0]), exp(interval[1])
    return (
        f" {top.name} was measured at {exp(lead.mean):.2f}x of it (95 % {low:.2f}-{high:.2f}), which is not proven: "
        f"the smaller K is taken."
    )


def _line(contender: Contender) -> tuple[str, str, str]:
    figures = contender.figures
    return figures.candidate.draft_name, figures.candidate.args_key, figures.device_key


def _score(contender: Contender, loads: Loads) -> float:
    estimate = speedup_estimate(contender.ranked, loads)
    return exp(estimate.mean) if estimate else 0.0


def _compared(contender: Contender, loads: Loads) -> Loads:
    """Return the load points at which the contender has a speedup."""
    found = ((load, load_figures(contender.figures, load)) for load in loads)
    return tuple(load for load, figures in found if figures is not None and figures.speedup_by_prompt)


def _at(loads: Loads, concurrency: int) -> Loads:
    return tuple(load for load in loads if load.concurrency == concurrency)


def _faster(contender: Contender, loads: Loads) -> bool:
    estimate = speedup_estimate(contender.figures, loads)
    return estimate is not None and estimate.above(0.0)


def _measured_slower(contender: Contender, loads: Loads) -> bool:
    estimate = speedup_estimate(contender.figures, loads)
    return estimate is not None and estimate.mean < TOLERATED


def _lost(contender: Contender, loads: Loads) -> bool:
    return _measured_slower(contender, loads) or bool(contender.over(loads))


def slower_at(contender: Contender, loads: Loads) -> list[LoadPoint]:
    """Return the load points at which the contender was measured slower than no speculation, by more than 1 %."""
    return [load for load in loads if _measured_slower(contender, (load,))]
