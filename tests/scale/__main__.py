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
from tests.scale.sweep import Costs, Size, measured_sweep

DOCUMENT = Path(__file__).parents[2] / "docs" / "scale.json"
ANSWERS = [Size(workers=8, drafts=drafts, ks=8, lives=4, reported=True) for drafts in (4, 12)]
"""Two smaller sweeps with their answers: what a further trial adds to the report and to planning fresh lives."""


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
        long, *answers = (_measured(one, Path(directory)) for one in (size, *ANSWERS))
        found = figures(size, long, ANSWERS[0], answers)
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


def _measured(size: Size, directory: Path) -> Costs:
    own = directory / f"{size.workers}-{size.drafts}"
    own.mkdir()
    return measured_sweep(size, own)


if __name__ == "__main__":
    sys.exit(main())
