"""The engine's counters and their text on /metrics, with vLLM's names and labels."""

from __future__ import annotations

import bisect
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

_BUCKETS = (
    0.001,
    0.005,
    0.01,
    0.02,
    0.04,
    0.06,
    0.08,
    0.1,
    0.25,
    0.5,
    0.75,
    1.0,
    2.5,
    5.0,
    7.5,
    10.0,
    20.0,
    40.0,
    80.0,
)
_LABELS = ("engine", "model_name")
_FINISH_REASONS = ("stop", "length", "abort", "error", "repetition")


@dataclass
class Histogram:
    """Observations by bucket, seconds."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(_BUCKETS) + 1))
    sum_s: float = 0.0

    def observe(self, value_s: float) -> None:
        """Count one observation."""
        self.counts[bisect.bisect_left(_BUCKETS, value_s)] += 1
        self.sum_s += value_s

    def cumulative(self) -> list[tuple[str, float]]:
        """Return (upper bound, observations up to it)."""
        total, rows = 0, []
        for bound, count in zip([*map(str, _BUCKETS), "+Inf"], self.counts, strict=True):
            total += count
            rows.append((bound, float(total)))
        return rows


@dataclass
class EngineCounters:
    """Everything counted since the start.  k: positions that have a counter of their own; None without speculation."""

    k: int | None
    running: int = 0
    waiting: int = 0
    kv_usage: float = 0.0
    prompt_tokens: int = 0
    generation_tokens: int = 0
    preemptions: int = 0
    finished: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_FINISH_REASONS, 0))
    drafts: int = 0
    draft_tokens: int = 0
    accepted_tokens: int = 0
    accepted_per_pos: list[int] = field(default_factory=list)
    first_token: Histogram = field(default_factory=Histogram)
    inter_token: Histogram = field(default_factory=Histogram)
    end_to_end: Histogram = field(default_factory=Histogram)
    created_s: float = field(default_factory=time.time)

    def __post_init__(self) -> None:
        self.accepted_per_pos = self.accepted_per_pos or [0] * (self.k or 0)

    def count_draft(self, proposed: int, accepted: int) -> None:
        """Count one proposal of `proposed` tokens, of which the first `accepted` were right."""
        self.drafts += 1
        self.draft_tokens += proposed
        self.accepted_tokens += accepted
        for position in range(accepted):
            self.accepted_per_pos[position] += 1

    def start_again(self) -> None:
        """Set everything back to 0, as no counter should."""
        fresh = EngineCounters(self.k, self.running, self.waiting)
        self.__dict__.update(fresh.__dict__)


class _Exposition(Collector):
    def __init__(self, counters: EngineCounters, model_name: str) -> None:
        self._counters = counters
        self._labels = ["0", model_name]

    def collect(self) -> Iterator[Metric]:
        c = self._counters
        yield self._gauge("num_requests_running", "Number of requests in model execution batches.", c.running)
        yield self._gauge("num_requests_waiting", "Number of requests waiting to be processed.", c.waiting)
        yield self._gauge("kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.", c.kv_usage)
        yield self._counter("num_preemptions", "Cumulative number of preemption from the engine.", c.preemptions)
        yield self._counter("prompt_tokens", "Number of prefill tokens processed.", c.prompt_tokens)
        yield self._counter("generation_tokens", "Number of generation tokens processed.", c.generation_tokens)
        yield self._split("request_success", "Count of successfully processed requests.", "finished_reason", c.finished)
        yield self._histogram("time_to_first_token_seconds", c.first_token)
        yield self._histogram("inter_token_latency_seconds", c.inter_token)
        yield self._histogram("e2e_request_latency_seconds", c.end_to_end)
        if c.k is not None:
            yield from self._speculation()

    def _speculation(self) -> Iterator[Metric]:
        c = self._counters
        yield self._counter("spec_decode_num_drafts", "Number of spec decoding drafts.", c.drafts)
        yield self._counter("spec_decode_num_draft_tokens", "Number of draft tokens.", c.draft_tokens)
        yield self._counter("spec_decode_num_accepted_tokens", "Number of accepted tokens.", c.accepted_tokens)
        by_position = {str(i): n for i, n in enumerate(c.accepted_per_pos)}
        text = "Accepted tokens per draft position."
        yield self._split("spec_decode_num_accepted_tokens_per_pos", text, "position", by_position)

    def _gauge(self, name: str, text: str, value: float) -> Metric:
        family = GaugeMetricFamily(f"vllm:{name}", text, labels=_LABELS)
        family.add_metric(self._labels, value)
        return family

    def _counter(self, name: str, text: str, value: float) -> Metric:
        family = CounterMetricFamily(f"vllm:{name}", text, labels=_LABELS)
        family.add_metric(self._labels, value, created=self._counters.created_s)
        return family

    def _split(self, name: str, text: str, label: str, values: dict[str, int]) -> Metric:
        family = CounterMetricFamily(f"vllm:{name}", text, labels=(*_LABELS, label))
        for key, value in values.items():
            family.add_metric([*self._labels, key], value, created=self._counters.created_s)
        return family

    def _histogram(self, name: str, histogram: Histogram) -> Metric:
        family = HistogramMetricFamily(f"vllm:{name}", f"Histogram of {name}.", labels=_LABELS)
        family.add_metric(self._labels, histogram.cumulative(), histogram.sum_s)
        labels = dict(zip(_LABELS, self._labels, strict=True))
        family.add_sample(f"vllm:{name}_created", labels, self._counters.created_s)
        return family


def metrics_text(counters: EngineCounters, model_name: str) -> bytes:
    """Return the counters as /metrics shows them."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Exposition(counters, model_name))
    return generate_latest(registry)
