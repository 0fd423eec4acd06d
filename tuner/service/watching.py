"""What the server says of itself: a line of JSON for each request, and metrics for Prometheus."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TextIO

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from tuner.service.guard.gate import Answered
from tuner.service.queue.sweeps import SweepState
from tuner.service.queue.waiting import Waiting

_NO_ROUTE = "none"
_BUCKETS_S = (0.005, 0.02, 0.1, 0.5, 2.0, 10.0)


class Watching:
    """Counts and logs what was answered.  registry: what /metrics shows."""

    def __init__(self, sweeps: Waiting, out: TextIO | None = None) -> None:
        """out: where the log goes, standard error if None."""
        self.registry = CollectorRegistry()
        self._out = out
        self._requests = Counter(
            "tuner_http_requests", "Requests answered.", ("method", "route", "status"), registry=self.registry
        )
        self._took = Histogram(
            "tuner_http_request_duration_seconds",
            "Time to the end of the answer.",
            ("route",),
            registry=self.registry,
            buckets=_BUCKETS_S,
        )
        self.registry.register(_Sweeps(sweeps))

    def __call__(self, answered: Answered) -> None:
        """Take note of one request."""
        # Patterns and known methods alone: what a client can make up would be a new time series each.
        route = answered.route or _NO_ROUTE
        method = answered.method if answered.method in _METHODS else "other"
        self._requests.labels(method, route, str(answered.status)).inc()
        self._took.labels(route).observe(answered.duration_s)
        self.log("request", **{**asdict(answered), "duration_s": round(answered.duration_s, 6)})

    def log(self, event: str, **facts: object) -> None:
        """Write one line.  ASCII, so that nothing in it can end the line or move a terminal's cursor."""
        line = json.dumps({"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "event": event, **facts})
        print(line, file=self._out or sys.stderr, flush=True)


_METHODS = frozenset({"GET", "HEAD", "POST", "DELETE", "OPTIONS", "PUT", "PATCH"})


class _Sweeps(Collector):
    """Reads the queue when it is asked."""

    def __init__(self, sweeps: Waiting) -> None:
        self._sweeps = sweeps

    def collect(self) -> Iterator[Metric]:
        """Yield how many sweeps there are in each state."""
        counts: Mapping[SweepState, int] = self._sweeps.counts()
        family = GaugeMetricFamily("tuner_sweeps", "Sweeps that this server was asked for.", labels=["state"])
        for state in SweepState:
            family.add_metric([state.value], counts.get(state, 0))
        yield family
