"""A finalist's fresh engine lives as they compete, and what is found against it in any of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tuner.analysis.eligibility import Contender, disqualifications, failures_over_lives, preemptions
from tuner.analysis.final_figures import final_figures
from tuner.analysis.limits import checks
from tuner.analysis.outputs import compared_outputs, farthest, output_bars
from tuner.analysis.rounds import Arm, arms
from tuner.records import Bar, BarKind, Goal, LoadFigures, LoadPoint, Losslessness, Role, Trial, TrialFigures

MOST_FAILURES = 2
"""Fresh lives that a finalist may fail before it is out."""

Outputs = Sequence[tuple[LoadPoint, Losslessness]]


def fresh_bars(
    trials: Sequence[Trial], loads: Sequence[LoadPoint], role: Role = Role.FINAL
) -> dict[str, tuple[Bar, ...]]:
    """Return candidate key -> why it must not win, from each of its fresh lives against the baseline's of that round.

    trials: all of the run.  loads: of one temperature.  role: of the lives that count.
    """
    found = {arm.candidate.key: _bars(arm, trials, loads) for arm in arms(trials, role) if arm.candidate.k}
    for key, why in _failed_often(trials, role).items():
        found[key] = (Bar(BarKind.MORE_FAILURES, why), *found.get(key, ()))
    return {key: bars for key, bars in found.items() if bars}


def fresh_contender(
    arm: Arm,
    reference: Arm,
    loads: Sequence[LoadPoint],
    trials: Sequence[Trial],
    confidence: float,
    goal: Goal | None = None,
) -> Contender:
    """Return the arm as it competes at these load points.

    reference: the baseline that all are ranked against.  trials: those that hold the baselines' first lives.
    confidence: of the intervals.  goal: what decides, and the limits; TPOT without limits if None.
    """
    goal = goal or Goal()
    figures = final_figures(arm, loads, confidence=confidence, metric=goal.metric)
    own = _with_outputs(figures, _outputs(arm, trials, loads))
    ranked = own if arm.candidate.baseline.key == reference.candidate.key and arm.candidate.k else None
    return Contender(
        figures=own,
        ranked=ranked or final_figures(arm, loads, reference.lives, confidence, goal.metric),
        bars=(),
        preempted=any(preemptions(life, loads) for life in arm.lives.values()),
        checks=checks(own, goal, loads),
    )


def _bars(arm: Arm, trials: Sequence[Trial], loads: Sequence[LoadPoint]) -> tuple[Bar, ...]:
    bars: list[Bar] = failures_over_lives(list(arm.pairs.values()), loads)
    for life, baseline in arm.pairs.values():
        bars += [b for b in disqualifications(life, baseline, loads) if b.kind is not BarKind.MORE_FAILURES]
    bars += output_bars(_outputs(arm, trials, loads))
    return tuple(dict.fromkeys(bars))


def _outputs(arm: Arm, trials: Sequence[Trial], loads: Sequence[LoadPoint]) -> Outputs:
    return [
        compared
        for life, baseline in arm.pairs.values()
        for compared in compared_outputs(life, (*_first_lives(trials, baseline), baseline), loads)
    ]


def _first_lives(trials: Sequence[Trial], baseline: Trial) -> list[Trial]:
    """Return the first lives of the same baseline, on whatever device: its reference pass is among them."""
    key = baseline.record.candidate.key
    return [t for t in trials if t.record.role is Role.BASELINE and t.record.ok and t.record.candidate.key == key]


def _with_outputs(figures: TrialFigures, outputs: Outputs) -> TrialFigures:
    """Return the figures with, at each load point, the comparison of the life that is farthest from the baseline."""

    def of_load(load: LoadFigures) -> Losslessness | None:
        return farthest(same for point, same in outputs if point.key == load.load_point.key)

    return replace(figures, loads=tuple(replace(load, sameness=of_load(load)) for load in figures.loads))


def _failed_often(trials: Sequence[Trial], role: Role) -> Mapping[str, str]:
    """Return candidate key -> why, for those that failed too many of their fresh lives to be recommended."""
    reasons: dict[str, list[str]] = {}
    for trial in trials:
        if trial.record.role is role and trial.record.failure is not None:
            reasons.setdefault(trial.record.candidate.key, []).append(trial.record.failure.message)
    return {
        key: f"{len(messages)} of its fresh lives failed: {messages[0]}"
        for key, messages in reasons.items()
        if len(messages) >= MOST_FAILURES
    }
