from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from tuner.engine.sim.counters import EngineCounters, Histogram, metrics_text

SPECULATIVE = {
    "vllm:spec_decode_num_drafts_total",
    "vllm:spec_decode_num_draft_tokens_total",
    "vllm:spec_decode_num_accepted_tokens_total",
    "vllm:spec_decode_num_accepted_tokens_per_pos_total",
}


def samples(counters: EngineCounters) -> dict[tuple[str, str], float]:
    """Return values by name and the one label that tells series of a name apart."""
    found = {}
    for family in text_string_to_metric_families(metrics_text(counters, "served").decode()):
        for sample in family.samples:
            labels = dict(sample.labels)
            assert labels.pop("engine") == "0"
            assert labels.pop("model_name") == "served"
            found[sample.name, "".join(labels.values())] = sample.value
    return found


def test_names_and_values() -> None:
    counters = EngineCounters(3, prompt_tokens=5, generation_tokens=7, preemptions=1)
    counters.finished["length"] = 2
    counters.count_draft(3, 2)
    counters.count_draft(3, 0)
    counters.inter_token.observe(0.02)
    found = samples(counters)
    assert found["vllm:prompt_tokens_total", ""] == 5
    assert found["vllm:generation_tokens_total", ""] == 7
    assert found["vllm:num_preemptions_total", ""] == 1
    assert found["vllm:request_success_total", "length"] == 2
    assert found["vllm:num_requests_running", ""] == 0
    assert found["vllm:inter_token_latency_seconds_count", ""] == 1
    assert found["vllm:inter_token_latency_seconds_created", ""] > 0
    assert found["vllm:spec_decode_num_drafts_total", ""] == 2
    assert found["vllm:spec_decode_num_draft_tokens_total", ""] == 6
    assert found["vllm:spec_decode_num_accepted_tokens_total", ""] == 2
    positions = [found["vllm:spec_decode_num_accepted_tokens_per_pos_total", str(i)] for i in range(3)]
    assert positions == [1, 1, 0]


def test_without_speculation_there_is_no_line_of_it() -> None:
    assert {name for name, _ in samples(EngineCounters(None))} & SPECULATIVE == set()
    assert {name for name, _ in samples(EngineCounters(1))} >= SPECULATIVE


def test_histogram_buckets_are_cumulative() -> None:
    histogram = Histogram()
    for value in (0.0005, 0.01, 0.02, 1000.0):
        histogram.observe(value)
    rows = dict(histogram.cumulative())
    assert (rows["0.001"], rows["0.005"], rows["0.01"], rows["0.02"], rows["80.0"], rows["+Inf"]) == (1, 1, 2, 3, 3, 4)


def test_starting_again_loses_what_was_counted() -> None:
    counters = EngineCounters(2, generation_tokens=50, running=3)
    counters.count_draft(2, 2)
    counters.start_again()
    assert (counters.generation_tokens, counters.drafts, counters.accepted_per_pos, counters.running) == (
        0,
        0,
        [0, 0],
        3,
    )
