"""A sweep of 2,000 trials on 64 workers, simulated: what it costs the driver. Ends in one JSON line.

    make bench-scale
    .venv/bin/python -m tests.scale [--workers 64] [--drafts 114] [--ks 15] [--keep]

The product's own loop, store, study in SQLite and samplers run; engines are simulated in process and take virtual
time (virtual_pool.py). Exit code 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.measured_commit import measured_commit
from tests.scale.figures import BARS, figures
from tests.scale.page import write_page
from tests.scale.sweep import Size, measured_sweep

DOCUMENT = Path(__file__).parents[2] / "docs" / "scale.json"
ANSWER = Size(workers=8, drafts=4, ks=8, lives=4, reported=True)
"""A smaller sweep with its answer: what planning fresh lives and the report take for each trial."""


def main(argv: Sequence[str] | None = None) -> int:
    """Print the result; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.scale")
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--drafts", type=int, default=114)
    parser.add_argument("--ks", type=int, default=15)
    parser.add_argument("--keep", action="store_true", help=f"write {DOCUMENT.name} and its page in docs/")
    args = parser.parse_args(argv)
    began_s, commit, load = time.monotonic(), measured_commit(), os.getloadavg()[0]
    size = Size(args.workers, args.drafts, args.ks)
    with tempfile.TemporaryDirectory() as directory:
        run, answer = Path(directory) / "long", Path(directory) / "answer"
        run.mkdir()
        answer.mkdir()
        found = figures(size, measured_sweep(size, run), ANSWER, measured_sweep(ANSWER, answer))
    met = {name: holds(found) for name, holds in BARS.items()}
    result = {
        "bench": "scale",
        "ok": all(met.values()),
        "bars": met,
        "commit": commit,
        **found,
        "cores": os.cpu_count(),
        "machine_load": [round(load, 1), round(os.getloadavg()[0], 1)],
        "wall_s": round(time.monotonic() - began_s),
    }
    if args.keep:
        DOCUMENT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        write_page(result)
    print(json.dumps(result))
    return 0 if result["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
