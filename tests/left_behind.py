"""What a test file must not leave to the next one in the same process."""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGCHLD, signal.SIGALRM)
_LIMITS = ("RLIMIT_AS", "RLIMIT_CORE", "RLIMIT_CPU", "RLIMIT_FSIZE", "RLIMIT_NOFILE")
_MAY_CHANGE = ("PYTEST_CURRENT_TEST", "PYTHONBREAKPOINT", "RAY_")
"""Beginnings of names. Ray sets the second in whatever connects to it, and only breakpoint() reads it. Of its own
variables it reads some once in a process: what was set for the first connection has to stay for the next one."""


def process_state() -> dict[str, object]:
    """Return by name what every later test and every child of this process would meet."""
    ray = sys.modules.get("ray")
    return {
        **{f"${name}": value for name, value in os.environ.items() if not name.startswith(_MAY_CHANGE)},
        **{f"handler of {signum.name}": signal.getsignal(signum) for signum in _SIGNALS},
        **{name: resource.getrlimit(getattr(resource, name)) for name in _LIMITS},
        "working directory": str(Path.cwd()),
        "umask": _umask(),
        "CPU affinity": os.sched_getaffinity(0),
        "Ray is connected": ray is not None and bool(ray.is_initialized()),
    }


def differences(before: Mapping[str, object], after: Mapping[str, object]) -> list[str]:
    """Return what changed, one a line."""
    changed = sorted(name for name in {**before, **after} if before.get(name) != after.get(name))
    return [f"{name}: {before.get(name)!r} -> {after.get(name)!r}" for name in changed]


def _umask() -> int:
    umask = os.umask(0o022)
    os.umask(umask)
    return umask
