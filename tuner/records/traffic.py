"""How many requests run at once in production, as shares of time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Traffic:
    """Shares of an engine's busy time by the number of requests that run in it at once.

    shares: concurrency (1 or more) -> share, adding up to 1.  source: the file that they were counted from, "" where
    they were typed in.  samples: numbers in that file, those of an idle engine included; idle: how many of them are.
    """

    shares: Mapping[int, float]
    source: str = ""
    samples: int = 0
    idle: int = 0


@dataclass(frozen=True)
class Coverage:
    """The traffic as the measured concurrencies stand for it.

    shares: measured concurrency -> share of busy time that counts there, 0 where none does.  They and `beyond` add up
    to 1.  beyond: share at more requests than were measured, which counts nowhere.  below: share at fewer than were
    measured, which counts at the smallest measured concurrency.  largest: the most requests at once in the traffic.
    """

    traffic: Traffic
    shares: Mapping[int, float]
    beyond: float
    below: float
    largest: int
