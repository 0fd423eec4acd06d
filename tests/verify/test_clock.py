"""Sums of the engine's histograms, by hand."""

import pytest

from tests.verify.clock import clock_sums, mean_between
from tuner.errors import MeasurementInvalid

METRICS = """
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_bucket{engine="0",le="+Inf"} 3.0
vllm:time_to_first_token_seconds_count{engine="0"} 3.0
vllm:time_to_first_token_seconds_sum{engine="0"} 0.6
vllm:time_to_first_token_seconds_bucket{engine="1",le="+Inf"} 1.0
vllm:time_to_first_token_seconds_count{engine="1"} 1.0
vllm:time_to_first_token_seconds_sum{engine="1"} 0.4
# TYPE vllm:e2e_request_latency_seconds histogram
vllm:e2e_request_latency_seconds_bucket{engine="0",le="+Inf"} 4.0
vllm:e2e_request_latency_seconds_count{engine="0"} 4.0
vllm:e2e_request_latency_seconds_sum{engine="0"} 8.0
"""


def test_engines_are_summed_and_means_are_of_the_requests_between() -> None:
    after = clock_sums(METRICS)
    assert after["vllm:time_to_first_token_seconds_sum"] == pytest.approx(1.0)
    # Before anything ran there are no lines: 4 requests took 1.0 s to their first tokens, and 8.0 s in all.
    assert mean_between(clock_sums(""), after, 4) == pytest.approx({"ttft_s": 0.25, "e2e_s": 2.0})
    # Half of them before: what counts is the difference.
    before = {name: value / 2 for name, value in after.items()}
    assert mean_between(before, after, 2) == pytest.approx({"ttft_s": 0.25, "e2e_s": 2.0})


def test_foreign_requests_are_refused() -> None:
    with pytest.raises(MeasurementInvalid, match="counted 4 requests, not 3"):
        mean_between(clock_sums(""), clock_sums(METRICS), 3)
