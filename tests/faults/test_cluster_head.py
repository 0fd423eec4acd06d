"""The cluster that a command is to use does not answer, was not asked for, or loses its head."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.faults.cluster_sweep import prepared
from tests.faults.matrix import Group, fault
from tests.faults.ray_cluster import SmallCluster, small_cluster, worker_of

GONE_S = 240.0


@pytest.fixture
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tuner(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tuner", "sweep", "any", "--engine", "sim:sim.yaml", "--space", "space.yaml"]
    return subprocess.run(
        [*command, "--no-registry", "--quiet", *arguments],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=GONE_S,
        check=False,
    )


@fault(
    Group.CLUSTER,
    "RAY_ADDRESS names a cluster that nobody asked for, or one that does not answer",
    sees="exit code 2 and `Add --pool cluster ...`; with it exit code 3 and `nothing answers there`, within seconds",
    keeps="that cluster as it is: nothing is started there",
)
def test_a_cluster_is_used_only_if_it_is_asked_for_and_answers(workshop: Path) -> None:
    prepared()
    unasked = tuner("--pool", "ray", RAY_ADDRESS="127.0.0.1:9")
    assert unasked.returncode == 2
    assert "RAY_ADDRESS=127.0.0.1:9 names a Ray cluster" in unasked.stderr
    assert "--pool cluster" in unasked.stderr
    silent = tuner("--pool", "cluster", RAY_ADDRESS="127.0.0.1:9")
    assert silent.returncode == 3
    assert "no usable Ray cluster at RAY_ADDRESS=127.0.0.1:9: nothing answers there" in silent.stderr
    unnamed = tuner("--pool", "cluster", RAY_ADDRESS="")
    assert (unnamed.returncode, "RAY_ADDRESS names no cluster" in unnamed.stderr) == (2, True)
    assert not any("Traceback" in done.stderr for done in (unasked, silent, unnamed))


@contextmanager
def sweeping(address: str) -> Iterator[subprocess.Popen[str]]:
    """Start a sweep on the cluster, one engine a node."""
    command = [sys.executable, "-m", "tuner", "sweep", "any", "--engine", "sim:sim.yaml", "--space", "space.yaml"]
    with subprocess.Popen(
        [*command, "--no-registry", "--pool", "cluster"],
        env={**os.environ, "RAY_ADDRESS": address},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as driver:
        try:
            yield driver
        finally:
            driver.kill()


def both_engines(cluster: SmallCluster) -> list[psutil.Process]:
    """Return the engines once there is one on the head and one on the node."""
    deadline_s = time.monotonic() + GONE_S
    while len(engines := cluster.engines()) < 2:
        assert time.monotonic() < deadline_s
        time.sleep(0.2)
    return engines


def first_record(workshop: Path) -> Path:
    """Return the first record that a sweep writes below there, once it has."""
    deadline_s = time.monotonic() + 90
    while not (records := list(workshop.glob("runs/*/*/trials/*/record.json"))):
        assert time.monotonic() < deadline_s
        time.sleep(0.2)
    return records[0]


def ends_with_one_message(driver: subprocess.Popen[str], processes: Sequence[psutil.Process]) -> str:
    """Return what a sweep says that cannot go on; neither a stack nor any of these processes is left of it."""
    said = "".join(driver.communicate(timeout=GONE_S))
    assert driver.returncode == 3
    assert "Traceback" not in said and "Stack" not in said
    assert not psutil.wait_procs(processes, GONE_S)[1]
    return said


@fault(
    Group.CLUSTER,
    "the head is lost",
    sees="`error: the Ray head at ... does not answer any more` within 15 s, exit code 3, and how to go on",
    keeps="every finished trial; no engine and no worker is left on any node",
)
def test_a_lost_head_ends_the_sweep_with_one_message_and_no_engine_is_left(
    workshop: Path,
) -> None:
    prepared(good=", ".join(map(str, range(1, 30))))
    with small_cluster(nodes=1) as cluster, sweeping(cluster.address) as driver:
        engines = both_engines(cluster)
        workers = [worker_of(engine) for engine in engines]
        cluster.lose_head("gcs_server")
        said = ends_with_one_message(driver, [*engines, *workers])
        assert f"error: the Ray head at {cluster.address} does not answer any more" in said
        assert "call the same command: finished trials are kept" in said


@fault(
    Group.CLUSTER,
    "the head is lost and started again at once, at the same address",
    sees="`error: the Ray head at ... was restarted and does not know this sweep`, exit code 3, and how to go on",
    keeps="every finished trial; no engine and no worker is left on any node",
)
def test_a_restarted_head_ends_the_sweep_as_a_lost_one_does(workshop: Path) -> None:
    prepared(good=", ".join(map(str, range(1, 30))))
    with small_cluster(nodes=1) as cluster, sweeping(cluster.address) as driver:
        kept = first_record(workshop)
        engines = both_engines(cluster)
        workers = [worker_of(engine) for engine in engines]
        before = kept.read_bytes()
        cluster.restart_head()
        said = ends_with_one_message(driver, [*engines, *workers])
        assert f"error: the Ray head at {cluster.address} was restarted and does not know this sweep" in said
        assert "call the same command: finished trials are kept" in said
    assert kept.read_bytes() == before


@fault(
    Group.CLUSTER,
    "Ray's daemon on the driver's own node is lost",
    sees="`error: the Ray node that this command is connected to was lost`, exit code 3, and how to go on",
    keeps="every finished trial; no engine is left on any node",
)
def test_a_lost_daemon_of_the_drivers_own_node_ends_the_sweep_too(workshop: Path) -> None:
    prepared(good=", ".join(map(str, range(1, 30))))
    with small_cluster(nodes=1) as cluster, sweeping(cluster.address) as driver:
        engines = both_engines(cluster)
        cluster.lose_head("raylet")
        said = ends_with_one_message(driver, engines)
        assert "error: the Ray node that this command is connected to was lost" in said
