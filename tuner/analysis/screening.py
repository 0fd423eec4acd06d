"""From trials to what one life of each candidate says: who is compared with which baseline, and who competes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tuner.analysis.comparison import against, load_figures
from tuner.analysis.eligibility import Contender, disqualifications, preemptions
from tuner.analysis.fresh import fresh_bars
from tuner.analysis.limits import checks
from tuner.analysis.metrics import trial_figures
from tuner.analysis.outputs import output_bars, with_sameness
from tuner.analysis.resolution import RESOLVE
from tuner.analysis.selection import Screened, screen
from tuner.errors import NothingMeasured
from tuner.records import Bar, BarKind, Goal, LoadPoint, Role, Trial, TrialFigures

Place = tuple[str, str]  # (device_key, args_key): what a candidate shares with its baseline


@dataclass(frozen=True)
class Screening:
    """Everything about the single lives.

    worked: trials that gave figures, finals left out.  baselines: lives by place, as they were measured.
    figures: by trial number.  screened: one per temperature.
    """

    worked: tuple[Trial, ...]
    baselines: Mapping[Place, tuple[Trial, ...]]
    figures: Mapping[int, TrialFigures]
    screened: tuple[Screened, ...]

    def first_life(self, trial: Trial) -> Trial | None:
        """Return the first life of the trial's own baseline; None if there is none."""
        lives = self.baselines.get(place_of(trial))
        return lives[0] if lives else None


def screening(
    trials: Sequence[Trial],
    load_points: Sequence[LoadPoint],
    default_gpu_memory_utilization: float | None = None,
    undeployable: Mapping[str, str] | None = None,
    resolve: float = RESOLVE,
    goal: Goal | None = None,
    known: dict[int, TrialFigures] | None = None,
) -> Screening:
    """Return what the single lives say, one verdict for every temperature among `load_points`.

    default_gpu_memory_utilization: the engine's own, for ties.
    undeployable: key of a candidate -> why it may be measured and never recommended.
    resolve: the smallest effect worth knowing, as a fraction.
    goal: what decides, and the limits to keep to; TPOT without limits if None.
    known: figures of an earlier call by trial number, for who asks again while only fresh lives are added; new ones are
    added to it.
    What is found against a candidate in a fresh life bars it here too, so that the next best takes its place.
    Raises NothingMeasured if no baseline worked: there is nothing to compare with.
    """
    worked = _screened(trials)
    baselines = compared_baselines(trials)
    if not baselines:
        raise _nothing_measured(trials)
    goal = goal or Goal()
    known = {} if known is None else known
    new = {t.record.number: _figures(t, baselines, goal) for t in worked if t.record.number not in known}
    known.update(new)
    figures = {trial.record.number: known[trial.record.number] for trial in worked}
    never = {key: (Bar(BarKind.UNDEPLOYABLE, reason),) for key, reason in (undeployable or {}).items()}
    screened = []
    for temperature in dict.fromkeys(load.sampling.temperature for load in load_points):
        loads = tuple(load for load in load_points if load.sampling.temperature == temperature)
        barred = fresh_bars(trials, loads) | never
        competing = [
            _barred(_contender(trial, figures, baselines, loads, goal), barred)
            for trial in _competing(worked, baselines)
        ]
        screened.append(screen(temperature, loads, competing, default_gpu_memory_utilization, resolve, goal))
    return Screening(worked, baselines, figures, tuple(screened))


def _nothing_measured(trials: Sequence[Trial]) -> NothingMeasured:
    what = "No baseline (the engine without speculation) gave a measurement"
    baselines = [t for t in trials if t.record.role is Role.BASELINE and t.record.failure]
    failed = max(baselines, key=lambda t: t.record.fix.changes if t.record.fix else 0, default=None)
    if failed is None or failed.record.failure is None:
        return NothingMeasured(f"{what}: none was run.", "Start the sweep again: it goes on where it ended.")
    look = f"See trials/{failed.record.name}/engine.log, and start the sweep again: it tries the baseline anew."
    by_itself = " With --auto-fix the sweep does so by itself." if failed.record.failure.change else ""
    return NothingMeasured(
        f"{what}: {failure_words(failed)}", f"{failed.record.failure.remedy}{by_itself}\n{look}".strip()
    )


def failure_words(trial: Trial) -> str:
    """Return why a trial gave no figures, in one sentence, with its cause; "" if it did."""
    failure = trial.record.failure
    if failure is None:
        return ""
    if failure.what:
        return failure.what
    told = not failure.cause or failure.cause in failure.message
    return failure.message if told else f"{failure.message} ({failure.cause})"


