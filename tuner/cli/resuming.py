"""The command that goes on with what was interrupted, as it can be pasted into the same terminal."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

_KEPT = ("CUDA_VISIBLE_DEVICES", "RAY_ADDRESS", "TUNER_REGISTRY")
"""Variables that decide where a sweep runs and is kept; it may have been given them for this one command."""
_HIDDEN = "***"


def resume_command(arguments: Sequence[str], env: Mapping[str, str] = os.environ, program: str | None = None) -> str:
    """Return a shell command that does the same again, with the variables that shape the sweep.

    A password in it is hidden, and it says so.  program: how this process was called, None for sys.argv[0].
    """
    from tuner.engine.environment import shaping_env
    from tuner.records.redaction import without_credentials

    shaping = {**{name: env[name] for name in _KEPT if name in env}, **shaping_env(env, {})}
    settings = [f"{name}={shlex.quote(without_credentials(value))}" for name, value in sorted(shaping.items())]
    called = _called(sys.argv[0] if program is None else program)
    command = " ".join([*settings, shlex.join([*called, *map(without_credentials, arguments)])])
    return command + ("  # with the password in place of ***" if _HIDDEN in command else "")


def _called(program: str) -> tuple[str, ...]:
    path, found = Path(program), shutil.which("tuner")
    if path.name == "__main__.py":
        return (sys.executable, "-m", "tuner")
    if found is not None and path.exists() and Path(found).samefile(path):
        return ("tuner",)
    return (program,) if path.exists() else ("tuner",)
