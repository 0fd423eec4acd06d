"""The command that starts an engine from a serve file."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from tuner.records import RunManifest, TrialRecord

MODULE = "vllm.entrypoints.openai.api_server"
ANY_PYTHON = "python"
"""Where a file may be read on another machine: which Python has vLLM there is not known."""


def measured_python(records: Iterable[TrialRecord]) -> str:
    """Return the Python that the engine was measured with, ANY_PYTHON where no record has it."""
    commands = (record.engine.command for record in records if record.engine is not None)
    return next((command[0] for command in commands if command[1:3] == ("-m", MODULE)), ANY_PYTHON)


def start_command(manifest: RunManifest, config: str, python: str = ANY_PYTHON) -> str:
    """Return it for a shell.  config: the file.  python: the one that has vLLM.

    The CPU build's `vllm serve` does not start; the module does.
    """
    engine = f"{shlex.quote(python)} -m {MODULE}" if manifest.engine_build == "cpu" else "vllm serve"
    return f"{engine} --config {shlex.quote(config)}"
