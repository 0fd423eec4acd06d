"""A Ray cluster of several nodes on this machine, to lose parts of."""

from __future__ import annotations

import gc
import shutil
import signal
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import Any

import psutil
import pytest
from ray.cluster_utils import Cluster

from tuner.pool.arrival import Needs
from tuner.pool.base import Job
from tuner.pool.cluster import loopback_alone
from tuner.pool.nodes import Nodes
from tuner.pool.plan import Node, Place
from tuner.pool.ray_pool import RayPool

_OBJECT_STORE_BYTES = 80 * 2**20
_TRIES = 3
_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_prestart_worker_first_driver": "0",
    "RAY_worker_niceness": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    # A lost node, which refuses connections, is noticed after 2 s instead of 15; one that is only slow is not lost.
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_timeout_ms": "30000",
    "RAY_health_check_failure_threshold": "4",
}


class SmallCluster:
    """A head without a GPU, and nodes that each say they have one, at addresses of their own as if they were machines.

    nodes: those that run, without the head, in the order in which they were added.
    """

    def __init__(self) -> None:
        self._cluster = Cluster(initialize_head=True, head_node_args=_arguments(gpus=0))
        self.address = str(self._cluster.address)
        self.nodes: list[Any] = []
        self._added = 0

    def add(self, **variables: str) -> Any:
        """Add a node.  variables: of its own environment.

        On a busy machine a daemon may not be known to the head within the 30 s that Ray waits; then there is another.
        """
        for _ in range(_TRIES):
            self._added += 1
            address = f"127.0.0.{1 + self._added}"
            with suppress(Exception):  # Ray raises no other
                node = self._cluster.add_node(**_arguments(gpus=1), node_ip_address=address, env_vars=variables)
                self.nodes.append(node)
                return node
        raise AssertionError(f"no node started in {_TRIES} tries")

    def lose(self, node: Any) -> None:
        """Kill a node's daemon with SIGKILL, so that it can say nothing any more."""
        _kill(node, "raylet")
        self.nodes.remove(node)

    def lose_head(self, *processes: str) -> None:
        """Kill processes of the head ("gcs_server", "raylet") with SIGKILL."""
        for name in processes:
            _kill(self._cluster.head_node, name)

    def restart_head(self) -> None:
        """Kill the head's server with SIGKILL and start another at the same address, at once."""
        head: Any = self._cluster.head_node
        head.kill_gcs_server()
        head.start_gcs_server()

    def engines(self, node: Any | None = None) -> list[psutil.Process]:
        """Return the simulated engines that run on a node, or anywhere."""
        found = []
        for one in [node] if node else [*self.nodes, self._cluster.head_node]:
            with suppress(psutil.NoSuchProcess, KeyError):
                below = psutil.Process(one.all_processes["raylet"][0].process.pid).children(recursive=True)
                found += [process for process in below if "tuner.engine.sim" in _command(process)]
        return found

    def end(self) -> None:
        """End all processes."""
        with suppress(KeyError):
            self._cluster.shutdown()  # type: ignore[no-untyped-call]


@contextmanager
def small_cluster(nodes: int) -> Iterator[SmallCluster]:
    """Start a cluster with so many nodes beside its head, for the length of the block."""
    directory = tempfile.mkdtemp(dir="/tmp", prefix="r")  # paths of sockets have to be short
    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        for name, value in {**_SETTINGS, "RAY_TMPDIR": directory}.items():
            patch.setenv(name, value)
        stack.callback(signal.signal, signal.SIGTERM, signal.getsignal(signal.SIGTERM))  # each node sets Ray's own
        stack.enter_context(loopback_alone())
        cluster = SmallCluster()
        try:
            for _ in range(nodes):
                cluster.add()
            yield cluster
        finally:
            cluster.end()
            shutil.rmtree(directory, ignore_errors=True)
            with warnings.catch_warnings():
                # Ray does not wait for what it ends, which Python reports when it drops the handles.
                warnings.simplefilter("ignore", ResourceWarning)
                gc.collect()


@contextmanager
def worker_on(*nodes: Any, needs: Needs | None = None, more: bool = False) -> Iterator[RayPool]:
    """Open one worker on each of these nodes.  more: also on nodes that join."""
    places = tuple(Place(Node(node.node_id, node.node_ip_address, 1), 1) for node in nodes)
    with closing(RayPool(Nodes(), places, needs or Needs(), None if more else len(places))) as pool:
        yield pool


def outcome(pool: RayPool, job: Job) -> Any:
    """Return what comes of a job."""
    pool.start(0, job)
    results: list[tuple[int, Any]] = []
    while not results:
        results = pool.wait(1.0)
    return results[0][1]


def worker_of(engine: psutil.Process) -> psutil.Process:
    """Return the Ray worker that an engine belongs to."""
    return next(process for process in engine.parents() if process.name().startswith("ray::"))


def speculates_with(engine: psutil.Process, model: str) -> bool:
    """Whether an engine was started with this draft model."""
    return f'"{model}"' in _command(engine)


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def _arguments(gpus: int) -> dict[str, Any]:
    return {
        "num_cpus": 1,
        "num_gpus": gpus,
        "object_store_memory": _OBJECT_STORE_BYTES,
        "include_dashboard": False,
    }


def _kill(node: Any, process: str) -> None:
    for one in node.all_processes[process]:
        one.process.kill()
        one.process.wait()
