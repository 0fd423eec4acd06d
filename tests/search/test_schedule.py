from collections.abc import Iterable

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
from tuner.search.schedule import Scheduler, Task

BASE = Candidate({"max_model_len": 512})
OTHER_ARGS = Candidate({"max_model_len": 1024})


def with_k(k: int, base: Candidate = BASE) -> Candidate:
    return Candidate(base.engine_args, Speculation("ngram", k, "ngram"))


def record(role: Role, candidate: Candidate, device: str = "gpu0", failed: bool = False) -> TrialRecord:
    failure = Failure(FailureKind.CRASHED, "out of memory") if failed else None
    return TrialRecord(0, role, candidate, WorkerFacts(device, "d", "n"), "t", PhaseTimes(), failure=failure)


def scheduler(
    candidates: Iterable[Candidate], baseline_again: bool = True, devices: tuple[str, ...] = ("gpu0",)
) -> Scheduler:
    queue = iter(candidates)
    return Scheduler(lambda: next(queue, None), devices, baseline_again=baseline_again)


def run(schedule: Scheduler, device: str = "gpu0", failing: tuple[Candidate, ...] = ()) -> list[Task]:
    tasks = []
    while task := schedule.next(device):
        tasks.append(task)
        if not task.skip:
            schedule.finished(record(task.role, task.candidate, device, task.candidate in failing))
    return tasks


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
    assert run(Scheduler(lambda: None, ["gpu0"], done)) == []
    queue = iter([with_k(2)])
    tasks = run(Scheduler(lambda: next(queue, None), ["gpu0"], done))
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
