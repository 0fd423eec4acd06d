"""How often one client may ask: a bucket of tokens that fills up again."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

MOST_CLIENTS = 4096
"""Buckets that are kept; the client that was quiet longest is forgotten first."""


@dataclass(frozen=True)
class Rate:
    """burst: requests at once.  per_s: requests a second in the long run."""

    burst: int
    per_s: float


READING = Rate(burst=240, per_s=20.0)
CHANGING = Rate(burst=10, per_s=0.2)
GUESSING = Rate(burst=10, per_s=0.2)
"""Requests with a wrong token."""


class Limiter:
    """Counts requests by client and kind."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._left: OrderedDict[tuple[str, Rate], tuple[float, float]] = OrderedDict()
        self._lock = Lock()

    def wait_s(self, client: str, rate: Rate) -> float:
        """Count a request; return 0 where it may pass, else seconds until one may."""
        now_s, key = self._clock(), (client, rate)
        with self._lock:
            left, then_s = self._left.pop(key, (float(rate.burst), now_s))
            left = min(float(rate.burst), left + (now_s - then_s) * rate.per_s)
            passes = left >= 1.0
            self._left[key] = (left - 1.0 if passes else left, now_s)
            if len(self._left) > MOST_CLIENTS:
                self._left.popitem(last=False)
        return 0.0 if passes else (1.0 - left) / rate.per_s
