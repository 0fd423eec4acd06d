"""Connecting to Ray: the cluster behind RAY_ADDRESS, or one of our own that listens on loopback alone."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from tuner.errors import InputError, PoolError
from tuner.pool.nodes import Nodes, answers
from tuner.pool.ray_files import ray_files

LOCAL = "local"
_OBJECT_STORE_BYTES = 256 * 2**20  # results are request samples, a few MB each; the default is 30 % of all memory
_BEYOND_LOOPBACK = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
_JOB_VARIABLE = "RAY_JOB_CONFIG_JSON_ENV_VAR"
"""Set by Ray for a command that was submitted to its cluster as a job."""


def address_for(kind: Literal["ray", "cluster"]) -> str:
    """Return where to connect to: RAY_ADDRESS if the cluster there was asked for, else LOCAL.

    A variable that some other work needs must not send engines to machines that others use: RAY_ADDRESS alone asks for
    nothing. InputError: it is set and the cluster was not asked for, or the other way around.
    """
    named = os.environ.get("RAY_ADDRESS") or LOCAL
    if kind == "cluster" and named == LOCAL:
        step = "Set it (export RAY_ADDRESS=HOST:6379, or auto for the one that runs here), or leave --pool out."
        raise InputError("--pool cluster: RAY_ADDRESS names no cluster.", step)
    if kind == "ray" and named != LOCAL and _JOB_VARIABLE not in os.environ:
        step = "Add --pool cluster to measure on its nodes, or unset RAY_ADDRESS to use this machine alone."
        raise InputError(f"RAY_ADDRESS={named} names a Ray cluster, and this command did not ask for one.", step)
    return named


def endpoint(address: str) -> tuple[str, int] | None:
    """Return host and port of a RAY_ADDRESS; None where it names none ("auto", "local", "") or is malformed."""
    if address in ("", "auto", LOCAL):
        return None
    try:
        parts = urlsplit(address if "://" in address else f"ray://{address}")
        return (parts.hostname, parts.port) if parts.hostname and parts.port else None
    except ValueError:
        return None


@contextmanager
def connected(address: str = LOCAL, num_gpus: int | None = None) -> Iterator[Nodes]:
    """Connect to Ray for the length of the block, and yield its nodes.

    Within another such block, or where this process is connected already, that connection is used and kept.
    address: as Ray reads it, LOCAL for a cluster of our own.  num_gpus: GPUs that a cluster of our own says it has,
    None to detect them.  PoolError if Ray cannot be reached.
    """
    _quiet_and_private(alone=address == LOCAL)
    import ray

    if ray.is_initialized():
        yield Nodes()
        return
    alone = address == LOCAL
    with ray_files() if alone else nullcontext() as files:
        with loopback_alone() if alone else nullcontext(), _signal_handlers_kept():
            _init(address, num_gpus, files)
        _hush_reports()
        try:
            yield Nodes()
        finally:
            ray.shutdown()


def already_connected() -> bool:
    """Whether this process has a connection, which `connected` will use whatever the address."""
    ray = sys.modules.get("ray")
    return bool(ray and ray.is_initialized())


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
        os.environ.setdefault(_BEYOND_LOOPBACK, "0")


@contextmanager
def loopback_alone() -> Iterator[None]:
    """Let what Ray starts in this block listen at 127.0.0.1 alone, also where somebody imported Ray before us.

    Ray's servers read the switch when they start, its Python part once, when it is imported.
    """
    from ray._private import ray_constants

    before = ray_constants.ENABLE_RAY_CLUSTER
    ray_constants.ENABLE_RAY_CLUSTER = os.environ.get(_BEYOND_LOOPBACK, "0").lower() in ("1", "true")  # as Ray reads it
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = before


def _init(address: str, num_gpus: int | None, files: Path | None) -> None:
    import ray

    head = endpoint(address)
    if head is not None and not answers(head):  # Ray itself would try for a minute
        raise _unusable(address, "nothing answers there")
    try:
        if address == LOCAL:
            ray.init(
                address,
                num_gpus=num_gpus,
                object_store_memory=_OBJECT_STORE_BYTES,
                _temp_dir=str(files),
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
        else:
            ray.init(address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, RuntimeError, ValueError, OSError, ray.exceptions.RayError) as error:
        first = str(error).partition("\n")[0]
        if address == LOCAL:
            raise PoolError(f"Ray did not start: {first}", f"Look into {files}/session_latest/logs.") from error
        raise _unusable(address, first) from error


def _unusable(address: str, why: str) -> PoolError:
    hint = "Check `ray status` there, or unset RAY_ADDRESS to use this machine alone."
    return PoolError(f"no usable Ray cluster at RAY_ADDRESS={address}: {why}", hint)


def _hush_reports() -> None:
    """Keep Ray from printing a page of a lost node's log on standard output: a sweep says in a line that it is lost."""
    from ray._private import worker

    worker.print_to_stdstream = lambda *_, **__: None


@contextmanager
def _signal_handlers_kept() -> Iterator[None]:
    """Undo what ray.init does to SIGTERM: it would end the process with a status that is not ours."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    except SystemExit:  # Ray's answer to a SIGTERM that came meanwhile, which is for our own handler
        signal.signal(signal.SIGTERM, before)
        signal.raise_signal(signal.SIGTERM)
        raise
    finally:
        signal.signal(signal.SIGTERM, before)
