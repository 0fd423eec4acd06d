"""Reads what Ray would find here. Nothing is started unless it is asked for."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

import psutil

from tuner.doctor.facts import RayFacts
from tuner.pool.cluster import endpoint
from tuner.pool.nodes import answers

SCRIPT = Path(__file__).parent.parent / "scripts" / "start_ray.py"
DAEMONS = frozenset({"raylet", "gcs_server"})
_END_S = 5.0


def ray_facts(env: Mapping[str, str], start_timeout_s: float | None) -> RayFacts:
    """Return what there is of Ray.  start_timeout_s: start a local one, and give it so long; None to start none."""
    address = env.get("RAY_ADDRESS", "")
    started_s, problem = (None, "") if start_timeout_s is None else _start(start_timeout_s)
    return RayFacts(
        version=_version(),
        address=address,
        reached=_reached(address),
        auth_mode=env.get("RAY_AUTH_MODE", ""),
        has_token=_has_token(env),
        running=tuple(process.pid for process in psutil.process_iter(["name"]) if process.info["name"] in DAEMONS),
        started_s=started_s,
        problem=problem,
    )


def _version() -> str | None:
    try:
        return metadata.version("ray")
    except metadata.PackageNotFoundError:
        return None


def _reached(address: str) -> bool | None:
    if address in ("", "auto", "local"):
        return None
    named = endpoint(address)
    return named is not None and answers(named)


def _has_token(env: Mapping[str, str]) -> bool:
    if env.get("RAY_AUTH_TOKEN"):
        return True
    named = env.get("RAY_AUTH_TOKEN_PATH")
    return Path(named or "~/.ray/auth_token").expanduser().is_file()


def _start(timeout_s: float) -> tuple[float | None, str]:
    """Start and end a Ray of our own in a process of its own; return the seconds it took, or why it did not start."""
    env = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    began_s = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, str(SCRIPT)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=env,
        start_new_session=True,
    )
    try:
        out = process.communicate(timeout=timeout_s)[0].decode(errors="replace").splitlines()
    except subprocess.TimeoutExpired:
        _end(process)
        return None, f"it did not start within {time.monotonic() - began_s:.0f} s"
    try:
        answer = json.loads(out[-1])
        return (None, str(answer["problem"])) if "problem" in answer else (float(answer["started_s"]), "")
    except (IndexError, ValueError, KeyError):
        return None, f"the attempt ended with exit code {process.returncode}"


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the attempt and Ray's daemons below it, which follow their driver."""
    tree = [*psutil.Process(process.pid).children(recursive=True)]
    process.send_signal(signal.SIGTERM)
    try:
        process.communicate(timeout=_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
    for left in psutil.wait_procs(tree, timeout=_END_S)[1]:
        left.kill()
