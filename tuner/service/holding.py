"""Whether answers hold on this machine, asked now and then: `tuner check` reads packages, devices and models."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from threading import Lock

from tuner.artifact import BestConfig
from tuner.errors import InputError
from tuner.freshness import Deployed, freshness
from tuner.service.documents import Changed, Freshness, Hold

EVERY_S = 60.0
_NOT_ASKED = Freshness(state=Hold.UNKNOWN, reason="this server was told not to compare artifacts with its machine")


class Holding:
    """Remembers what was found, for a minute; one comparison runs at a time."""

    def __init__(self, engine: str | None, *, compare: bool, clock: Callable[[], float] = time.monotonic) -> None:
        """engine: as --engine of `tuner check`.  compare: False where this machine is not the one that serves."""
        self._engine = engine
        self._compare = compare
        self._clock = clock
        self._found: dict[str, tuple[float, Freshness]] = {}
        self._lock = Lock()

    def of(self, key: str, config: BestConfig) -> Freshness:
        """Return whether an artifact holds.  key: what it is remembered under."""
        if not self._compare:
            return _NOT_ASKED
        with self._lock:
            then_s, found = self._found.get(key, (0.0, None))
            if found is None or self._clock() - then_s > EVERY_S:
                found = self._asked(config)
                self._found[key] = (self._clock(), found)
            return found

    def _asked(self, config: BestConfig) -> Freshness:
        try:
            found = freshness(config, Deployed(engine=self._engine))
        except InputError as error:
            return Freshness(state=Hold.UNKNOWN, reason=error.message)
        differences = tuple(Changed(**asdict(one)) for one in found.differences)
        reason = "" if found.finished else "the sweep behind it was not finished"
        return Freshness(state=Hold.FRESH if found.fresh else Hold.STALE, reason=reason, differences=differences)
