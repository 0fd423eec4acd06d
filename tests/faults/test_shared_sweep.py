"""Two sweeps at once: in one run directory, on one device."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from tests.faults.driver_sweep import Place
from tests.faults.matrix import Group, fault
from tuner.device_lock import descriptors, release, this_process
from tuner.pool import LocalPool
from tuner.pool.alone import Alone, giving_back, lock_names, with_devices
from tuner.records import WorkerFacts

ME = this_process("tuner sweep mine")
HOLDS = """
import sys
from tuner.device_lock import take, this_process
assert take(sys.argv[1:], this_process("tuner sweep theirs")) is None
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def workers() -> Iterator[tuple[WorkerFacts, ...]]:
    """Two workers on devices that no other test or sweep of this machine knows."""
    yield tuple(WorkerFacts(f"host/GPU-{uuid4()}", "GPU", "host", (str(i),), (0,)) for i in range(2))
    release()


def their_sweep(*devices: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", HOLDS, *devices]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline()
    return process


@fault(
    Group.SHARED,
    "a second sweep in the same run directory",
    sees="it is refused with exit code 2 before anything starts; process, host, user, start and command of the first",
    keeps="the first is not disturbed",
)
def test_a_second_sweep_in_a_run_directory_is_refused(tmp_path: Path) -> None:
    place = Place(tmp_path / "place", lives=1, step_s=2.0)  # the first one outlasts the start of the second
    first = place.start()
    assert first.says("trial 0")
    second = place.start()
    assert second.ends() == 2
    told = json.loads(second.out)
    assert f"process {first.process.pid} on {ME.host} (user {ME.user}, since 20" in told["error"]
    assert "tuner sweep any" in told["error"]
    assert told["exit_code"] == 2 and told["next_step"]
    first.process.kill()
    first.process.wait()
    assert place.left()[1] == []


@fault(
    Group.SHARED,
    "a second sweep on the same device, of any user or checkout",
    sees="it waits, and says for whom: process, host, user, start and command",
    keeps="neither measures while the other does",
)
def test_a_second_sweep_on_a_device_waits(workers: tuple[WorkerFacts, ...]) -> None:
    (theirs,) = lock_names(workers[1])
    other = their_sweep(theirs)
    said: list[str] = []
    waits = threading.Event()

    def on_wait(words: str) -> None:
        assert descriptors() == (), "while it waits it keeps nothing that others may wait for"
        said.append(words)
        waits.set()

    def ends_theirs() -> None:
        waits.wait(240)
        other.communicate(timeout=240)

    ending = threading.Thread(target=ends_theirs)
    ending.start()
    pool = LocalPool(workers)
    with giving_back():
        ours = with_devices(pool, Alone(ME, on_wait))
        ending.join()
        assert len(descriptors()) == 2
        ours.start(0, lambda facts, report: facts.device_key)
        assert ours.wait(240.0) == [(0, workers[0].device_key)]
        ours.close()
    assert descriptors() == ()
    (words, *_) = said
    assert words.startswith(f"waiting: {theirs} is used by process {other.pid} on {ME.host} (user {ME.user}, since 20")
    assert words.endswith("tuner sweep theirs. This sweep begins when that ends.")


def test_who_asks_a_device_by_which_name() -> None:
    facts = WorkerFacts("node/GPU-b+MIG-GPU-a/1/0", "2 x GPU", "node", ("0", "1"), (0,))
    assert lock_names(facts) == ("GPU-b", "MIG-GPU-a/1/0")
    assert lock_names(replace(facts, device_key="node/cpu-4", gpu_ids=())) == ("cpu",)
