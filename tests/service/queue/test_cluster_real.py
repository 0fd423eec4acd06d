"""Sweeps as Ray jobs of a real cluster: they go on when the server ends, and stop when they are cancelled."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest

from tests.faults.matrix import Group, fault
from tests.service.conftest import ORDER, write_setup
from tests.service.running import Server, until
from tuner.errors import PoolError
from tuner.pool.jobs import JobState, RayJobs

DASHBOARD_NEEDS = ("aiohttp_cors", "colorful", "opencensus", "smart_open", "virtualenv")
missing = [name for name in DASHBOARD_NEEDS if find_spec(name) is None]
pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(
        bool(missing), reason=f"this Ray has no jobs: pip install 'ray[default]' ({', '.join(missing)})"
    ),
]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """Yield the address of the dashboard of a cluster of our own."""
    place, port = tempfile.mkdtemp(prefix="ray-", dir="/tmp"), free_port()  # Ray's sockets need a short path
    options = {
        "node-ip-address": "127.0.0.1",
        "port": free_port(),
        "dashboard-host": "127.0.0.1",
        "dashboard-port": port,
        "num-cpus": 2,
        "object-store-memory": 100_000_000,
        "temp-dir": place,
    }
    ray = str(Path(sys.executable).parent / "ray")
    command = [ray, "start", "--head", "--block", "--disable-usage-stats", *(f"--{k}={v}" for k, v in options.items())]
    # Ray asks for a token where it finds one in the home directory.
    environ = {**os.environ, "RAY_AUTH_MODE": "disabled"}
    head = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environ)
    try:
        until(lambda: answers(f"http://127.0.0.1:{port}"))
        yield f"http://127.0.0.1:{port}"
    finally:
        family = [*psutil.Process(head.pid).children(recursive=True)]
        head.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            head.wait(30)
        for left in psutil.wait_procs(family, timeout=10)[1]:
            left.kill()
        shutil.rmtree(place, ignore_errors=True)


def answers(address: str) -> bool:
    try:
        return RayJobs(address).state("none") is None
    except PoolError:
        return False


@fault(
    Group.CLUSTER,
    "`tuner serve` ends while its sweep runs as a Ray job",
    sees="The next server takes the job over.",
    keeps="The job goes on; nothing is measured twice.",
)
def test_a_job_goes_on_without_the_server(cluster: str, tmp_path: Path) -> None:
    options = {**write_setup(tmp_path), "engine": "sim", "ray_jobs": cluster}
    server = Server(options, tmp_path / "serve.log")
    place = server.order(**ORDER)
    job = f"tuner-{place.rpartition('/')[2]}-1"
    until(lambda: server.json(place)["progress"])
    assert server.end() == 128 + signal.SIGTERM
    assert RayJobs(cluster).state(job) == JobState()
    server = Server(options, tmp_path / "serve.log")
    done = server.when(place, "done", "failed")
    assert (done["state"], done["outcome"]["measured"]) == ("done", True), done
    assert RayJobs(cluster).state(job) == JobState(exit_code=0)
    assert server.json("/v1/targets")["targets"][0]["freshness"]["state"] == "fresh"

    place = server.order(**{**ORDER, "space": "tiny"})
    until(lambda: (server.json(place)["progress"] or {}).get("workers"))
    server.ask("DELETE", place)
    assert server.when(place, "cancelled", "failed", "done")["state"] == "cancelled"
    assert "Finished trials are kept" in RayJobs(cluster).output(f"tuner-{place.rpartition('/')[2]}-1")
    server.end()


def test_a_cluster_that_is_not_there_is_told() -> None:
    with pytest.raises(PoolError, match="cannot be reached"):
        RayJobs("http://127.0.0.1:9").state("x")
