from collections.abc import Callable, Iterable

from tuner.records import (
    Candidate,
    Failure,
    FailureKind,
    PhaseTimes,
    Role,
    Speculation,
    TrialRecord,
    WorkerFacts,
)
from tuner.search.decision import Decision
from tuner.search.schedule import Scheduler, Task

BASE = Candidate({"max_model_len": 512})
OTHER_ARGS = Candidate({"max_model_len": 1024})


def with_k(k: int, base: Candidate = BASE) -> Candidate:
    return Candidate(base.engine_args, Speculation("ngram", k, "ngram"))


def record(role: Role, candidate: Candidate, device: str = "gpu0", failed: bool = False) -> TrialRecord:
    failure = Failure(FailureKind.CRASHED, "out of memory") if failed else None
    return TrialRecord(0, role, candidate, WorkerFacts(device, "d", "n"), "t", PhaseTimes(), failure=failure)


def asked(candidates: Iterable[Candidate | None]) -> Callable[[], Decision]:
    """Return a study that asks for these in turn; None stands for a moment in which results are awaited."""
    queue = iter(candidates)

    def ask() -> Decision:
        try:
            return Decision(next(queue), False, "")
        except StopIteration:
            return Decision(None, True, "")

    return ask


def scheduler(
    candidates: Iterable[Candidate], baseline_again: bool = True, devices: tuple[str, ...] = ("gpu0",)
) -> Scheduler:
    return Scheduler(asked(candidates), devices, baseline_again=baseline_again)


def run(schedule: Scheduler, device: str = "gpu0", failing: tuple[Candidate, ...] = ()) -> list[Task]:
    tasks = []
    while task := schedule.next(device):
        tasks.append(task)
        if not task.skip:
            schedule.finished(record(task.role, task.candidate, device, task.candidate in failing))
    return tasks


def test_a_device_that_joins_later_begins_with_its_own_baseline_and_counts_as_a_device() -> None:
    schedule = scheduler([with_k(1), with_k(2)], devices=("gpu0",))
    first, joined = schedule.next("gpu0"), schedule.next("gpu1")
    assert first is not None and joined is not None
    assert (first.role, joined.role) == (Role.BASELINE, Role.BASELINE)
    schedule.finished(record(Role.BASELINE, first.candidate, "gpu0", failed=True))
    assert schedule.next("gpu0") is None, "nothing is skipped while the one that joined may run it"
    schedule.finished(record(Role.BASELINE, joined.candidate, "gpu1"))
    assert [task.candidate.k for task in run(schedule, "gpu1") if task.role is Role.CANDIDATE] == [2, 1]


def test_baseline_comes_first_and_again_last() -> None:
    tasks = run(scheduler([BASE, with_k(1), with_k(2)]))
    assert [task.role for task in tasks] == [Role.BASELINE, Role.CANDIDATE, Role.CANDIDATE, Role.BASELINE_AGAIN]


def test_each_group_of_engine_arguments_has_its_own_baselines() -> None:
    tasks = run(scheduler([BASE, OTHER_ARGS, with_k(1), with_k(1, OTHER_ARGS)]))
    assert [task.candidate for task in tasks if task.role is Role.BASELINE] == [BASE, OTHER_ARGS]
    assert [task.candidate for task in tasks if task.role is Role.BASELINE_AGAIN] == [BASE, OTHER_ARGS]


def test_a_second_device_measures_its_own_baseline_before_its_first_candidate() -> None:
    schedule = scheduler([BASE, with_k(1), with_k(2)], devices=("gpu0", "gpu1"))
    assert schedule.next("gpu0") == Task(Role.BASELINE, BASE)
    assert schedule.next("gpu1") == Task(Role.BASELINE, BASE)
    schedule.finished(record(Role.BASELINE, BASE, "gpu1"))
    assert schedule.next("gpu1") == Task(Role.CANDIDATE, with_k(1))


def test_candidates_of_a_failed_baseline_are_skipped_with_the_reason() -> None:
    tasks = run(scheduler([BASE, with_k(1), with_k(2)]), failing=(BASE,))
    assert [bool(task.skip) for task in tasks] == [False, True, True]
    assert "out of memory" in tasks[1].skip


