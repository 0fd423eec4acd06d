"""What is made of a schedule's lives: exported, refused with a reason, or not worth another round."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from tuner.analysis.k_schedule import Derived, with_schedule
from tuner.analysis.schedule_judged import ScheduleJudgement, judge_schedules
from tuner.records import BarKind, Candidate, Goal, LoadPoint, Protocol, Role, ScheduleAnswer, Trial

Make = Callable[..., Trial]
MakeCandidate = Callable[..., Candidate]
LOADS = tuple(LoadPoint(eval_set="chat", concurrency=c, max_tokens=33) for c in (1, 8))
PROTOCOL = Protocol(lives=3, max_lives=3, schedule=True)
PLAIN = {1: 0.020, 8: 0.030}
STATIC = {1: 0.015, 8: 0.020}
BETTER = {1: 0.012, 8: 0.020}


@pytest.fixture
def arms(make_candidate: MakeCandidate) -> tuple[Candidate, Candidate, Candidate]:
    """The baseline, a static K = 1, and K = 3 up to batch size 2, K = 1 up to 8."""
    static = make_candidate(1)
    assert static.speculation is not None
    return static.baseline, static, with_schedule(static, static.speculation, ((1, 2, 3), (3, 8, 1)))


class Rounds:
    """Makes lives of the arms; TPOT in seconds by concurrency."""

    def __init__(self, make: Make, arms: tuple[Candidate, Candidate, Candidate]) -> None:
        self.make, self.arms = make, arms
        self.trials: list[Trial] = [make(0, loads=LOADS)]

    def life(
        self, arm: int, number: int, tpots: Mapping[int, float], drafts: int | None = None, **more: object
    ) -> None:
        """Add a life of an arm in a round.  drafts: tokens that the engine drafts a step instead of the right ones."""
        candidate = self.arms[arm]

        def tpot(load: LoadPoint, prompt: int, repeat: int) -> float:
            return tpots[load.concurrency] * (1 + 0.001 * (prompt % 3) + 0.0005 * repeat)

        trial = self.make(
            len(self.trials),
            k=drafts if drafts is not None else candidate.k,
            tpot=tpot,
            loads=LOADS,
            role=Role.SCHEDULE,
            final_round=number,
            **more,
        )
        self.trials.append(replace(trial, record=replace(trial.record, candidate=candidate)))

    def round(self, number: int, schedule: Mapping[int, float], static: Mapping[int, float] = STATIC) -> None:
        """Add a complete round; lives differ by a little from round to round."""
        for arm, tpots in enumerate((PLAIN, static, schedule)):
            factor = 1 + 0.001 * ((7 * number + 3 * arm) % 3)
            self.life(arm, number, {c: tpot * factor for c, tpot in tpots.items()})

    def judged(self, protocol: Protocol = PROTOCOL) -> ScheduleJudgement:
        derived = Derived(0.0, "the surface asks for it", self.arms[2], self.arms[1])
        return judge_schedules([derived], {0.0: LOADS}, self.trials, protocol)

    def answer(self, protocol: Protocol = PROTOCOL) -> ScheduleAnswer:
        return self.judged(protocol).answers[0]


@pytest.fixture
def rounds(make_trial: Make, arms: tuple[Candidate, Candidate, Candidate]) -> Rounds:
    return Rounds(make_trial, arms)


def three(rounds: Rounds, schedule: Mapping[int, float], static: Mapping[int, float] = STATIC) -> ScheduleAnswer:
    for number in range(3):
        rounds.round(number, schedule, static)
    judged = rounds.judged()
    assert judged.settled
    return judged.answers[0]


# --- the verdict ------------------------------------------------------------------------------------------------------


def test_better_where_its_k_differs_and_nowhere_slower_is_exported(rounds: Rounds) -> None:
    found = three(rounds, BETTER)
    assert found.exportable
    assert found.lives == 3
    assert found.gain is not None and found.gain.value == pytest.approx(0.015 / 0.012, rel=0.002)
    assert found.speedup is not None
    assert found.speedup.value == pytest.approx((0.020 / 0.012 * 0.030 / 0.020) ** 0.5, rel=0.003)
    assert [point.k for point in found.points] == [3, 1]
    assert found.points[1].against_static.value == pytest.approx(1.0, rel=0.002)
    assert "As deployed it runs at 1.25x" in found.why


def test_slower_than_the_static_k_at_one_load_point_is_refused(rounds: Rounds) -> None:
    found = three(rounds, {1: 0.012, 8: 0.0206})
    assert not found.exportable
    assert "As deployed it is slower than K = 1 at chat, concurrency 8" in found.why


def test_a_limit_that_the_static_k_keeps_to_and_the_schedule_breaks_is_refused(rounds: Rounds) -> None:
    three(rounds, BETTER)  # p95 of TPOT at concurrency 1: 12 ms with the schedule, 15 ms with the static K
    derived = Derived(0.0, "the surface asks for it", rounds.arms[2], rounds.arms[1])

    def judged(goal: Goal) -> ScheduleAnswer:
        return judge_schedules([derived], {0.0: LOADS}, rounds.trials, PROTOCOL, goal).answers[0]

    assert judged(Goal(p95_tpot_s=0.010)).exportable  # both break it
    assert judged(Goal(p95_tpot_s=0.030)).exportable
    slower = Rounds(rounds.make, rounds.arms)
    three(slower, STATIC, BETTER)
    rounds.trials = slower.trials
    found = judged(Goal(p95_tpot_s=0.0135))
    assert not found.exportable
    assert [bar.kind for bar in found.bars] == [BarKind.OVER_LIMIT]
    assert "cannot be deployed: chat, concurrency 1" in found.why


def test_slower_than_no_speculation_is_refused_even_where_the_static_k_is_slower_still(rounds: Rounds) -> None:
    found = three(rounds, {1: 0.012, 8: 0.031}, static={1: 0.015, 8: 0.040})
    assert not found.exportable
    assert "slower than no speculation at chat, concurrency 8" in found.why


def test_a_gain_that_is_not_worth_knowing_is_refused(rounds: Rounds) -> None:
    found = three(rounds, {1: 0.0147, 8: 0.020})
    assert not found.exportable
    assert "not worth a schedule" in found.why


def test_a_gain_that_lives_do_not_prove_is_refused(rounds: Rounds) -> None:
    for number, factor in enumerate((0.8, 1.0, 1.02)):
        rounds.round(number, {1: 0.015 * factor, 8: 0.020})
    found = rounds.answer()
    assert not found.exportable
    assert "That it is faster where its K is another one is not proven" in found.why


def test_a_slowdown_that_lives_do_not_exclude_is_refused(rounds: Rounds) -> None:
    for number, factor in enumerate((0.95, 1.0, 1.05)):
        rounds.round(number, {1: 0.010, 8: 0.020 * factor})
    found = rounds.answer()
    assert not found.exportable
    assert "not 3% or more slower than K = 1 at chat, concurrency 8" in found.why


def test_an_engine_that_ignores_the_schedule_is_told_of(rounds: Rounds) -> None:
    """It drafts one token a step, and the requests, one after another, ask for three."""
    for arm, tpots in enumerate((PLAIN, STATIC, BETTER)):
        rounds.life(arm, 0, tpots, drafts=1 if arm == 2 else None)
    judged = rounds.judged()
    (found,) = judged.answers
    assert (judged.wanted, judged.complete, found.exportable) == (1, 1, False)
    assert {bar.kind for bar in found.bars} == {BarKind.SCHEDULE_IGNORED}
    assert "the engine drafted 1.00 tokens a step" in found.why
    assert found.points[0].obeyed is False


def test_more_failed_requests_than_the_baseline_bar_it(rounds: Rounds) -> None:
    for number in range(3):
        for arm, tpots in enumerate((PLAIN, STATIC, BETTER)):
            rounds.life(arm, number, tpots, **({"failed": 6} if arm == 2 else {}))
    found = rounds.answer()
    assert not found.exportable
    assert BarKind.MORE_FAILURES in {bar.kind for bar in found.bars}


def test_one_life_of_each_is_enough_where_the_protocol_asks_for_one(rounds: Rounds) -> None:
    rounds.round(0, BETTER)
    judged = rounds.judged(Protocol(lives=1, schedule=True))
    assert (judged.wanted, judged.complete) == (1, 1)
    assert judged.answers[0].exportable


def test_two_temperatures_share_the_error(rounds: Rounds) -> None:
    """The same rounds that prove it alone do not where another schedule is judged beside it."""
    for number, factor in enumerate((0.82, 0.90, 0.93)):
        rounds.round(number, {1: 0.015 * factor, 8: 0.0199})
    assert rounds.answer().exportable
    derived = Derived(0.0, "it asks for it", rounds.arms[2], rounds.arms[1])
    other = Derived(0.7, "no reason")
    found = judge_schedules([derived, other, other, other], {0.0: LOADS, 0.7: LOADS}, rounds.trials, PROTOCOL)
    assert not found.answers[0].exportable
    assert "is not proven" in found.answers[0].why


# --- how many rounds --------------------------------------------------------------------------------------------------


def test_one_round_comes_first_and_the_others_only_where_it_is_promising(rounds: Rounds) -> None:
    assert (rounds.judged().wanted, rounds.judged().complete) == (1, 0)
    assert "It was not measured" in rounds.answer().why
    rounds.round(0, BETTER)
    assert rounds.judged().wanted == 3
    found = rounds.answer()
    assert (found.exportable, found.lives) == (False, 1)
    assert "1 of 3 rounds of its lives were measured" in found.why


def test_far_slower_in_the_first_round_ends_it(rounds: Rounds) -> None:
    rounds.round(0, {1: 0.012, 8: 0.0215})
    judged = rounds.judged()
    assert (judged.wanted, judged.settled) == (1, True)
    assert "slower than K = 1 at chat, concurrency 8" in judged.answers[0].why


def test_a_schedule_that_fails_twice_is_given_up(rounds: Rounds) -> None:
    for number in range(2):
        rounds.life(0, number, PLAIN)
        rounds.life(2, number, BETTER, failure="the engine died")
    judged = rounds.judged()
    assert judged.settled
    assert "2 of the lives of good K=3 (K schedule) failed: the engine died" in judged.answers[0].why


def test_the_arms_are_baseline_static_and_schedule_each_once(rounds: Rounds) -> None:
    assert [arm.label for arm in rounds.judged().arms] == ["no speculation", "good K=1", "good K=3 (K schedule)"]
    nothing = judge_schedules([Derived(0.0, "no reason")], {0.0: LOADS}, rounds.trials, PROTOCOL)
    assert (nothing.arms, nothing.settled, nothing.answers[0].why) == ((), True, "No reason.")


# --- error control ----------------------------------------------------------------------------------------------------


def test_a_schedule_that_is_slower_somewhere_is_seldom_exported(
    make_trial: Make, arms: tuple[Candidate, Candidate, Candidate]
) -> None:
    """3 % slower at concurrency 8, which 3 % are worth knowing; engine lives differ by 3 %."""
    exported = 0
    for seed in range(60):
        draw, rounds = random.Random(seed), Rounds(make_trial, arms)
        for number in range(3):
            for arm, tpots in enumerate((PLAIN, STATIC, {1: 0.010, 8: 0.0206})):
                life = 1 + draw.gauss(0.0, 0.03)
                rounds.life(arm, number, {c: tpot * life for c, tpot in tpots.items()})
        exported += rounds.answer().exportable
    assert exported <= 6
