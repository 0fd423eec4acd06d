"""Connecting to Ray: the cluster behind RAY_ADDRESS, or one of our own that listens on loopback alone."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tuner.errors import PoolError
from tuner.pool.plan import Node

_OBJECT_STORE_BYTES = 256 * 2**20  # results are request samples, a few MB each; the default is 30 % of all memory


@contextmanager
def connected(num_gpus: int | None = None) -> Iterator[tuple[Node, ...]]:
    """Connect to Ray for the length of the block, and yield the nodes that are alive.

    Within another such block, or where this process is connected already, that connection is used and kept.
    num_gpus: GPUs that a cluster of our own says it has, None to detect them.  PoolError if Ray cannot be reached.
    """
    address = os.environ.get("RAY_ADDRESS") or "local"  # never just any cluster that happens to run here
    _quiet_and_private(alone=address == "local")
    import ray

    if ray.is_initialized():
        yield _nodes()
        return
    with _signal_handlers_kept():
        _init(address, num_gpus)
    try:
        yield _nodes()
    finally:
        ray.shutdown()


def own_cluster() -> bool:
    """Whether `connected` will start a cluster of this machine's own: none is named, and none is connected to."""
    ray = sys.modules.get("ray")
    return (os.environ.get("RAY_ADDRESS") or "local") == "local" and not (ray and ray.is_initialized())


def _quiet_and_private(*, alone: bool) -> None:
    """Set what Ray reads from the environment when it is imported."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Else ray.init waits, without limit, for idle workers that nobody asked for: seen to hang on an overloaded host.
    os.environ.setdefault("RAY_prestart_worker_first_driver", "0")
    # Ray's workers are nice 15, and engines inherit it: whatever else runs on the host would slow every measurement.
    os.environ.setdefault("RAY_worker_niceness", "0")
    if alone:
        # Named for another system; on Linux too it is the only switch with which all of Ray's servers bind to
        # 127.0.0.1 instead of every interface.
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")


def _init(address: str, num_gpus: int | None) -> None:
    import ray

    try:
        if address == "local":
            ray.init(
                address,
                num_gpus=num_gpus,
                object_store_memory=_OBJECT_STORE_BYTES,
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
        else:
            ray.init(address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, RuntimeError, ValueError, OSError, ray.exceptions.RayError) as error:
        first = str(error).partition("\n")[0]
        if address == "local":
            raise PoolError(f"Ray did not start: {first}", "Look into /tmp/ray/session_latest/logs.") from error
        hint = "Check `ray status` there, or unset RAY_ADDRESS to use this machine alone."
        raise PoolError(f"no usable Ray cluster at RAY_ADDRESS={address}: {first}", hint) from error


@contextmanager
def _signal_handlers_kept() -> Iterator[None]:
    """Undo what ray.init does to SIGTERM: it would end the process with a status that is not ours."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _nodes() -> tuple[Node, ...]:
    import ray

    return tuple(
        Node(node["NodeID"], node["NodeManagerAddress"], int(node["Resources"].get("GPU", 0)))
        for node in ray.nodes()  # type: ignore[no-untyped-call]
        if node["Alive"]
    )