def test_no_closing_baseline_where_no_candidate_succeeded_or_none_is_wanted() -> None:
    assert [t.role for t in run(scheduler([BASE, with_k(1)]), failing=(with_k(1),))] == [Role.BASELINE, Role.CANDIDATE]
    assert Role.BASELINE_AGAIN not in [t.role for t in run(scheduler([BASE, with_k(1)], baseline_again=False))]


def test_a_resumed_run_repeats_nothing_but_closes_with_a_baseline_after_new_candidates() -> None:
    done = [record(Role.BASELINE, BASE), record(Role.CANDIDATE, with_k(1)), record(Role.BASELINE_AGAIN, BASE)]
    assert run(Scheduler(asked([]), ["gpu0"], done)) == []
    tasks = run(Scheduler(asked([with_k(2)]), ["gpu0"], done))
    assert [task.role for task in tasks] == [Role.CANDIDATE, Role.BASELINE_AGAIN]


def test_a_task_that_is_put_back_is_handed_out_again() -> None:
    schedule = scheduler([BASE, with_k(1)])
    first = schedule.next("gpu0")
    assert first is not None
    schedule.put_back(first, "gpu0")
    assert [task.role for task in run(schedule)] == [Role.BASELINE, Role.CANDIDATE, Role.BASELINE_AGAIN]


def test_a_baseline_that_is_put_back_still_lets_its_candidate_wait() -> None:
    schedule = scheduler([with_k(1)])
    first = schedule.next("gpu0")
    assert first == Task(Role.BASELINE, BASE)
    schedule.put_back(first, "gpu0")
    assert [task.role for task in run(schedule)] == [Role.BASELINE, Role.CANDIDATE, Role.BASELINE_AGAIN]


def test_a_closing_baseline_that_is_put_back_is_run_again() -> None:
    schedule = scheduler([BASE, with_k(1)])
    while (task := schedule.next("gpu0")) and task.role is not Role.BASELINE_AGAIN:
        schedule.finished(record(task.role, task.candidate))
    assert task is not None
    schedule.put_back(task, "gpu0")
    assert schedule.next("gpu0") == task
    assert schedule.next("gpu0") is None


def every(count: int, candidates: Iterable[Candidate], done: Iterable[TrialRecord] = ()) -> Scheduler:
    return Scheduler(asked(candidates), ["gpu0"], done, baseline_every=count)


def test_a_long_sweep_measures_its_baseline_in_the_middle_too() -> None:
    tasks = run(every(2, [with_k(k) for k in range(1, 6)]))
    assert "".join(task.role.value[0] if task.role is not Role.BASELINE_AGAIN else "a" for task in tasks) == "bccaccaca"
    assert [task.candidate.k for task in tasks if task.role is Role.CANDIDATE] == [1, 2, 3, 4, 5]


def test_a_baseline_in_the_middle_of_the_last_candidates_is_the_closing_one() -> None:
    """After the second of two candidates nothing follows: one baseline closes, not two."""
    tasks = run(every(2, [with_k(1), with_k(2)]))
    assert [task.role for task in tasks].count(Role.BASELINE_AGAIN) == 1


def test_only_candidates_that_worked_bring_the_next_baseline_nearer() -> None:
    tasks = run(every(2, [with_k(k) for k in (1, 2, 3)]), failing=(with_k(1),))
    assert [task.candidate.k for task in tasks] == [0, 1, 2, 3, 0]


def test_groups_are_counted_apart() -> None:
    tasks = run(every(2, [with_k(1), with_k(1, OTHER_ARGS), with_k(2), with_k(2, OTHER_ARGS)]))
    assert [task.role for task in tasks].count(Role.BASELINE_AGAIN) == 2
    assert tasks[-1].role is tasks[-2].role is Role.BASELINE_AGAIN


def test_a_resumed_sweep_counts_on_to_its_next_baseline() -> None:
    done = [record(Role.BASELINE, BASE), record(Role.CANDIDATE, with_k(1))]
    tasks = run(every(2, [with_k(2), with_k(3)], done))
    assert [task.role for task in tasks] == [
        Role.CANDIDATE,
        Role.BASELINE_AGAIN,
        Role.CANDIDATE,
        Role.BASELINE_AGAIN,
    ]


