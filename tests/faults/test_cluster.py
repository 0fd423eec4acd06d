"""Real Ray on several nodes, and what is left of a sweep when parts of it go."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import ray

from tests.faults.cluster_sweep import View, measured, prepared, says, sweep
from tests.faults.matrix import Group, fault
from tests.faults.ray_cluster import SmallCluster, outcome, small_cluster, speculates_with, worker_of, worker_on
from tuner.engine.resolve import Engine, other_engine_here
from tuner.errors import PoolError
from tuner.pool.arrival import Needs
from tuner.pool.base import Job
from tuner.pool.cluster import connected
from tuner.records import FailureKind, Role
from tuner.trial import lost_worker

GONE_S = 240.0
ENGINE = """#!/bin/sh
cat > /dev/null
echo '{"name": "vllm", "version": "'${VLLM_HERE:-0.32.0}'", "package": true, "python": "3.11"}'
"""


@pytest.fixture(scope="module")
def started() -> Iterator[SmallCluster]:
    with small_cluster(nodes=2) as cluster, connected(cluster.address):
        yield cluster


@pytest.fixture
def cluster(started: SmallCluster) -> SmallCluster:
    """The cluster with two nodes, whatever the last test lost."""
    while len(started.nodes) < 2:
        started.add()
    known_s = time.monotonic() + GONE_S
    nodes: Callable[[], list[dict[str, Any]]] = ray.nodes
    while sum(node["Alive"] for node in nodes()) != len(started.nodes) + 1:  # the head is one
        assert time.monotonic() < known_s, "the head does not notice which nodes are lost"
        time.sleep(0.2)
    return started


@pytest.fixture
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@fault(
    Group.CLUSTER,
    "a node is lost in the middle of a trial, and another one joins",
    sees="`worker lost on ...: its node was lost`, then `a worker joined: ...`; the trial runs again on another node",
    keeps="every finished trial; the new node's trials count against a baseline of its own device",
)
def test_a_sweep_goes_on_with_the_nodes_that_are_left_and_those_that_join(
    cluster: SmallCluster, workshop: Path
) -> None:
    lost = cluster.nodes[0]
    engines: list[psutil.Process] = []

    def lose_it() -> None:
        speculating = [engine for engine in cluster.engines(lost) if speculates_with(engine, "good")]
        if not engines and speculating:
            engines.extend(cluster.engines(lost))
            cluster.lose(lost)
            cluster.add()

    view = View(act=lose_it)
    result = sweep(prepared(good="1, 2, 3, 4, 5"), view)
    assert engines and not psutil.wait_procs(engines, GONE_S)[1], "the engine on the lost node went with it"
    assert measured(view) == [*(f"good K={k}" for k in range(1, 6)), "weak K=2"], "\n".join(view.messages)
    assert says(view, "was lost: ")  # by its node, or where that is not known yet by what Ray says of the worker
    assert says(view, "a worker joined: ")
    roles: dict[str, list[Role]] = {}
    for record in view.done:
        roles.setdefault(record.worker.device_key, []).append(record.role)
    assert len(roles) == 3
    assert all(of_device[0] is Role.BASELINE for of_device in roles.values())
    assert sum(Role.CANDIDATE in of_device for of_device in roles.values()) >= 2
    assert result.report.findings.answers[0].best.draft_name == "good"


@fault(
    Group.CLUSTER,
    "a worker process is killed in the middle of a trial",
    sees="`worker lost on ...`; the trial runs again, twice at most, then it failed as `worker_lost`",
    keeps="every other trial; the next call tries the failed one again",
)
def test_a_trial_whose_worker_is_killed_runs_again_twice_at_most(cluster: SmallCluster, workshop: Path) -> None:
    killed: dict[str, list[int]] = {"good": [], "weak": []}
    ended: list[psutil.Process] = []

    def kill() -> None:
        for engine in cluster.engines():
            for draft, most in (("good", 1), ("weak", 99)):
                if speculates_with(engine, draft) and len(killed[draft]) < most and engine.pid not in killed[draft]:
                    killed[draft].append(engine.pid)
                    ended.append(engine)
                    worker_of(engine).kill()

    view = View(act=kill)
    sweep(prepared(good="3"), view)
    assert measured(view) == ["good K=3"]
    (failed,) = [record for record in view.done if record.failure]
    assert failed.candidate.label == "weak K=2"
    assert failed.failure is not None and failed.failure.kind is FailureKind.WORKER_LOST
    assert failed.failure.code == "worker_lost"
    begun = [message.split(": ", 1)[1] for message in view.messages if message.startswith("trial ")]
    assert (begun.count("weak K=2 (candidate)"), begun.count("good K=3 (candidate)")) == (3, 2)
    assert not psutil.wait_procs(ended, GONE_S)[1], "no engine outlives its worker"


@fault(
    Group.CLUSTER,
    "all nodes are lost",
    sees="`no worker is left; of the last one: ...`, that its node was lost or has died, exit code 3",
    keeps="every finished trial: the same command goes on once there are nodes",
)
def test_without_any_node_a_sweep_ends_at_once_and_goes_on_when_there_are_some(
    cluster: SmallCluster, workshop: Path
) -> None:
    def lose_all() -> None:
        if measured(view) and any(cluster.engines(node) for node in cluster.nodes):
            for node in list(cluster.nodes):
                cluster.lose(node)

    view = View(act=lose_all)
    inputs = prepared(good="1, 2, 3")
    # The last worker may be one that was about to start, of which Ray says the second.
    with pytest.raises(PoolError, match=r"no worker is left; .*( was lost|its node has died)") as raised:
        sweep(inputs, view)
    assert raised.value.exit_code == 3
    assert "finished trials are kept" in raised.value.next_step
    cluster.add()
    again = View()
    sweep(inputs, again)
    assert set(measured(view)).isdisjoint(measured(again))
    assert sorted(measured(view) + measured(again)) == ["good K=1", "good K=2", "good K=3", "weak K=2"]


# ---- one worker, on one node


def sleeps(seconds: float) -> Job:
    def job(worker: object, report: Callable[[str], None]) -> str:
        time.sleep(seconds)
        return "slept"

    return job


@fault(
    Group.CLUSTER,
    "Ray's memory monitor kills a worker",
    sees="`Ray's memory monitor ended ... at 2.34 of 23.54 GB`, class `killed_by_ray`, with what to lower",
    keeps="every other trial; this one runs again, twice at most",
)
def test_a_worker_that_rays_memory_monitor_kills_is_told_as_that(cluster: SmallCluster) -> None:
    node = cluster.add(RAY_memory_usage_threshold="0.01", RAY_memory_monitor_refresh_ms="6000")
    error: Any = None
    try:
        while not isinstance(error, PoolError):  # it may also be killed before it has a job
            with worker_on(node) as pool:
                error = outcome(pool, sleeps(60))
    except PoolError as early:
        error = early
    finally:
        cluster.lose(node)
    failure = lost_worker(error)
    assert failure.code == "killed_by_ray"
    assert " GB: the host's memory ran out" in failure.what
    assert "--max-workers" in failure.advice


@fault(
    Group.CLUSTER,
    "a result fits neither Ray's object store nor the disk behind it",
    sees="`the result of the worker on ... could not be sent: ...`, class `object_store_full`, with what to free",
    keeps="the worker and every other trial; this one runs again, twice at most",
)
def test_a_result_that_does_not_fit_costs_its_trial_and_not_the_worker(cluster: SmallCluster) -> None:
    def returns_much(worker: object, report: Callable[[str], None]) -> Any:
        return np.ones(120 * 2**20, dtype="u1")

    node = cluster.add(RAY_local_fs_capacity_threshold="0.0001")
    try:
        with worker_on(node) as pool:
            error = outcome(pool, returns_much)
            assert outcome(pool, sleeps(0)) == "slept"
    finally:
        cluster.lose(node)
    assert isinstance(error, PoolError)
    failure = lost_worker(error)
    assert failure.code == "object_store_full"
    assert "object_store_memory" in failure.advice or "object-store-memory" in failure.advice


@fault(
    Group.CLUSTER,
    "a node has another vLLM",
    sees="`HOST: its engine ... is vllm==0.31.0, not vllm==0.32.0`: exit code 3, or a note where the node joins later",
    keeps="figures of two engines apart: nothing is measured on that node",
)
def test_a_node_with_another_engine_is_not_used(cluster: SmallCluster, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(ENGINE)
    python.chmod(0o755)
    engine = Engine("vllm", str(python), "0.32.0", "cuda", wheel="vllm==0.32.0")
    needs = Needs([str(python)], partial(other_engine_here, engine))
    words = "is vllm==0.31.0, not vllm==0.32.0"
    with worker_on(cluster.nodes[0], needs=needs, more=True) as pool:
        pool.start(0, sleeps(600))
        node = cluster.add(VLLM_HERE="0.31.0")
        deadline_s = time.monotonic() + GONE_S
        while not pool.notes and time.monotonic() < deadline_s:
            pool.wait(0.5)
        assert any("is not used" in note and words in note for note in pool.notes)
        assert len(pool.workers) == 1
    try:
        with pytest.raises(PoolError, match=words), worker_on(node, needs=needs):
            pass
    finally:
        cluster.lose(node)


SECOND = """
import sys
from tuner.errors import PoolError
from tuner.pool.arrival import Needs
from tuner.pool.ray_pool import ray_pool
try:
    needs = Needs(ready_s=float(sys.argv[1]))
    with ray_pool("cluster", gpus_per_worker=1, max_workers=None, needs=needs) as pool:
        print(len(pool.workers), *pool.notes)
except PoolError as error:
    print(error.message)
"""


@fault(
    Group.CLUSTER,
    "a second driver comes to the same cluster",
    sees="it takes the GPUs that are free; without one `no worker was started within 120 s: the cluster is busy`",
    keeps="the first sweep undisturbed: a GPU is given to one of them",
)
def test_a_second_driver_gets_what_the_first_leaves(cluster: SmallCluster) -> None:
    def second(ready_s: int) -> str:
        env = {**os.environ, "RAY_ADDRESS": cluster.address}
        command = [sys.executable, "-c", SECOND, str(ready_s)]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout

    with worker_on(*cluster.nodes):
        assert "no worker was started within 5 s: the cluster is busy" in second(5)
    with worker_on(cluster.nodes[0]):
        told = second(20)  # in which the one that gets a GPU has to be there, however busy this machine is
        assert told.startswith("1 ")
        assert "1 of them in use by others" in told
        assert "1 of 2 workers got no GPU within 20 s and are left out" in told
