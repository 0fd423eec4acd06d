"""From measured candidates to one answer for one temperature.

Error rates are per sweep: see tuner.analysis.levels. That all candidates are slower needs no correction for their
number: it takes all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tuner.analysis.comparison import (
    advantage,
    is_whole,
    load_figures,
    log_drift,
    objective_speedup,
    objective_words,
    similar_prompts_estimate,
    speedup_estimate,
)
from tuner.analysis.eligibility import Contender, fitting_memory
from tuner.analysis.levels import Levels, Loads, per_sweep_confidence, screening_levels
from tuner.analysis.limit_words import limit_words
from tuner.analysis.limits import over_limit
from tuner.analysis.outputs import farthest
from tuner.analysis.paired import lives_note
from tuner.analysis.resolution import RESOLVE, resolution
from tuner.analysis.rules import Choice, Rules
from tuner.analysis.statistics import ratio_figure
from tuner.records import Answer, Candidate, Figure, Goal, KCurve, LoadFigures, Losslessness, TrialFigures, Verdict

PROVISIONAL = " Provisional: the baseline was measured once, so drift is unknown."


@dataclass(frozen=True)
class Screened:
    """What one life of each candidate says at one temperature.

    contenders: baselines and candidates, the reference baseline first.  baseline: the best of the former.
    resolve: the smallest effect worth knowing, as a fraction.  goal: what decides, and the limits to keep to.
    """

    temperature: float
    loads: Loads
    contenders: tuple[Contender, ...]
    baseline: Contender
    choice: Choice
    resolve: float = RESOLVE
    goal: Goal = field(default_factory=Goal)

    @property
    def finalists(self) -> tuple[Contender, ...]:
        """The winner and its closest rival, or the one or two that came nearest to winning."""
        near = (self.choice.best, self.choice.runner_up, self.choice.rival)
        return tuple(c for c in near if c is not None and c.k)

    @property
    def barred(self) -> tuple[Contender, ...]:
        """Candidates that may not win, at some of the load points at least."""
        found = ((c, over_limit(c.over(self.loads))) for c in self.contenders if c.k)
        return tuple(replace(c, bars=(*c.bars, *over)) if over else c for c, over in found if over or c.reasons)


def screen(
    temperature: float,
    loads: Loads,
    contenders: Sequence[Contender],
    default_gpu_memory: float | None = None,
    resolve: float = RESOLVE,
    goal: Goal | None = None,
) -> Screened:
    """Return the verdict that one life of each contender gives.

    contenders: at least one baseline among them, the reference baseline first.
    """
    fitting = fitting_memory(contenders, default_gpu_memory)
    baseline = best_baseline([c for c in fitting if not c.k], loads)
    barred = [c for c in contenders if c.k and c.reasons]
    choice = decide(baseline, [c for c in fitting if c.k], loads, barred, resolve=resolve)
    return Screened(temperature, loads, tuple(contenders), baseline, choice, resolve, goal or Goal())


def as_answer(screened: Screened, curves: Sequence[KCurve], final: Choice | None) -> Answer:
    """Return the verdict as an Answer: that of the fresh lives where there is one, else that of the single lives.

    curves: of this temperature.
    """
    choice, loads, temperature = final or screened.choice, screened.loads, screened.temperature
    best = choice.best.figures
    subject = choice.subject
    return Answer(
        temperature=temperature,
        verdict=choice.verdict,
        best=best.candidate,
        objective=_objective(best, temperature, choice),
        why=choice.why + _provisional(subject, loads),
        loads=_compared(_figures_at(best, loads), screened, best.candidate),
        curves=tuple(curves),
        below=choice.below,
        up_to=choice.up_to,
        runner_up=_candidate(choice.runner_up),
        lives=subject.figures.lives if subject else 1,
        similar_prompts=_similar(best, choice.loads),
        screened=_before(screened, best, choice) if final else None,
        resolution=resolution(subject.figures, choice.loads, screened.resolve, choice.confidence) if subject else None,
    )


def _objective(best: TrialFigures, temperature: float, choice: Choice) -> Figure:
    figure = objective_speedup(best, temperature, choice.loads)
    if choice.up_to is None:
        return figure
    return replace(figure, note=f"over the load points up to concurrency {choice.up_to}; {figure.note}")


def _similar(best: TrialFigures, loads: Loads) -> Figure | None:
    if not best.candidate.k or is_whole(best):
        return None
    name = f"{objective_words(best.metric)}, prompts as a sample"
    return ratio_figure(
        similar_prompts_estimate(best, loads), name, note=f"{lives_note(best.lives)}, prompts like these"
    )


def _before(screened: Screened, best: TrialFigures, choice: Choice) -> Figure | None:
    """Return the objective of the winner in the single life by which it was selected."""
    same = (c.figures for c in screened.contenders if c.figures.candidate.key == best.candidate.key and c.k)
    return next((_objective(figures, screened.temperature, choice) for figures in same), None)


def _provisional(subject: Contender | None, loads: Loads) -> str:
    """Return a sentence where the verdict rests on a speedup whose baseline was not measured again."""
    return PROVISIONAL if subject is not None and log_drift(subject.figures, loads) is None else ""


def _candidate(contender: Contender | None) -> Candidate | None:
    return contender.figures.candidate if contender else None


def _figures_at(trial: TrialFigures, loads: Loads) -> tuple[LoadFigures, ...]:
    """Return the figures at the load points as the space has them now: the weight may have been another."""
    found = ((load, load_figures(trial, load)) for load in loads)
    return tuple(replace(figures, load_point=load) for load, figures in found if figures is not None)


def _compared(loads: Sequence[LoadFigures], screened: Screened, best: Candidate) -> tuple[LoadFigures, ...]:
    """Return the figures with the outputs of all lives, the one before selection included, that is: of the farthest."""
    figures = next((c.figures for c in screened.contenders if c.figures.candidate.key == best.key), None)
    before = {load.load_point.key: load.sameness for load in figures.loads} if figures else {}

    def outputs(load: LoadFigures) -> Losslessness | None:
        both = (before.get(load.load_point.key), load.sameness)
        return farthest(same for same in both if same is not None)

    return tuple(replace(load, sameness=outputs(load)) for load in loads)


def best_baseline(baselines: Sequence[Contender], loads: Loads) -> Contender:
    """Return the first baseline, or the fastest of those whose engine arguments clearly beat it.

    Those that break a limit count only where all of them do.
    """
    first, *others = [b for b in baselines if not b.over(loads)] or baselines
    level = per_sweep_confidence(len(others))
    leads = [(advantage(other.ranked, first.ranked, loads), other) for other in others if not other.reasons]
    clear = [(lead.mean, other) for lead, other in leads if lead is not None and lead.above(0.0, level)]
    return max(clear, key=lambda pair: pair[0])[1] if clear else first


def decide(
    baseline: Contender,
    speculative: Sequence[Contender],
    loads: Loads,
    barred: Sequence[Contender] = (),
    levels: Levels | None = None,
    resolve: float = RESOLVE,
) -> Choice:
    """Return the verdict over these load points.

    baseline: the best engine without speculation.  barred: those measured that may not win.
    levels: of single lives if None.
    """
    able = [c for c in speculative if not c.reasons and speedup_estimate(c.figures, loads) is not None]
    if not able:
        choice = Choice(Verdict.INCONCLUSIVE, baseline, loads, _nobody(speculative, fresh=levels is not None))
    else:
        rules = Rules(baseline, tuple(able), levels or screening_levels(len(able)), tuple(barred), resolve)
        choice = rules.decide(loads)
    return replace(choice, why=choice.why + limit_words(choice.best, baseline, able, loads))


def _nobody(speculative: Sequence[Contender], *, fresh: bool) -> str:
    if not speculative:
        return "No speculative candidate gave a measurement."
    first = speculative[0]
    who = "None of those measured again in fresh lives" if fresh else "No speculative candidate"
    return f"{who} may win. {first.name}: {(first.reasons or ('no speedup could be computed',))[0]}."
