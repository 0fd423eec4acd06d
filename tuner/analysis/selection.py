"""From measured candidates to one answer for one temperature.

Error rates are per sweep: with m candidates, each has to be faster than no speculation at the 1 - 0.05/m level
(Bonferroni) before it may be recommended. That all candidates are slower needs no correction: it takes all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from tuner.analysis.comparison import advantage, load_figures, objective_speedup, speedup_estimate
from tuner.analysis.curve import smallest_tied
from tuner.analysis.eligibility import Contender, fitting_memory
from tuner.analysis.statistics import CONFIDENCE, exp
from tuner.analysis.wording import describe, what_limits
from tuner.records import Answer, Candidate, Figure, KCurve, LoadFigures, LoadPoint, TrialFigures, Verdict

Loads = tuple[LoadPoint, ...]


@dataclass(frozen=True)
class Choice:
    """A verdict with the contender it rests on, before it is dressed as an Answer.  loads: those it speaks for."""

    verdict: Verdict
    best: Contender
    loads: Loads
    why: str
    below: int | None = None
    runner_up: Contender | None = None


def answer(
    temperature: float,
    loads: Loads,
    contenders: Sequence[Contender],
    curves: Sequence[KCurve],
    default_gpu_memory: float | None = None,
) -> Answer:
    """Return the answer at one temperature.

    contenders: at least one baseline among them, the reference baseline first.  curves: of this temperature.
    """
    fitting = fitting_memory(contenders, default_gpu_memory)
    baseline = best_baseline([c for c in fitting if not c.k], loads)
    choice = decide(baseline, [c for c in fitting if c.k], loads)
    best = choice.best.figures
    return Answer(
        temperature=temperature,
        verdict=choice.verdict,
        best=best.candidate,
        objective=_objective(best, temperature, choice),
        why=choice.why,
        loads=_figures_at(best, loads),
        curves=tuple(curves),
        below=choice.below,
        runner_up=_candidate(choice.runner_up),
    )


def _objective(best: TrialFigures, temperature: float, choice: Choice) -> Figure:
    figure = objective_speedup(best, temperature, choice.loads)
    if choice.below is None:
        return figure
    return replace(figure, note=f"over the load points below concurrency {choice.below}; {figure.note}")


def _candidate(contender: Contender | None) -> Candidate | None:
    return contender.figures.candidate if contender else None


def _figures_at(trial: TrialFigures, loads: Loads) -> tuple[LoadFigures, ...]:
    return tuple(figures for load in loads if (figures := load_figures(trial, load)) is not None)


def best_baseline(baselines: Sequence[Contender], loads: Loads) -> Contender:
    """Return the first baseline, or the fastest of those whose engine arguments clearly beat it."""
    first, others = baselines[0], baselines[1:]
    level = per_sweep_confidence(len(others))
    leads = [(advantage(other.ranked, first.ranked, loads), other) for other in others if not other.reasons]
    clear = [(lead.mean, other) for lead, other in leads if lead is not None and lead.above(0.0, level)]
    return max(clear, key=lambda pair: pair[0])[1] if clear else first


def per_sweep_confidence(comparisons: int) -> float:
    """Return the level of each of so many comparisons that keeps the error of all of them together at 5 %."""
    return 1 - (1 - CONFIDENCE) / max(comparisons, 1)


def decide(baseline: Contender, speculative: Sequence[Contender], loads: Loads) -> Choice:
    """Return the verdict over these load points.  baseline: the best engine without speculation."""
    able = [c for c in speculative if not c.reasons and speedup_estimate(c.figures, loads) is not None]
    if not able:
        return Choice(Verdict.INCONCLUSIVE, baseline, loads, _nobody(speculative))
    rules = Rules(baseline, tuple(able), per_sweep_confidence(len(able)))
    return rules.speculate(loads) or rules.speculate_below(loads) or rules.neither(loads)


def _nobody(speculative: Sequence[Contender]) -> str:
    if not speculative:
        return "No speculative candidate gave a measurement."
    first = speculative[0]
    return f"No speculative candidate may win. {first.name}: {(first.reasons or ('no speedup could be computed',))[0]}."


@dataclass(frozen=True)
class Rules:
    """The decision rules over contenders that may win.  confidence: of each one's claim to be faster."""

    baseline: Contender
    able: tuple[Contender, ...]
    confidence: float

    def speculate(self, loads: Loads) -> Choice | None:
        """Speculation pays over all load points and is clearly slower at none."""
        winners = [c for c in self.able if self._pays(c, loads) and not slower_at(c, loads)]
        if not winners:
            return None
        best, rival, tie = self._pick(winners, loads)
        why = f"{describe(best.figures, loads)}; no load point is clearly slower.{tie}"
        return Choice(Verdict.SPECULATE, best, loads, why, runner_up=rival)

    def speculate_below(self, loads: Loads) -> Choice | None:
        """Speculation pays at every concurrency up to some value, and is clearly slower at a higher one."""
        steps = sorted({load.concurrency for load in loads})
        for last, following in reversed(list(pairwise(steps))):
            low = tuple(load for load in loads if load.concurrency <= last)
            high = [_at(loads, step) for step in steps if step > last]
            winners = [
                c
                for c in self.able
                if self._pays(c, low)
                and not slower_at(c, low)
                and all(_faster(c, _at(low, step)) for step in steps if step <= last)
                and any(_slower(c, at) for at in high)
            ]
            if winners:
                best, rival, tie = self._pick(winners, low)
                lost = next(at for at in high if _slower(best, at))
                why = (
                    f"Below concurrency {following}: {describe(best.figures, low)}. "
                    f"At concurrency {lost[0].concurrency}: {describe(best.figures, lost)}.{tie}"
                )
                return Choice(Verdict.SPECULATE_BELOW, best, low, why, following, rival)
        return None

    def neither(self, loads: Loads) -> Choice:
        """Say that every candidate is slower, or that this sweep cannot tell."""
        top = max(self.able, key=lambda c: _score(c, loads))
        if all(_slower(c, loads) for c in self.able):
            best_of = f"the best of {len(self.able)}, {describe(top.figures, loads)}"
            why = f"Every candidate is slower than no speculation; {best_of}."
            return Choice(Verdict.DO_NOT, self.baseline, loads, why, runner_up=top)
        mixed = [c for c in self.able if self._pays(c, loads)]
        if mixed:
            top = max(mixed, key=lambda c: _score(c, loads))
            slow = slower_at(top, loads)[0]
            why = f"{describe(top.figures, loads)}, but clearly slower at {slow.label}: decide by your traffic."
        else:
            why = f"{describe(top.figures, loads)}: {what_limits(top.figures, loads, self.confidence, len(self.able))}."
        return Choice(Verdict.INCONCLUSIVE, self.baseline, loads, why, runner_up=top)

    def _pays(self, contender: Contender, loads: Loads) -> bool:
        """Clearly faster than its own baseline and than the best engine without speculation."""
        own = speedup_estimate(contender.figures, loads)
        if own is None or not own.above(0.0, self.confidence):
            return False
        if contender.figures.candidate.args_key == self.baseline.figures.candidate.args_key:
            return True
        lead = advantage(contender.ranked, self.baseline.ranked, loads)
        return lead is not None and lead.above(0.0, self.confidence)

    def _pick(self, winners: Sequence[Contender], loads: Loads) -> tuple[Contender, Contender | None, str]:
        """Return the winner, its closest rival, and a sentence on ties within noise (smaller K wins)."""
        top = max(winners, key=lambda c: (_score(c, loads), -c.k))
        line = [c for c in winners if _line(c) == _line(top)]
        chosen = smallest_tied([c.ranked for c in line], loads)
        best = next((c for c in line if c.ranked is chosen), top)
        others = [c for c in self.able if c is not best]
        rival = max(others, key=lambda c: _score(c, loads)) if others else None
        tie = f" {top.name} measured faster by no more than noise: the smaller K is taken." if best is not top else ""
        return best, rival, tie


def _line(contender: Contender) -> tuple[str, str, str]:
    figures = contender.figures
    return figures.candidate.draft_name, figures.candidate.args_key, figures.device_key


def _score(contender: Contender, loads: Loads) -> float:
    estimate = speedup_estimate(contender.ranked, loads)
    return exp(estimate.mean) if estimate else 0.0


def _at(loads: Loads, concurrency: int) -> Loads:
    return tuple(load for load in loads if load.concurrency == concurrency)


def _faster(contender: Contender, loads: Loads) -> bool:
    estimate = speedup_estimate(contender.figures, loads)
    return estimate is not None and estimate.above(0.0)


def _slower(contender: Contender, loads: Loads) -> bool:
    estimate = speedup_estimate(contender.figures, loads)
    return estimate is not None and estimate.below(0.0)


def slower_at(contender: Contender, loads: Loads) -> list[LoadPoint]:
    """Return the load points at which the contender is clearly slower than no speculation."""
    return [load for load in loads if _slower(contender, (load,))]
