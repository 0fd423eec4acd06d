"""What has to be quick, checked on a machine that may be busy with something else."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quick(cpu_s: float, wall_s: float = 120.0) -> Iterator[None]:
    """Check that the block takes less CPU time than `cpu_s`, with that of its children that ended, and ends in time.

    wall_s: generous, as it grows with what others do; it finds what waits for something that does not come.
    """
    used_s, began_s = sum(os.times()[:4]), time.monotonic()
    yield
    assert sum(os.times()[:4]) - used_s < cpu_s
    assert time.monotonic() - began_s < wall_s
