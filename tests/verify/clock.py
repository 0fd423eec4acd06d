"""The tuner's client against the engine's own clock, over the very same requests: no noise between two rounds.

The engine counts from the arrival of a request to its tokens leaving the engine, so a client sees a little more: the
way of the request and of the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from urllib.request import Request as HttpRequest
from urllib.request import urlopen

from prometheus_client.parser import text_string_to_metric_families

from tuner.engine.client import Endpoint, Request, run_requests
from tuner.engine.scrape import wait_until_idle
from tuner.errors import MeasurementInvalid

HISTOGRAMS = {"ttft_s": "vllm:time_to_first_token_seconds", "e2e_s": "vllm:e2e_request_latency_seconds"}
TIMEOUT_S = 600.0


def clock_sums(metrics: str) -> dict[str, float]:
    """Return sum and count of each histogram in a /metrics answer, summed over engines."""
    wanted = {f"{name}_{part}" for name in HISTOGRAMS.values() for part in ("sum", "count")}
    sums = dict.fromkeys(wanted, 0.0)
    for family in text_string_to_metric_families(metrics):
        for sample in family.samples:
            if sample.name in wanted:
                sums[sample.name] += sample.value
    return sums


def mean_between(before: Mapping[str, float], after: Mapping[str, float], requests: int) -> dict[str, float]:
    """Return the engine's mean TTFT and E2E latency, seconds, of the requests between two readings.

    Raises MeasurementInvalid if the engine counted another number of requests.
    """
    means = {}
    for metric, name in HISTOGRAMS.items():
        count = after[f"{name}_count"] - before[f"{name}_count"]
        if count != requests:
            raise MeasurementInvalid(f"{name} counted {count:g} requests, not {requests}", "Is anybody else there?")
        means[metric] = (after[f"{name}_sum"] - before[f"{name}_sum"]) / count
    return means


async def against_the_engine(endpoint: Endpoint, requests: Sequence[Request], concurrency: int) -> dict[str, float]:
    """Send the requests once; return how far the client's mean TTFT and E2E are above the engine's, as fractions.

    Raises MeasurementInvalid if a request fails.
    """
    await wait_until_idle(endpoint)
    before = clock_sums(_metrics(endpoint))
    samples, _ = await run_requests(endpoint, requests, concurrency, TIMEOUT_S, "clock", 0)
    await wait_until_idle(endpoint)
    engine = mean_between(before, clock_sums(_metrics(endpoint)), len(requests))
    seen = {"ttft_s": [s.ttft_s for s in samples], "e2e_s": [s.e2e_s for s in samples]}
    if any(value is None for values in seen.values() for value in values):
        raise MeasurementInvalid("A request failed.", "Look at the engine's log.")
    return {name: fmean(value or 0.0 for value in values) / engine[name] - 1 for name, values in seen.items()}


def _metrics(endpoint: Endpoint) -> str:
    request = HttpRequest(f"{endpoint.base_url}/metrics", headers=endpoint.headers)
    with urlopen(request, timeout=30) as response:
        return str(response.read().decode())