def failure_told(trial: Trial) -> str:
    """Return why a trial gave no figures, and what to do about it."""
    failure = trial.record.failure
    return " ".join((failure_words(trial), failure.advice)) if failure and failure.advice else failure_words(trial)


def _screened(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    roles = (Role.BASELINE, Role.CANDIDATE, Role.BASELINE_AGAIN)
    return tuple(trial for trial in trials if trial.record.ok and trial.record.role in roles)


def compared_baselines(trials: Sequence[Trial]) -> dict[Place, tuple[Trial, ...]]:
    """Return the lives of each baseline that speedups of single lives are over, by place."""
    return baseline_lives(_of_the_selection(_screened(trials)))


def _of_the_selection(worked: Sequence[Trial]) -> list[Trial]:
    """Return the trials without baselines that were measured again once the candidates and their closing one were.

    Such lives tell how the engine differs from itself (`tuner noise`). Were they to count, measuring noise after a
    sweep would change who was selected, and take the fresh lives of those that were from the answer.
    """
    last: dict[Place, int] = {}
    for trial in worked:
        if trial.record.role is Role.CANDIDATE:
            last[place_of(trial)] = max(trial.record.number, last.get(place_of(trial), -1))
    kept, closed = [], set()
    for trial in sorted(worked, key=lambda t: t.record.number):
        place, again = place_of(trial), trial.record.role is Role.BASELINE_AGAIN
        after = again and place in last and trial.record.number > last[place]
        if not after or place not in closed:
            kept.append(trial)
        if after:
            closed.add(place)
    return kept


def baseline_lives(trials: Sequence[Trial]) -> dict[Place, tuple[Trial, ...]]:
    """Return the baselines that worked by place, in the order they were measured; never pooled over devices."""
    lives: dict[Place, tuple[Trial, ...]] = {}
    for trial in sorted(trials, key=lambda t: t.record.number):
        if trial.record.ok and not trial.record.candidate.k:
            lives[place_of(trial)] = (*lives.get(place_of(trial), ()), trial)
    return lives


def place_of(trial: Trial) -> Place:
    """Return what the trial shares with its baseline."""
    return trial.record.worker.device_key, trial.record.candidate.args_key


def _figures(trial: Trial, baselines: Mapping[Place, tuple[Trial, ...]], goal: Goal) -> TrialFigures:
    lives = baselines.get(place_of(trial), ())
    if trial.record.candidate.k:
        return with_sameness(trial_figures(trial, *(lives or (None,)), metric=goal.metric), trial, lives)
    return trial_figures(trial, None, *(lives[1:] if lives and trial is lives[0] else ()), metric=goal.metric)


def _competing(worked: Sequence[Trial], baselines: Mapping[Place, tuple[Trial, ...]]) -> list[Trial]:
    """Return the first life of each baseline, then the candidates."""
    candidates = [trial for trial in worked if trial.record.role is Role.CANDIDATE and trial.record.candidate.k]
    return [*(lives[0] for lives in baselines.values()), *candidates]


def _contender(
    trial: Trial,
    figures: Mapping[int, TrialFigures],
    baselines: Mapping[Place, tuple[Trial, ...]],
    load_points: Sequence[LoadPoint],
    goal: Goal,
) -> Contender:
    """Return the trial as it competes at these load points (of one temperature)."""
    device, first_args = trial.record.worker.device_key, next(iter(baselines))[1]
    own_lives, reference = baselines.get(place_of(trial)), baselines.get((device, first_args))
    first = own_lives[0] if own_lives else None
    ranked = own = figures[trial.record.number]
    bars = disqualifications(trial, first, load_points)
    if trial.record.candidate.k:
        at_points = ((load, load_figures(own, load)) for load in load_points)
        bars = (*bars, *output_bars([(load, at.sameness) for load, at in at_points if at and at.sameness]))
    if first is not None and reference is not None:
        ranked = against(own, figures[first.record.number], figures[reference[0].record.number])
    elif first is not None:
        bars = (*bars, Bar(BarKind.NO_BASELINE, "no reference baseline on its device"))
    return Contender(
        figures=own,
        ranked=ranked,
        bars=bars,
        preempted=preemptions(trial, load_points) > 0,
        kv_cache_tokens=trial.record.engine.kv_cache_tokens if trial.record.engine else None,
        checks=checks(own, goal, load_points),
    )


def _barred(contender: Contender, bars: Mapping[str, tuple[Bar, ...]]) -> Contender:
    """Return the contender with the reasons why it must not be deployed, if there are any."""
    more = bars.get(contender.figures.candidate.key, ())
    return replace(contender, bars=tuple(dict.fromkeys((*contender.bars, *more)))) if more else contender
