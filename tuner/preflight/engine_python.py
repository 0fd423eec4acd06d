"""Runs the small scripts that need the engine's libraries in the engine's own Python."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tuner.errors import EngineNotFound, ModelError

SCRIPTS = Path(__file__).parent / "scripts"
_OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}


class ScriptFailed(ModelError):
    """A script ended with a traceback; the message is its last line."""


def run_script(
    python: str, script: str, request: Mapping[str, Any], *, offline: bool = True, timeout_s: float = 300.0
) -> dict[str, Any]:
    """Run `scripts/<script>` with a JSON request on its standard input and return its JSON answer.

    Raises EngineNotFound if `python` cannot be run or lacks a package, ScriptFailed if the script fails.
    """
    env = {**os.environ, "HF_HUB_DISABLE_TELEMETRY": "1", "TOKENIZERS_PARALLELISM": "false"}
    env |= _OFFLINE if offline else {}
    command = [python, str(SCRIPTS / script)]
    text = json.dumps(request)
    try:
        done = subprocess.run(
            command,
            input=text,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            env=env,
            timeout=timeout_s,
            check=False,
        )
    except OSError as error:
        raise EngineNotFound(f"{python} cannot be run: {error.strerror}", "Check --engine.") from error
    except subprocess.TimeoutExpired as error:
        message = f"{script} took longer than {timeout_s:.0f} s in {python}"
        raise ScriptFailed(message, "Try it by hand: a slow disk or a hanging download?") from error
    if done.returncode != 0:
        raise _failure(python, script, done.stderr)
    # The last line: what a library or a start-up file prints below Python's standard output comes before it.
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def _failure(python: str, script: str, stderr: str) -> EngineNotFound | ScriptFailed:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    last = lines[-1] if lines else "it printed nothing"
    if last.startswith("ModuleNotFoundError"):
        return EngineNotFound(
            f"{python} cannot run {script}: {last}", "Give --engine a Python that has vLLM installed."
        )
    return ScriptFailed(f"{script} failed in {python}: {last}", "Check that this Python can load the model's files.")
