import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.faults.matrix import Group, fault
from tuner.errors import OutputError
from tuner.service.allowed import Order
from tuner.service.problems import Refused
from tuner.service.queue.sweeps import Outcome, SweepState
from tuner.service.queue.waiting import MOST_WAITING, SWEEPS, Waiting

ONE, OTHER = (Order(target=target, space="tiny", engine="sim") for target in ("one", "other"))


class Clock:
    """Every look is a millisecond later, so that several sweeps share a second."""

    def __init__(self) -> None:
        self.now = datetime(2026, 12, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(milliseconds=1)
        return self.now


def opened(root: Path) -> Waiting:
    return Waiting(root, Clock())


def test_sweeps_wait_in_the_order_in_which_they_came_also_for_the_next_server(tmp_path: Path) -> None:
    queue = opened(tmp_path)
    orders = [Order(target=f"t{number}", space="tiny", engine="sim") for number in range(8)]
    ids = [queue.add(order, "ci")[0].id for order in orders]
    queue.close()
    queue = opened(tmp_path)
    assert [sweep.id for sweep in queue.newest_first()] == ids[::-1]
    for expected in ids:
        sweep = queue.next()
        assert sweep is not None and sweep.id == expected
        queue.ended(sweep.id, SweepState.DONE, Outcome(exit_code=0))
    assert queue.next() is None


def test_what_ran_when_the_server_ended_comes_first(tmp_path: Path) -> None:
    queue = opened(tmp_path)
    first, second = (queue.add(order, "ci")[0] for order in (ONE, OTHER))
    queue.started(second.id, 17, 1.5)
    queue.close()
    found = opened(tmp_path).next()
    assert found is not None
    assert (found.id, found.pid, found.began_s, found.state) == (second.id, 17, 1.5, SweepState.RUNNING)
    assert first.id != found.id


def test_the_same_order_is_not_queued_twice_and_one_that_failed_is_gone_on_with(tmp_path: Path) -> None:
    queue = opened(tmp_path)
    first, is_new = queue.add(ONE, "ci")
    assert is_new
    assert queue.add(ONE, "me") == (first, False)
    assert queue.add(OTHER, "ci")[1]
    queue.ended(first.id, SweepState.FAILED, Outcome(exit_code=3))
    second, is_new = queue.add(ONE, "ci")
    assert (is_new, second.run) == (True, first.run)
    assert not queue.has_its_run(queue.get(first.id)) and queue.has_its_run(second)
    queue.ended(second.id, SweepState.DONE, Outcome(exit_code=0))
    third, _ = queue.add(ONE, "ci")
    assert third.run == third.id


def test_one_that_waits_is_cancelled_at_once_and_one_that_runs_when_it_has_stopped(tmp_path: Path) -> None:
    queue = opened(tmp_path)
    waits, runs = (queue.add(order, "ci")[0] for order in (ONE, OTHER))
    assert queue.cancel(waits.id, "me").state is SweepState.CANCELLED
    queue.started(runs.id, 17, 1.5)
    stopping = queue.cancel(runs.id, "me")
    assert (stopping.state, stopping.cancelled_by) == (SweepState.RUNNING, "me")
    assert queue.cancel(runs.id, "other").cancelled_by == "me"
    assert queue.add(OTHER, "ci")[1]  # the one that is stopping is not the one that is asked for
    with pytest.raises(Refused, match="cancelled already"):
        queue.cancel(waits.id, "me")


def test_a_full_queue_refuses_and_says_when_to_come_again(tmp_path: Path) -> None:
    queue = opened(tmp_path)
    for number in range(MOST_WAITING):
        queue.add(Order(target=f"t{number}", space="tiny", engine="sim"), "ci")
    with pytest.raises(Refused) as refused:
        queue.add(ONE, "ci")
    assert (refused.value.problem.status, "Retry-After" in refused.value.headers) == (429, True)
    assert queue.counts() == {SweepState.QUEUED: MOST_WAITING}


@fault(
    Group.SHARED,
    "two `tuner serve` use one --state",
    sees="The second says that another one uses it, and ends.",
    keeps="The queue of the first.",
)
def test_a_second_server_is_refused(tmp_path: Path) -> None:
    queue = opened(tmp_path)
    with pytest.raises(OutputError, match="another `tuner serve` uses"):
        opened(tmp_path)
    queue.close()
    opened(tmp_path).close()


@fault(
    Group.CORRUPTION,
    "a file of the queue of `tuner serve` is cut off, or not its own",
    sees="A line of the log: which file, why, and where it is now.",
    keeps="Every other sweep of the queue; the file, in quarantine/.",
)
@pytest.mark.parametrize("damage", ["", "{", "null", '{"id": "x"}', "other"])
def test_a_damaged_file_is_set_aside(tmp_path: Path, damage: str) -> None:
    queue = opened(tmp_path)
    kept, broken = (queue.add(order, "ci")[0] for order in (ONE, OTHER))
    queue.close()
    file = tmp_path / SWEEPS / f"{broken.id}.json"
    file.write_text((tmp_path / SWEEPS / f"{kept.id}.json").read_text() if damage == "other" else damage)
    queue = opened(tmp_path)
    assert [sweep.id for sweep in queue.newest_first()] == [kept.id]
    (told,) = queue.set_aside
    assert file.name in told and "quarantine" in told and not file.exists()


@fault(
    Group.MACHINE,
    "the disk of `tuner serve` is full when a sweep is asked for",
    sees="503, that the queue cannot be written.",
    keeps="The queue as it was, on the disk and in the answers.",
)
def test_a_disk_that_is_full_leaves_the_queue_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = opened(tmp_path)
    first = queue.add(ONE, "ci")[0]

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tuner.store.files.os.replace", full)
    with pytest.raises(OutputError, match="No space left"):
        queue.add(OTHER, "ci")
    with pytest.raises(OutputError, match="No space left"):
        queue.cancel(first.id, "me")
    assert [(sweep.id, sweep.state) for sweep in queue.newest_first()] == [(first.id, SweepState.QUEUED)]
    assert [json.loads(file.read_text())["state"] for file in (tmp_path / SWEEPS).iterdir()] == ["queued"]


def test_a_directory_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be used"):
        opened(tmp_path / "file")
