"""Rounds of fresh lives: one device, one after another, each beginning with another arm."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from tuner.records import Candidate, Failure, FailureKind, PhaseTimes, Role, Speculation, TrialRecord, WorkerFacts
from tuner.search.rounds import FinalRounds
from tuner.search.schedule import Task

BASE = Candidate({"max_model_len": 512})
ONE, TWO, THREE = (Candidate(BASE.engine_args, Speculation("ngram", k, "ngram")) for k in (1, 2, 3))
ARMS = (BASE, ONE, TWO)


def life(task: Task, device: str = "a", failed: bool = False) -> TrialRecord:
    failure = Failure(FailureKind.CRASHED, "died") if failed else None
    worker = WorkerFacts(device, "d", "n")
    return TrialRecord(0, task.role, task.candidate, worker, "t", PhaseTimes(), failure=failure, round=task.round)


def drain(rounds: FinalRounds, device: str = "a") -> list[Task]:
    tasks = []
    while task := rounds.next(device):
        tasks.append(task)
        rounds.finished(life(task, device))
    return tasks


def order(tasks: Iterable[Task]) -> list[tuple[int | None, int]]:
    return [(task.round, task.candidate.k) for task in tasks]


def wanting(count: int, arms: tuple[Candidate, ...] = ARMS) -> FinalRounds:
    rounds = FinalRounds()
    rounds.want(arms, count)
    return rounds


def test_each_round_has_every_arm_once_and_begins_with_another_one() -> None:
    rounds = wanting(4)
    assert rounds.waiting == 12
    tasks = drain(rounds)
    assert order(tasks) == [
        (0, 0), (0, 1), (0, 2),
        (1, 1), (1, 2), (1, 0),
        (2, 2), (2, 0), (2, 1),
        (3, 0), (3, 1), (3, 2),
    ]  # fmt: skip
    assert {task.role for task in tasks} == {Role.FINAL}
    assert rounds.idle
    assert rounds.waiting == 0


def test_how_many_of_those_that_wait_are_baselines() -> None:
    rounds = wanting(3)
    assert (rounds.waiting, rounds.waiting_plain) == (9, 3)
    first = rounds.next("a")
    assert first is not None and not first.candidate.k
    assert (rounds.waiting, rounds.waiting_plain) == (8, 2)
    rounds.finished(life(first))
    rounds.next("a")
    assert (rounds.waiting, rounds.waiting_plain) == (7, 2)


def test_nothing_is_handed_out_before_it_is_asked_for() -> None:
    assert FinalRounds().next("a") is None
    assert wanting(3, ()).next("a") is None
    assert wanting(0).idle


def test_a_round_stays_on_its_device_and_devices_share_the_rounds() -> None:
    rounds = wanting(3)
    of: dict[str, list[Task]] = {"a": [], "b": []}
    while True:
        started = [(device, task) for device in of if (task := rounds.next(device))]
        if not started:
            break
        for device, task in started:
            of[device].append(task)
            rounds.finished(life(task, device))
    assert order(of["a"]) == [(0, 0), (0, 1), (0, 2), (2, 2), (2, 0), (2, 1)]
    assert order(of["b"]) == [(1, 1), (1, 2), (1, 0)]


def test_a_life_that_runs_is_not_handed_out_again() -> None:
    rounds = wanting(1)
    task = rounds.next("a")
    assert task is not None
    assert rounds.next("a") is None
    assert (rounds.waiting, rounds.idle) == (2, False)


def test_a_round_with_a_failed_life_is_given_up_and_another_takes_its_place() -> None:
    rounds = wanting(2)
    first, second = rounds.next("a"), None
    assert first is not None
    rounds.finished(life(first))
    second = rounds.next("a")
    assert second is not None
    rounds.finished(life(second, failed=True))
    assert rounds.waiting == 6
    assert [task.round for task in drain(rounds)] == [1, 1, 1, 2, 2, 2]


def test_a_round_that_was_given_up_counts_where_all_that_is_still_wanted_has_run() -> None:
    rounds = wanting(2)
    for failed in (False, False, True):
        task = rounds.next("a")
        assert task is not None
        rounds.finished(life(task, failed=failed))
    rounds.want((BASE, ONE), 2)
    assert order(drain(rounds)) == [(1, 1), (1, 0)]


def test_a_life_that_is_put_back_is_handed_out_again() -> None:
    rounds = wanting(1)
    task = rounds.next("a")
    assert task is not None
    rounds.put_back(task)
    assert rounds.waiting == 3
    assert rounds.next("a") == task


def test_the_rounds_of_a_device_that_is_gone_are_measured_elsewhere_from_their_start() -> None:
    rounds = wanting(2)
    for device in ("a", "b"):
        task = rounds.next(device)
        assert task is not None
        rounds.finished(life(task, device))
    rounds.gone("b")
    assert order(drain(rounds)) == [(0, 1), (0, 2), (2, 2), (2, 0), (2, 1)]


@given(st.integers(0, 9))
def test_an_interrupted_round_goes_on_and_no_life_is_measured_again(done: int) -> None:
    whole = drain(wanting(3))
    resumed = FinalRounds(life(task) for task in whole[:done])
    resumed.want(ARMS, 3)
    assert order(drain(resumed)) == order(whole[done:])


def test_a_round_that_is_open_on_a_device_that_is_not_there_any_more_does_not_block() -> None:
    """Killed with two devices at work, resumed with one: the other's round can never be completed."""
    rounds = wanting(3)
    started = {device: rounds.next(device) for device in ("a", "b")}
    resumed = FinalRounds(life(task, device) for device, task in started.items() if task)
    resumed.want(ARMS, 3, {"a"})
    tasks = drain(resumed)
    assert order(tasks) == [(0, 1), (0, 2), (2, 2), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2)]
    assert resumed.idle


def test_lives_of_other_finalists_are_not_added_to_old_rounds() -> None:
    """Lives of a round follow one another: a later finalist's are in rounds of their own."""
    rounds = wanting(2)
    drain(rounds)
    rounds.want((BASE, ONE, THREE), 2)
    assert rounds.waiting == 6
    assert order(drain(rounds)) == [(2, 3), (2, 0), (2, 1), (3, 0), (3, 1), (3, 3)]


def test_more_rounds_of_the_same_arms_go_on_from_those_there_are() -> None:
    rounds = wanting(1)
    drain(rounds)
    rounds.want(ARMS, 3)
    assert [task.round for task in drain(rounds)] == [1, 1, 1, 2, 2, 2]


def test_trials_of_other_kinds_are_ignored() -> None:
    rounds = FinalRounds([life(Task(Role.CANDIDATE, ONE)), life(Task(Role.BASELINE, BASE))])
    rounds.want(ARMS, 1)
    assert rounds.waiting == 3
