"""Scripts of tuner/models/scripts, tried in a process of the engine's Python: torch stays out of this one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def tried(trial: str, script: Path, out: Path) -> dict[str, Any]:
    """Run the Python text `trial` with the script's path and `out`; return the JSON object on its last line."""
    command = [sys.executable, "-c", trial, str(script), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, env={"HF_HUB_OFFLINE": "1"})
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert isinstance(result, dict)
    return result
