"""What a K schedule brings as it would be deployed: measured in rounds with the static K and with no speculation.

It may be deployed instead of the static K only where all of this holds, so that no single one needs a correction for
their number (an intersection-union test):

- the engine drafted as the schedule says, and nothing else bars it;
- at every load point it was measured no more than 1 % slower than the static K, and than no speculation, and a slowdown
  of the smallest effect worth knowing is excluded (one-sided, 5 % shared by the temperatures);
- over the load points where its K is another one it is faster than the static K by the smallest effect worth knowing
  or more, and clearly faster (one-sided, the same 5 %). Which load points these are follows from the schedule, which
  was derived before its lives were measured.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tuner.analysis.comparison import advantage, objective_speedup, speedup_estimate
from tuner.analysis.finals import Judgement, complete_rounds, only_rounds
from tuner.analysis.fresh import MOST_FAILURES, fresh_bars, fresh_contender
from tuner.analysis.k_schedule import Derived, Unsupported, derive, schedule_of, scheduled_k
from tuner.analysis.levels import Loads
from tuner.analysis.life import load_view
from tuner.analysis.limits import broken_anew
from tuner.analysis.metrics import counter_figures
from tuner.analysis.paired import lives_note
from tuner.analysis.rounds import Arm, arms
from tuner.analysis.rules import TOLERATED
from tuner.analysis.schedule_obeyed import drafted, per_step
from tuner.analysis.selection import Screened
from tuner.analysis.statistics import CONFIDENCE, Estimate, exp, ratio_figure
from tuner.records import (
    Bar,
    BarKind,
    Candidate,
    Goal,
    LoadPoint,
    Protocol,
    Role,
    ScheduleAnswer,
    SchedulePoint,
    Trial,
    TrialFigures,
)

HOPELESS = math.log(0.95)
"""Log ratio to the static K or to no speculation below which, after one round, no further one is measured."""
AGAINST = "mean over rounds of engine lives of geometric means over prompts of paired ratios, schedule / static K"


@dataclass(frozen=True)
class ScheduleJudgement:
    """What the lives of the schedules say so far.

    arms: what runs in each round, baselines first; () where no schedule is to be measured.  wanted: complete rounds.
    complete: how many there are.  answers: one per temperature.
    """

    arms: tuple[Candidate, ...]
    wanted: int
    complete: int
    answers: tuple[ScheduleAnswer, ...]

    @property
    def settled(self) -> bool:
        """Whether no further life is wanted."""
        return self.complete >= self.wanted


def schedules(
    screened: Sequence[Screened],
    finals: Judgement,
    trials: Sequence[Trial],
    protocol: Protocol,
    unsupported: Unsupported,
) -> ScheduleJudgement:
    """Return what became of the schedules that the surface asks for; nothing where the protocol asks for none.

    A schedule is derived once the recommended K is settled.  trials: all of the run.
    """
    if not protocol.schedule:
        return ScheduleJudgement((), 0, 0, ())
    if not finals.settled:
        why = "the recommended K is not settled yet: its fresh lives are not complete"
        derived = [Derived(at.temperature, why) for at in screened]
    else:
        contenders = finals.contenders or ((),) * len(screened)
        derived = [
            derive(at, choice, finalists, unsupported)
            for at, choice, finalists in zip(screened, finals.choices, contenders, strict=True)
        ]
    goal = screened[0].goal if screened else None
    return judge_schedules(derived, {at.temperature: at.loads for at in screened}, trials, protocol, goal)


def judge_schedules(
    derived: Sequence[Derived],
    loads: Mapping[float, Loads],
    trials: Sequence[Trial],
    protocol: Protocol,
    goal: Goal | None = None,
) -> ScheduleJudgement:
    """Return what became of the derived schedules, one for each temperature.

    loads: by temperature.  goal: TPOT without limits if None.  The first round alone says whether the others are worth
    their engine starts; that can only make a schedule be deployed less often.
    """
    to_measure = schedule_arms(derived)
    rounds = complete_rounds(trials, to_measure, Role.SCHEDULE)
    tests = [_Test(d, loads[d.temperature], trials, protocol, len(derived), goal or Goal()) for d in derived]
    wanted = max(1, protocol.lives)
    if not to_measure or _failed_often(trials, to_measure):
        wanted = len(rounds)
    elif not rounds or all(test.hopeless(rounds[:1]) for test in tests):
        wanted = max(1, len(rounds))
    answers = tuple(test.answer(rounds[:wanted], wanted) for test in tests)
    return ScheduleJudgement(to_measure, wanted, len(rounds), answers)


def schedule_arms(derived: Sequence[Derived]) -> tuple[Candidate, ...]:
    """Return what each round has to measure, each once: baselines, static K, schedules."""
    found = [(d.static.baseline, d.static, d.candidate) for d in derived if d.static and d.candidate]
    kinds = zip(*found, strict=True) if found else ()
    return tuple({candidate.key: candidate for kind in kinds for candidate in kind}.values())


def _failed_often(trials: Sequence[Trial], candidates: Sequence[Candidate]) -> str:
    """Return why, where an arm failed too often to go on; "" if none did."""
    for candidate in candidates:
        failures = [
            trial.record.failure.message
            for trial in trials
            if trial.record.role is Role.SCHEDULE
            and trial.record.failure is not None
            and trial.record.candidate.key == candidate.key
        ]
        if len(failures) >= MOST_FAILURES:
            return f"{len(failures)} of the lives of {candidate.label} failed: {failures[0]}"
    return ""


@dataclass(frozen=True)
class _Test:
    """One schedule at one temperature.  answers: schedules that share the 5 %."""

    derived: Derived
    loads: Loads
    trials: Sequence[Trial]
    protocol: Protocol
    answers: int
    goal: Goal

    def hopeless(self, rounds: Sequence[int]) -> bool:
        """Whether these rounds show that the schedule is ignored, barred or far slower somewhere."""
        if self.derived.candidate is None:
            return True
        own, static, bars, _ = self._measured(rounds)
        ratios = [ratio for load in self.loads for ratio in _ratios(own, static, load)]
        return bool(bars) or any(ratio is None or ratio.mean < HOPELESS for ratio, _ in ratios)

    def answer(self, rounds: Sequence[int], wanted: int) -> ScheduleAnswer:
        """Return what these complete rounds say, of as many as are wanted."""
        candidate, static_k = self.derived.candidate, self.derived.static
        plain = ScheduleAnswer(self.derived.temperature, _sentence(self.derived.why), candidate, static_k)
        if candidate is None or static_k is None:
            return plain
        if not rounds:
            failed = _failed_often(self.trials, (static_k.baseline, static_k, candidate))
            return replace(plain, why=f"{plain.why} {_sentence(failed or 'it was not measured')}")
        own, static, bars, points = self._measured(rounds)
        gain = advantage(own, static, self._differing())
        if len(rounds) < wanted:
            against = f"{len(rounds)} of {wanted} rounds of its lives were measured"
        else:
            against = self._objection(own, static, bars, gain)
        verdict = against or self._praise(own, gain)
        return replace(
            plain,
            why=f"{plain.why} {_sentence(verdict)}",
            lives=len(rounds),
            exportable=not against,
            points=points,
            speedup=objective_speedup(own, self.derived.temperature, self.loads),
            gain=ratio_figure(gain, AGAINST, note=lives_note(len(rounds))),
            bars=bars,
        )

    def _measured(
        self, rounds: Sequence[int]
    ) -> tuple[TrialFigures, TrialFigures, tuple[Bar, ...], tuple[SchedulePoint, ...]]:
        """Return the figures of schedule and static K in these rounds, what bars the schedule, and its load points."""
        candidate, static_k = self.derived.candidate, self.derived.static
        assert candidate is not None
        assert static_k is not None
        found = {arm.candidate.key: only_rounds(arm, rounds) for arm in arms(self.trials, Role.SCHEDULE)}
        reference = found[static_k.baseline.key]
        own, static = (
            fresh_contender(found[c.key], reference, self.loads, self.trials, CONFIDENCE, self.goal)
            for c in (candidate, static_k)
        )
        points = tuple(self._point(found[candidate.key], own.figures, static.figures, load) for load in self.loads)
        bars = fresh_bars(self.trials, self.loads, Role.SCHEDULE).get(candidate.key, ())
        ignored = [Bar(BarKind.SCHEDULE_IGNORED, _ignored(point)) for point in points if point.obeyed is False]
        bars = (*bars, *ignored, *broken_anew(own.checks, static.checks))
        return own.figures, static.figures, bars, points

    def _point(self, arm: Arm, own: TrialFigures, static: TrialFigures, load: LoadPoint) -> SchedulePoint:
        views = [view for life in arm.lives.values() if (view := load_view(life, load.key)) is not None]
        did = drafted(arm.candidate, views)
        return SchedulePoint(
            load_point=load,
            k=scheduled_k(schedule_of(arm.candidate), load.concurrency),
            effective=counter_figures([repeat for view in views for repeat in view.repeats])["mean_proposed_length"],
            per_step=per_step(did),
            expected=(did.low, did.high) if did else None,
            obeyed=did.obeyed if did else None,
            static=objective_speedup(static, self.derived.temperature, [_alone(load)]),
            schedule=objective_speedup(own, self.derived.temperature, [_alone(load)]),
            against_static=ratio_figure(
                advantage(own, static, [_alone(load)]), AGAINST, note=lives_note(len(arm.lives))
            ),
        )

    def _differing(self) -> Loads:
        """Return the load points at which the schedule has another K than the static one."""
        candidate, static = self.derived.candidate, self.derived.static
        schedule = schedule_of(candidate) if candidate else ()
        return tuple(load for load in self.loads if static and scheduled_k(schedule, load.concurrency) != static.k)

    def _objection(self, own: TrialFigures, static: TrialFigures, bars: Sequence[Bar], gain: Estimate | None) -> str:
        """Return why the schedule may not be deployed, "" if it may."""
        if bars:
            return f"it cannot be deployed: {bars[0].text}"
        ratios = [(load, *ratio) for load in self.loads for ratio in _ratios(own, static, load)]
        for load, ratio, than in ratios:
            if ratio is None or ratio.mean < TOLERATED:
                return f"as deployed it is slower than {than} at {load.label} ({_short(ratio)}): it is not exported"
        resolve = math.log1p(self.protocol.resolve)
        if gain is None or gain.mean < resolve:
            return f"where its K is another one it runs at {_short(gain)} of the static K: not worth a schedule"
        if self._lower(gain) <= 0.0:
            return f"that it is faster where its K is another one is not proven ({_short(gain)}); {self._more()}"
        for load, ratio, than in ratios:
            if ratio is None or self._lower(ratio) < -resolve:
                what = f"that it is not {self.protocol.resolve:.0%} or more slower than {than} at {load.label}"
                return f"{what} is not proven ({_short(ratio)}); {self._more()}"
        return ""

    def _praise(self, own: TrialFigures, gain: Estimate | None) -> str:
        return (
            f"as deployed it runs at {_short(gain)} of the static K where its K is another one "
            f"({lives_note(own.lives)}), and is slower at no load point than the static K or no speculation"
        )

    def _lower(self, estimate: Estimate) -> float:
        """Return the one-sided lower bound at this schedule's share of 5 %; -inf where there is none."""
        interval = estimate.interval(1 - 2 * (1 - CONFIDENCE) / self.answers)
        return interval[0] if interval else -math.inf

    def _more(self) -> str:
        return "more engine lives could tell (`lives:` in the space's protocol)"


def _ratios(own: TrialFigures, static: TrialFigures, load: LoadPoint) -> list[tuple[Estimate | None, str]]:
    """Return the schedule's log ratio to the static K and to no speculation at one load point, with their names."""
    alone = [_alone(load)]
    return [
        (advantage(own, static, alone), f"K = {static.candidate.k}"),
        (speedup_estimate(own, alone), "no speculation"),
    ]


def _alone(load: LoadPoint) -> LoadPoint:
    """Return the load point with a weight of its own: by itself it counts whatever its share of the traffic."""
    return replace(load, weight=1.0)


def _ignored(point: SchedulePoint) -> str:
    low, high = point.expected or (0.0, 0.0)
    return (
        f"{point.load_point.label}: the engine drafted {point.per_step.value or 0.0:.2f} tokens a step, and with the "
        f"batches that were seen the schedule (K = {point.k}) allows for {low:.2f} to {high:.2f}"
    )


def _short(estimate: Estimate | None) -> str:
    if estimate is None:
        return "no figure"
    interval = estimate.interval()
    spread = f", 95 % {exp(interval[0]):.2f}-{exp(interval[1]):.2f}" if interval else ", no interval"
    return f"{exp(estimate.mean):.2f}x{spread}"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
