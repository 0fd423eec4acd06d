"""From single lives to fresh lives: who is measured again, how often, and what these lives alone say."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.analysis.finals import Judgement, judge
from tuner.analysis.findings import findings
from tuner.analysis.fresh import fresh_bars
from tuner.analysis.screening import screening
from tuner.records import Answer, BarKind, Limit, LoadPoint, Protocol, Role, Sampling, Trial, Verdict
from tuner.search.rounds import FinalRounds
from tuner.search.schedule import Task

Make = Callable[..., Trial]
Log = Callable[[int, int], float]  # (K, round) -> log of the TPOT's factor on 0.02 s in that life
C1 = LoadPoint("chat", 1, 33)
THREE = Protocol(lives=3, max_lives=3)
ADAPTIVE = Protocol(lives=3, max_lives=12, resolve=0.03)
SPREAD = (0.9, -0.2, -1.1, 1.4, -0.6, 0.3, -1.5, 0.8, 0.1, -0.4, 1.2, -0.9)


def single(make: Make, speeds: dict[int, float], loads: Sequence[LoadPoint] = (C1,)) -> list[Trial]:
    """Return baseline, one life of each K with that speedup, baseline again; prompts differ by 1 %."""

    def at(speed: float) -> Callable[[LoadPoint, int, int], float]:
        return lambda _l, i, _r: 0.02 / speed * (1 + 0.01 * (-1) ** i)

    trials = [make(0, tpot=at(1.0), loads=loads)]
    trials += [make(i + 1, k=k, tpot=at(speed), loads=loads) for i, (k, speed) in enumerate(speeds.items())]
    return [*trials, make(len(trials), role=Role.BASELINE_AGAIN, tpot=at(1.0), loads=loads)]


def life(make: Make, trials: Sequence[Trial], task: Task, log: Log, loads: Sequence[LoadPoint] = (C1,)) -> Trial:
    k, number = task.candidate.k, task.round or 0
    return make(len(trials), k=k, tpot=0.02 * math.exp(log(k, number)), loads=loads, final_round=number)


def judged(trials: Sequence[Trial], protocol: Protocol, loads: Sequence[LoadPoint] = (C1,)) -> Judgement:
    return judge(screening(trials, loads).screened, trials, protocol)


def confirmed(
    make: Make,
    trials: list[Trial],
    protocol: Protocol,
    log: Log,
    *,
    loads: Sequence[LoadPoint] = (C1,),
    failing: Callable[[Task], bool] = lambda _task: False,
    session: int = 1000,
    most: int = 1000,
) -> list[Trial]:
    """Return `trials` with the fresh lives that are asked for; a session ends after so many of them."""
    trials = list(trials)
    while len(trials) < most:
        rounds = FinalRounds(trial.record for trial in trials)
        for _ in range(session):
            judgement = judged(trials, protocol, loads)
            rounds.want(judgement.arms, judgement.wanted)
            task = rounds.next("node-a/cpu")
            if task is None or len(trials) == most:
                return trials
            trial = life(make, trials, task, log, loads)
            if failing(task):
                trial = make(len(trials), k=task.candidate.k, failure="died", final_round=task.round)
            trials.append(trial)
            rounds.finished(trial.record)
    return trials


def only(trials: Sequence[Trial], protocol: Protocol, loads: Sequence[LoadPoint] = (C1,)) -> Answer:
    (answer,) = findings(trials, loads, protocol=protocol).answers
    return answer


def true(speed: float, spread: float) -> Log:
    """Return lives of K > 0 that are `speed` times as fast as no speculation, give or take `spread`."""
    return lambda k, number: (-math.log(speed) + spread * SPREAD[number % 12]) if k else 0.0


def test_the_winner_its_rival_and_their_baseline_are_measured_again(make_trial: Make) -> None:
    judgement = judged(single(make_trial, {2: 1.5, 4: 1.8, 6: 1.2}), THREE)
    assert [arm.k for arm in judgement.arms] == [0, 4, 2]
    assert (judgement.wanted, judgement.complete, judgement.settled) == (3, 0, False)
    assert judgement.choices == (None,)


@pytest.mark.parametrize(
    ("speeds", "arms"),
    [({2: 0.8, 4: 0.7}, [0, 2]), ({2: 1.0, 4: 0.9}, [0, 2]), ({}, [])],
    ids=["slower", "unsure", "nobody"],
)
def test_without_a_winner_the_one_that_came_nearest_is_measured_again(
    make_trial: Make, speeds: dict[int, float], arms: list[int]
) -> None:
    assert [arm.k for arm in judged(single(make_trial, speeds), THREE).arms] == arms


def unsure(make: Make, number: int, k: int, speed: float) -> Trial:
    """Return a single life whose prompts differ so much, other ones for each K, that its speedup could be 1."""
    return make(number, k=k, tpot=lambda _l, i, _r: 0.02 / speed * math.exp(0.1 * (-1) ** (i // (k // 2))))


def test_where_nobody_won_a_close_rival_is_measured_again_too(make_trial: Make) -> None:
    """K = 2 and K = 4 cannot be told apart; K = 6 is clearly slower than both."""
    trials = [make_trial(), unsure(make_trial, 1, 2, 1.02), unsure(make_trial, 2, 4, 1.03)]
    trials += [make_trial(3, k=6, tpot=0.025), make_trial(4, role=Role.BASELINE_AGAIN)]
    assert sorted(arm.k for arm in judged(trials, THREE).arms) == [0, 2, 4]


@pytest.mark.parametrize(("speed", "verdict"), [(1.002, Verdict.INCONCLUSIVE), (1.004, Verdict.SPECULATE)])
def test_a_speedup_within_the_margin_is_no_difference(make_trial: Make, speed: float, verdict: Verdict) -> None:
    trials = confirmed(make_trial, single(make_trial, {4: 1.5}), THREE, true(speed, 0.00001))
    assert only(trials, THREE).verdict is verdict


def test_the_answer_is_of_the_fresh_lives_alone(make_trial: Make) -> None:
    """One lucky life at 1.8x; the fresh ones are at 1.3x, 1.3x and 1.3x, and no single life is in the figure."""
    trials = confirmed(make_trial, single(make_trial, {4: 1.8}), THREE, true(1.3, 0.01))
    answer = only(trials, THREE)
    assert (answer.verdict, answer.best.k, answer.lives) == (Verdict.SPECULATE, 4, 3)
    logs = [math.log(1.3) - 0.01 * x for x in SPREAD[:3]]
    assert answer.objective.value == pytest.approx(math.exp(sum(logs) / 3))
    assert answer.objective.note == "over 3 engine lives"
    assert answer.screened is not None
    assert answer.screened.value == pytest.approx(1.8)
    assert "over 3 engine lives" in answer.why
    assert answer.loads[0].figures["speedup_tpot"].value == pytest.approx(answer.objective.value)
    assert answer.similar_prompts is not None
    assert answer.similar_prompts.value == pytest.approx(answer.objective.value)


def test_fresh_lives_take_a_lucky_recommendation_back(make_trial: Make) -> None:
    trials = confirmed(make_trial, single(make_trial, {4: 1.8}), THREE, true(0.9, 0.005))
    answer = only(trials, THREE)
    assert (answer.verdict, answer.best.k, answer.lives) == (Verdict.DO_NOT, 0, 3)


def test_with_one_life_nothing_is_measured_again_and_nothing_changes(make_trial: Make) -> None:
    trials = single(make_trial, {2: 1.5, 4: 1.8})
    one = Protocol(lives=1, max_lives=1)
    assert judged(trials, one) == Judgement((), 0, 0, (None,))
    assert judged(trials, one).settled
    assert findings(trials, (C1,), protocol=one) == findings(trials, (C1,))
    answer = only(trials, one)
    assert (answer.lives, answer.screened) == (1, None)
    assert "within this engine life" in answer.objective.note
    assert not any("fresh" in line for line in findings(trials, (C1,), protocol=one).warnings)


def test_lives_go_on_where_they_differ_too_much_and_stop_within_the_limit(make_trial: Make) -> None:
    trials = confirmed(make_trial, single(make_trial, {4: 1.1}), ADAPTIVE, true(1.06, 0.05))
    judgement = judged(trials, ADAPTIVE)
    assert judgement.settled
    assert 3 < judgement.complete <= 12
    assert only(trials, ADAPTIVE).lives == judgement.complete
    capped = replace(ADAPTIVE, max_lives=5)
    assert judged(confirmed(make_trial, single(make_trial, {4: 1.1}), capped, true(1.06, 0.05)), capped).complete == 5


def test_a_clear_effect_needs_no_more_than_the_least_lives(make_trial: Make) -> None:
    trials = confirmed(make_trial, single(make_trial, {4: 1.5}), ADAPTIVE, true(1.5, 0.002))
    assert judged(trials, ADAPTIVE).complete == 3


def test_what_the_limit_could_never_settle_is_not_begun(make_trial: Make) -> None:
    """Lives that differ by 60 %: a hundred of them would not show 3 %."""
    trials = confirmed(make_trial, single(make_trial, {4: 1.02}), ADAPTIVE, true(1.01, 0.6))
    assert judged(trials, ADAPTIVE).complete == 3
    answer = only(trials, ADAPTIVE)
    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "fresh engine lives would settle" in answer.why
    assert answer.resolution is not None
    assert answer.resolution.limited_by is Limit.LIVES
    assert f"about {answer.resolution.needed} fresh engine lives" in answer.why


def test_lives_beyond_those_that_were_asked_for_do_not_count(make_trial: Make) -> None:
    """A later look would need its own share of the error."""
    trials = confirmed(make_trial, single(make_trial, {4: 1.5}), THREE, true(1.5, 0.01))
    base, fast = (t.record.candidate for t in trials[:2])
    for candidate in (base, fast):
        trials.append(life(make_trial, trials, Task(Role.FINAL, candidate, round=3), lambda _k, _n: 0.0))
    answer = only(trials, THREE)
    assert (answer.lives, answer.objective) == (3, only(trials[:-2], THREE).objective)


def test_a_finalist_that_fails_twice_is_out_with_its_reason_and_the_next_best_takes_its_place(make_trial: Make) -> None:
    trials = confirmed(
        make_trial,
        single(make_trial, {2: 1.5, 4: 1.8, 6: 1.2}),
        THREE,
        true(1.4, 0.01),
        failing=lambda task: task.candidate.k == 4,
    )
    result = findings(trials, (C1,), protocol=THREE)
    (answer,) = result.answers
    assert sum(not trial.record.ok for trial in trials) == 2
    assert answer.best.k == 2
    assert answer.runner_up is not None
    assert answer.runner_up.k == 6
    (barred,) = result.barred
    assert barred.candidate.k == 4
    assert barred.bar.text == "2 of its fresh lives failed: died"
    assert any("good K=4 cannot win" in line and "died" in line for line in result.warnings)


def test_one_failed_life_is_made_up_for(make_trial: Make) -> None:
    trials = confirmed(
        make_trial,
        single(make_trial, {4: 1.8}),
        THREE,
        true(1.4, 0.01),
        failing=lambda task: (task.candidate.k, task.round) == (4, 1),
    )
    assert fresh_bars(trials, (C1,)) == {}
    answer = only(trials, THREE)
    assert (answer.best.k, answer.lives) == (4, 3)
    assert {t.record.round for t in trials if t.record.role is Role.FINAL} == {0, 1, 2, 3}


def test_a_baseline_that_fails_twice_ends_the_finals_with_a_warning(make_trial: Make) -> None:
    trials = confirmed(
        make_trial, single(make_trial, {4: 1.8}), THREE, true(1.4, 0.01), failing=lambda task: not task.candidate.k
    )
    judgement = judged(trials, THREE)
    assert (judgement.complete, judgement.settled, judgement.choices) == (0, True, (None,))
    result = findings(trials, (C1,), protocol=THREE)
    assert result.answers[0].lives == 1
    assert any(line.startswith("0 of 3 fresh lives") for line in result.warnings)


def test_a_baseline_that_fails_late_does_not_undo_the_rounds_there_are(make_trial: Make) -> None:
    trials = confirmed(
        make_trial,
        single(make_trial, {4: 1.1}),
        ADAPTIVE,
        true(1.06, 0.05),
        failing=lambda task: not task.candidate.k and (task.round or 0) >= 3,
    )
    judgement = judged(trials, ADAPTIVE)
    assert judgement.settled
    assert only(trials, ADAPTIVE).lives == 3


def test_limits_leave_fewer_lives_and_a_warning(make_trial: Make) -> None:
    done = confirmed(make_trial, single(make_trial, {4: 1.8}), THREE, true(1.4, 0.01), most=3 + 5)
    result = findings(done, (C1,), protocol=THREE)
    assert result.answers[0].lives == 1
    assert result.answers[0].objective.value == pytest.approx(1.8)
    assert any(line.startswith("2 of 3 fresh lives of the finalists were measured") for line in result.warnings)
    more = confirmed(make_trial, single(make_trial, {4: 1.1}), ADAPTIVE, true(1.06, 0.05), most=3 + 8)
    lines = findings(more, (C1,), protocol=ADAPTIVE).warnings
    assert only(more, ADAPTIVE).lives == 3
    assert any(line.startswith("4 of ") and "the first 3 or more" in line for line in lines)


def test_a_fault_in_a_fresh_life_bars(make_trial: Make) -> None:
    trials = confirmed(make_trial, single(make_trial, {4: 1.8}), THREE, true(1.5, 0.01))
    at = next(
        i for i, t in enumerate(trials) if t.record.role is Role.FINAL and t.record.candidate.k and t.record.round
    )
    number, of_round = trials[at].record.number, trials[at].record.round
    trials[at] = make_trial(number, k=4, tpot=0.01, failed=2, final_round=of_round)
    answer = only(trials, THREE)
    assert (answer.verdict, answer.best.k) == (Verdict.INCONCLUSIVE, 0)
    assert "requests failed over 3 fresh lives" in answer.why


def test_what_is_barred_in_a_fresh_life_is_replaced_by_the_next_best(make_trial: Make) -> None:
    trials = confirmed(make_trial, single(make_trial, {2: 1.5, 4: 1.8, 6: 1.2}), THREE, true(1.4, 0.01), most=8)
    at = next(i for i, t in enumerate(trials) if t.record.role is Role.FINAL and t.record.candidate.k == 4)
    number, of_round = trials[at].record.number, trials[at].record.round
    trials[at] = make_trial(number, k=4, tpot=0.01, failed=2, final_round=of_round)
    judgement = judged(trials, THREE)
    assert [arm.k for arm in judgement.arms] == [0, 2, 6]
    assert not judgement.settled
    result = findings(confirmed(make_trial, trials, THREE, true(1.4, 0.01)), (C1,), protocol=THREE)
    assert (result.answers[0].best.k, result.answers[0].lives) == (2, 3)
    assert [(barred.candidate.k, barred.bar.kind) for barred in result.barred] == [(4, BarKind.MORE_FAILURES)]


def test_each_temperature_is_confirmed_by_the_same_rounds(make_trial: Make) -> None:
    loads = (C1, replace(C1, sampling=Sampling(temperature=0.7)))
    trials = confirmed(make_trial, single(make_trial, {4: 1.8}, loads), THREE, true(1.5, 0.01), loads=loads)
    assert sum(t.record.role is Role.FINAL for t in trials) == 6
    answers = findings(trials, loads, protocol=THREE).answers
    assert [(answer.verdict, answer.lives) for answer in answers] == [(Verdict.SPECULATE, 3)] * 2


@settings(max_examples=8)
@given(st.integers(1, 5), st.sampled_from([(1.06, 0.05), (1.4, 0.01), (0.98, 0.03)]))
def test_sessions_make_no_difference(make_trial: Make, session: int, world: tuple[float, float]) -> None:
    """However often the sweep is interrupted, it measures the same lives and says the same."""
    start = single(make_trial, {2: 1.05, 4: 1.1})
    protocol = replace(ADAPTIVE, max_lives=6)

    def failing(task: Task) -> bool:
        return (task.candidate.k, task.round) == (4, 1)

    whole = confirmed(make_trial, start, protocol, true(*world), failing=failing)
    parts = confirmed(make_trial, start, protocol, true(*world), failing=failing, session=session)
    assert parts == whole
    assert findings(parts, (C1,), protocol=protocol) == findings(whole, (C1,), protocol=protocol)


def test_trials_in_another_order_are_judged_alike(make_trial: Make) -> None:
    trials = confirmed(make_trial, single(make_trial, {2: 1.3, 4: 1.8}), THREE, true(1.4, 0.01))
    single_lives = [t for t in trials if t.record.role is not Role.FINAL]
    fresh = [t for t in trials if t.record.role is Role.FINAL]
    assert judged([*single_lives, *fresh[::-1]], THREE) == judged(trials, THREE)


def test_no_advice_against_speculation_where_another_paid_in_its_single_life(make_trial: Make) -> None:
    """K = 2 and 4 win their single lives and lose their fresh ones; K = 1 was never asked again."""
    answer = only(confirmed(make_trial, single(make_trial, {1: 1.3, 2: 1.5, 4: 1.6}), THREE, true(0.8, 0.01)), THREE)
    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "good K=1 was faster in its single life (1.30x" in answer.why
    lost = only(confirmed(make_trial, single(make_trial, {1: 0.7, 2: 1.5, 4: 1.6}), THREE, true(0.8, 0.01)), THREE)
    assert lost.verdict is Verdict.DO_NOT


def test_what_the_first_look_settled_stands_when_another_temperature_goes_on(make_trial: Make) -> None:
    """At T=0 three lives are clear and later ones are wild; T=0.7 asks for the later ones."""
    loads = (C1, replace(C1, sampling=Sampling(temperature=0.7)))

    def tpot(load: LoadPoint, number: int, k: int) -> float:
        noise = SPREAD[number % 12]
        if not k:
            return 0.02
        if load.sampling.temperature:
            return 0.02 * math.exp(-0.04 + 0.03 * noise)
        return 0.02 * math.exp(-0.5 + (0.01 if number < 3 else 0.9) * noise)

    trials = single(make_trial, {2: 1.3}, loads)
    for number in range(12):
        for k in (0, 2):
            at = {load.key: tpot(load, number, k) for load in loads}
            trials.append(
                make_trial(
                    len(trials), k=k, tpot=lambda load, _i, _r, at=at: at[load.key], loads=loads, final_round=number
                )
            )
    judgement = judged(trials, ADAPTIVE, loads)
    assert len(judgement.rounds) > 3
    assert judgement.choices[0] is not None
    assert (judgement.choices[0].verdict, judgement.choices[0].best.figures.lives) == (Verdict.SPECULATE, 3)
