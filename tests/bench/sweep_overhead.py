"""How much of a real sweep's wall time is neither engine start-up nor load: at most 3 % of the demo sweep.

Takes as long as the demo sweep (about ten minutes on two quiet cores). Ends with one line of JSON, exit code 1 above
the limit.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

LIMIT = 0.03


def main() -> None:
    """Sweep the demo models into a new directory and print the share."""
    with tempfile.TemporaryDirectory() as directory:
        command = [sys.executable, "-m", "tuner", "sweep", "demo:target", "--space", "demo"]
        done = subprocess.run(
            [*command, "--out", str(Path(directory) / "run"), "--json"], stdout=subprocess.PIPE, text=True, check=True
        )
    closing = json.loads(done.stdout.splitlines()[-1])
    share = closing["overhead_s"] / closing["wall_s"]
    figures = {name: closing[name] for name in ("wall_s", "overhead_s", "engine_starts", "failed", "verdict")}
    print(json.dumps({"bench": "sweep_overhead", "share": round(share, 4), "limit": LIMIT, **figures}))
    sys.exit(share > LIMIT)


if __name__ == "__main__":
    main()