def test_a_baseline_in_the_middle_that_is_put_back_is_run_before_the_next_candidate() -> None:
    schedule = every(1, [with_k(1), with_k(2)])
    for _ in range(2):
        task = schedule.next("gpu0")
        assert task is not None
        schedule.finished(record(task.role, task.candidate))
    middle = schedule.next("gpu0")
    assert middle == Task(Role.BASELINE_AGAIN, BASE)
    schedule.put_back(middle, "gpu0")
    assert [task.role for task in run(schedule)] == [Role.BASELINE_AGAIN, Role.CANDIDATE, Role.BASELINE_AGAIN]


def test_fresh_lives_are_none_of_the_schedulers_business() -> None:
    finals = [record(Role.FINAL, BASE), record(Role.FINAL, with_k(1), failed=True)]
    schedule = Scheduler(asked([]), ["gpu0"], finals)
    assert (schedule.closing, schedule.next("gpu0")) == (0, None)


def test_the_work_of_a_device_that_is_gone_moves_to_another() -> None:
    schedule = scheduler([BASE, with_k(1), with_k(2)], devices=("gpu0", "gpu1"))
    assert run_one(schedule, "gpu0") == BASE
    lost = schedule.next("gpu0")
    assert lost == Task(Role.CANDIDATE, with_k(1))
    schedule.gone(lost, "gpu0")
    assert [task.candidate for task in run(schedule, "gpu1")] == [BASE, with_k(1), with_k(2), BASE]


def test_a_candidate_that_waited_for_the_baseline_of_a_lost_device_moves_too() -> None:
    schedule = scheduler([with_k(1)], devices=("gpu0", "gpu1"))
    waiting = schedule.next("gpu0")
    assert waiting is not None
    schedule.gone(waiting, "gpu0")
    assert [task.candidate for task in run(schedule, "gpu1")] == [BASE, with_k(1), BASE]


def test_a_bad_device_leaves_the_candidates_to_the_good_ones() -> None:
    schedule = scheduler([BASE, *(with_k(k) for k in range(1, 6))], devices=("bad", "good"))
    assert schedule.next("bad") == Task(Role.BASELINE, BASE)
    schedule.finished(record(Role.BASELINE, BASE, "bad", failed=True))
    assert schedule.next("bad") is None
    assert schedule.next("bad") is None
    tasks = run(schedule, "good")
    assert [task.role for task in tasks] == [Role.BASELINE, *[Role.CANDIDATE] * 5, Role.BASELINE_AGAIN]
    assert not any(task.skip for task in tasks)


def test_candidates_are_skipped_once_the_baseline_failed_on_every_device() -> None:
    schedule = scheduler([BASE, with_k(1), with_k(2)], devices=("a", "b"))
    for device in ("a", "b"):
        task = schedule.next(device)
        assert task is not None and task.role is Role.BASELINE
        schedule.finished(record(Role.BASELINE, BASE, device, failed=True))
    skipped = [*run(schedule, "a"), *run(schedule, "b")]
    assert [task.candidate for task in skipped] == [with_k(2), with_k(1)]
    assert all(task.skip for task in skipped)


def test_a_baseline_that_failed_by_itself_is_not_started_again_when_it_is_asked_for() -> None:
    tasks = run(scheduler([with_k(1), BASE]), failing=(BASE,))
    assert [(task.role, bool(task.skip)) for task in tasks if task.candidate == BASE] == [
        (Role.BASELINE, False),
        (Role.CANDIDATE, True),
    ]


def test_what_is_still_to_come_is_counted() -> None:
    schedule = scheduler([with_k(1)])
    assert (schedule.waiting, schedule.closing) == (0, 0)
    schedule.next("gpu0")
    assert schedule.waiting == 1
    run(schedule)
    assert (schedule.waiting, schedule.closing) == (0, 0)


def run_one(schedule: Scheduler, device: str) -> Candidate:
    task = schedule.next(device)
    assert task is not None
    schedule.finished(record(task.role, task.candidate, device))
    return task.candidate


def test_no_closing_baseline_while_results_are_awaited() -> None:
    schedule = Scheduler(asked([BASE, with_k(1), None, None, with_k(2)]), ["gpu0", "gpu1"])
    assert [run_one(schedule, "gpu0"), run_one(schedule, "gpu0")] == [BASE, with_k(1)]
    assert [schedule.next("gpu1"), schedule.next("gpu0")] == [None, None]
    assert schedule.closing == 1
    assert [task.role for task in run(schedule, "gpu0")] == [Role.CANDIDATE, Role.BASELINE_AGAIN]
