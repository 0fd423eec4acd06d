"""What the queue does with each way in which a sweep can end; the process is scripted, real ones: test_server.py."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tuner.errors import PoolError
from tuner.service.allowed import Order
from tuner.service.problems import Refused
from tuner.service.queue import working
from tuner.service.queue.runner import Ended, outcome, told_code
from tuner.service.queue.sweeps import Sweep, SweepState
from tuner.service.queue.waiting import Waiting
from tuner.service.queue.working import Working

ORDER = Order(target="one", space="tiny", engine="sim")
DONE = Ended(0, 'noise\n{"verdict": "speculate", "run": "/x/20261201T000000Z-00000000-abc", "fresh": false}\n')
INTERRUPTED = Ended(130, '{"interrupted": "SIGINT", "exit_code": 130}\n')


class Scripted:
    """A runner whose sweeps end as they are told.  ends: how each start ends, None to run until interrupted."""

    def __init__(self, *ends: Ended | None, outlives: bool = False, left: bool = False) -> None:
        self.ends = [*ends]
        self.outlives = outlives
        self.left = left
        self.started: list[tuple[str, ...]] = []
        self.interrupts = 0
        self.refuses = 0

    def adopt(self, sweep: Sweep) -> bool:
        return self.left

    def start(self, sweep: Sweep, arguments: Sequence[str]) -> tuple[int | None, float | None]:
        if self.refuses:
            self.refuses -= 1
            raise PoolError("the cluster does not answer")
        self.started.append(tuple(arguments))
        return 17, 1.5

    def ended(self) -> Ended | None:
        if self.ends[0] is None:
            if not self.interrupts:
                return None
            self.ends[0] = INTERRUPTED
        self.left = False
        return self.ends.pop(0)

    def interrupt(self) -> None:
        self.interrupts += 1


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("POLL_S", "ENDING_TOO_S", "AGAIN_S"):
        monkeypatch.setattr(working, name, 0.01)


def until(found: Callable[[], bool]) -> None:
    end_s = time.monotonic() + 60
    while not found():
        assert time.monotonic() < end_s
        time.sleep(0.005)


@pytest.fixture
def queue(tmp_path: Path) -> Waiting:
    return Waiting(tmp_path)


def worked(
    queue: Waiting, runner: Scripted, arguments: Callable[[Sweep], tuple[str, ...]] = lambda sweep: ("a",)
) -> Working:
    made = Working(queue, runner, arguments, lambda *_, **__: None)
    made.start()
    return made


def in_state(queue: Waiting, sweep: Sweep, state: SweepState) -> Sweep:
    until(lambda: queue.get(sweep.id).state is state)
    return queue.get(sweep.id)


def test_a_sweep_runs_to_its_end(queue: Waiting) -> None:
    work, sweep = worked(queue, runner := Scripted(DONE)), queue.add(ORDER, "ci")[0]
    ended = in_state(queue, sweep, SweepState.DONE)
    assert ended.outcome is not None and ended.attempt == 1 and ended.pid is None
    assert (ended.outcome.verdict, ended.outcome.measured) == ("speculate", True)
    assert queue.run_directory(ended).name == "20261201T000000Z-00000000-abc"
    assert runner.started == [("a",)]
    assert work.stop(60) and not work.alive


def test_one_after_the_other(queue: Waiting) -> None:
    sweeps = [queue.add(Order(target=f"t{n}", space="tiny", engine="sim"), "ci")[0] for n in range(3)]
    work = worked(queue, Scripted(DONE, DONE, DONE), lambda sweep: (sweep.order.target,))
    for sweep in sweeps:
        in_state(queue, sweep, SweepState.DONE)
    ends = [queue.get(sweep.id).ended_at for sweep in sweeps]
    assert ends == sorted(ends, key=str)
    work.stop(60)


def test_a_failure_says_what_to_do(queue: Waiting) -> None:
    said = Ended(3, '{"error": "no baseline", "next_step": "Look.", "exit_code": 3}')
    work, sweep = worked(queue, Scripted(said)), queue.add(ORDER, "ci")[0]
    failed = in_state(queue, sweep, SweepState.FAILED).outcome
    assert failed is not None
    assert (failed.exit_code, failed.error, failed.next_step) == (3, "no baseline", "Look.")
    work.stop(60)


def test_cancelled_it_is_interrupted_and_then_cancelled(queue: Waiting) -> None:
    work, sweep = worked(queue, runner := Scripted(None)), queue.add(ORDER, "ci")[0]
    in_state(queue, sweep, SweepState.RUNNING)
    queue.cancel(sweep.id, "me")
    in_state(queue, sweep, SweepState.CANCELLED)
    assert runner.interrupts
    work.stop(60)


def test_one_that_was_done_before_it_could_be_cancelled_is_done(queue: Waiting) -> None:
    sweep = queue.add(ORDER, "ci")[0]
    queue.started(sweep.id, 17, 1.5)
    queue.cancel(sweep.id, "me")
    work = worked(queue, Scripted(DONE, left=True))
    in_state(queue, sweep, SweepState.DONE)
    work.stop(60)


def test_the_server_ends_and_the_sweep_waits_for_the_next(queue: Waiting) -> None:
    work, sweep = worked(queue, runner := Scripted(None)), queue.add(ORDER, "ci")[0]
    in_state(queue, sweep, SweepState.RUNNING)
    assert work.stop(60)
    assert (queue.get(sweep.id).state, bool(runner.interrupts)) == (SweepState.QUEUED, True)


def test_on_a_cluster_it_goes_on_without_the_server_and_the_next_takes_it_over(queue: Waiting) -> None:
    work, sweep = worked(queue, runner := Scripted(None, outlives=True)), queue.add(ORDER, "ci")[0]
    in_state(queue, sweep, SweepState.RUNNING)
    assert work.stop(60)
    assert (queue.get(sweep.id).state, runner.interrupts) == (SweepState.RUNNING, 0)
    work = worked(queue, after := Scripted(DONE, outlives=True, left=True))
    in_state(queue, sweep, SweepState.DONE)
    assert after.started == []
    work.stop(60)


def test_one_whose_end_nobody_saw_is_started_again(queue: Waiting) -> None:
    sweep = queue.add(ORDER, "ci")[0]
    queue.started(sweep.id, 17, 1.5)
    work = worked(queue, runner := Scripted(Ended(None, ""), DONE, left=True))
    in_state(queue, sweep, SweepState.DONE)
    assert len(runner.started) == 1
    work.stop(60)


def test_one_that_somebody_else_ended_has_failed(queue: Waiting) -> None:
    work, sweep = worked(queue, Scripted(INTERRUPTED)), queue.add(ORDER, "ci")[0]
    failed = in_state(queue, sweep, SweepState.FAILED).outcome
    assert failed is not None and "somebody other than this server" in failed.error
    work.stop(60)


def test_what_cannot_be_reached_is_asked_again(queue: Waiting) -> None:
    runner = Scripted(DONE)
    runner.refuses = 2
    work, sweep = worked(queue, runner), queue.add(ORDER, "ci")[0]
    assert in_state(queue, sweep, SweepState.DONE).attempt == 3
    work.stop(60)


def test_a_name_that_is_allowed_no_more_fails_its_sweep_alone(queue: Waiting) -> None:
    def arguments(sweep: Sweep) -> tuple[str, ...]:
        if sweep.order.target == "one":
            raise Refused(403, "not-on-the-allow-list", "It has no target 'one'.")
        return ("a",)

    first, second = (queue.add(Order(target=t, space="s", engine="e"), "ci")[0] for t in ("one", "two"))
    work = worked(queue, Scripted(DONE), arguments)
    in_state(queue, second, SweepState.DONE)
    assert queue.get(first.id).state is SweepState.FAILED
    work.stop(60)


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("", None),
        ("{", None),
        ("[1]", None),
        (DONE.said, 0),
        ('{"error": "x", "exit_code": 2}', 2),
        (INTERRUPTED.said, None),
    ],
)
def test_the_code_that_follows_from_what_was_said(said: str, code: int | None) -> None:
    assert told_code(said) == code


def test_a_sweep_that_said_nothing_has_failed() -> None:
    assert outcome(Ended(1, "Traceback")).error == "tuner sweep ended with exit code 1 and said nothing of it"
    assert outcome(Ended(0, '{"fresh": true, "verdict": "do_not"}')).measured is False
