"""Starts a local Ray as a sweep does, in a process of its own that can be ended, and says how long it took.

Standard output, last line: {"started_s": seconds, "nodes": how many} or {"problem": words}.
"""

from __future__ import annotations

import json
import time

from tuner.errors import PoolError
from tuner.pool.cluster import connected


def main() -> None:
    """Answer on standard output."""
    began_s = time.monotonic()
    try:
        with connected() as nodes:
            answer: dict[str, object] = {"started_s": time.monotonic() - began_s, "nodes": len(nodes.alive)}
    except PoolError as error:
        answer = {"problem": error.message}
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
