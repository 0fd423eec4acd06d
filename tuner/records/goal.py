"""What a sweep looks for: which metric decides, and what p95 latencies a setting has to keep to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Metric(StrEnum):
    """What decides between two settings.  Always as a speedup: above 1 the candidate is better than its baseline.

    TPOT, E2E: baseline / candidate, paired by prompt.  THROUGHPUT: output tokens per second of wall time, candidate /
    baseline, one value per repeat.
    """

    TPOT = "tpot"
    E2E = "e2e"
    THROUGHPUT = "throughput"

    @property
    def words(self) -> str:
        """The metric's name for a person."""
        return _WORDS[self]

    @property
    def cost(self) -> str:
        """What is minimised, for a person; seconds."""
        return _COSTS[self]

    @property
    def speedup(self) -> str:
        """Name of the figure that says how much better a candidate is in this metric."""
        return _SPEEDUPS[self]


_COSTS = {Metric.TPOT: "TPOT", Metric.E2E: "E2E latency", Metric.THROUGHPUT: "wall time per output token"}
_WORDS = {Metric.TPOT: "TPOT", Metric.E2E: "E2E", Metric.THROUGHPUT: "throughput"}
_SPEEDUPS = {Metric.TPOT: "speedup_tpot", Metric.E2E: "speedup_e2e", Metric.THROUGHPUT: "throughput_ratio"}


@dataclass(frozen=True)
class Goal:
    """The best `metric` among the settings that keep to the limits.

    p95_*: seconds that the 95th percentile over requests may not be above at any load point; None for no limit.
    """

    metric: Metric = Metric.TPOT
    p95_ttft_s: float | None = None
    p95_tpot_s: float | None = None
    p95_e2e_s: float | None = None

    @property
    def limits(self) -> dict[str, float]:
        """Limits that are set, seconds, by the name of the figure that each holds for."""
        given = {"ttft_s_p95": self.p95_ttft_s, "tpot_s_p95": self.p95_tpot_s, "e2e_s_p95": self.p95_e2e_s}
        return {name: limit for name, limit in given.items() if limit is not None}
