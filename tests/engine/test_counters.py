"""Counters are read from recorded /metrics, and what contradicts itself is named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.analysis.metrics import acceptance_by_position, conditional_by_position, counter_figures
from tuner.engine.counters import (
    LINGER_S,
    CounterTotals,
    broken_identities,
    contradictions,
    difference,
    lingering,
    parse_metrics,
)
from tuner.engine.stream import decode_stream
from tuner.errors import MeasurementInvalid
from tuner.records import Counters, Repeat, RequestSample

RECORDED = Path(__file__).parent / "recorded"
CLEAN = Counters(
    generation_tokens=24,
    prompt_tokens=48,
    requests=1,
    decode_steps=6,
    preemptions=0,
    drafts=6,
    draft_tokens=24,
    accepted_tokens=17,
    accepted_per_pos=(5, 4, 4, 4),
)
SAMPLE = RequestSample(
    load_point="l",
    repeat=0,
    index=0,
    prompt_id="p7",
    category="chat",
    sent_s=0.0,
    first_token_s=1.0,
    last_token_s=2.0,
    prompt_tokens=48,
    completion_tokens=24,
    finish_reason="length",
    token_ids=tuple(range(24)),
)


def recorded(name: str) -> CounterTotals:
    return parse_metrics((RECORDED / f"metrics_{name}.txt").read_text())


def test_a_recorded_request_is_the_difference_of_the_readings_around_it() -> None:
    counters = difference(recorded("before"), recorded("after"))
    answer = decode_stream([(0.0, (RECORDED / "chat.sse").read_bytes())])
    assert counters.requests == 1
    assert (counters.generation_tokens, counters.prompt_tokens) == (answer.completion_tokens, answer.prompt_tokens)
    assert counters.decode_steps == counters.drafts == len(answer.chunk_tokens) - 1
    assert (counters.draft_tokens, counters.accepted_tokens) == (24, 21)
    assert counters.accepted_per_pos == (6, 5, 5, 5)
    assert broken_identities(counters, k=4) == ()


def test_a_baseline_has_no_speculation_counters() -> None:
    totals = recorded("baseline")
    assert not totals.speculation_active
    counters = difference(totals, totals)
    assert (counters.drafts, counters.draft_tokens, counters.accepted_tokens, counters.accepted_per_pos) == (None,) * 4
    assert broken_identities(counters, k=0) == ()


def test_speculation_that_has_not_drafted_yet_is_active() -> None:
    totals = recorded("ngram")
    assert totals.speculation_active
    assert (totals.drafts, totals.accepted_per_pos) == (0, (0, 0, 0))


def test_idle_looks_at_running_and_waiting_only() -> None:
    assert recorded("after").idle
    assert not replace(recorded("after"), running=1).idle
    assert not replace(recorded("after"), waiting=1).idle


def metrics_text(per_engine: list[CounterTotals]) -> str:
    lines = []
    for engine, totals in enumerate(per_engine):
        label = f'engine="{engine}",model_name="m"'
        lines += [
            f"vllm:generation_tokens_total{{{label}}} {totals.generation_tokens}.0",
            f"vllm:generation_tokens_created{{{label}}} 1.7e+09",
            f"vllm:prompt_tokens_total{{{label}}} {totals.prompt_tokens}.0",
            f'vllm:request_success_total{{{label},finished_reason="stop"}} {totals.requests}.0',
            f'vllm:request_success_total{{{label},finished_reason="length"}} 1.0',
            f"vllm:num_requests_running{{{label}}} {totals.running}.0",
            f"vllm:time_per_output_token_seconds_count{{{label}}} {totals.decode_steps}.0",
            f"vllm:spec_decode_num_drafts_total{{{label}}} {totals.drafts}.0",
        ]
        for i, accepted in enumerate(totals.accepted_per_pos or ()):
            lines.append(f'vllm:spec_decode_num_accepted_tokens_per_pos_total{{{label},position="{i}"}} {accepted}.0')
            lines.append(f'vllm:spec_decode_num_accepted_tokens_per_pos_created{{{label},position="{i}"}} 1.7e+09')
    return "\n".join([*lines, ""])


# Two engines of one server (--data-parallel-size 2), the second with fewer requests; K = 2.
TWO_ENGINES = """\
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 0.0
vllm:num_requests_running{engine="1",model_name="m"} 1.0
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="m"} 2.0
vllm:num_requests_waiting{engine="1",model_name="m"} 0.0
# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total{engine="0",model_name="m"} 300.0
vllm:prompt_tokens_total{engine="1",model_name="m"} 100.0
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{engine="0",model_name="m"} 83.0
vllm:generation_tokens_total{engine="1",model_name="m"} 17.0
# TYPE vllm:request_success_total counter
vllm:request_success_total{engine="0",finished_reason="stop",model_name="m"} 1.0
vllm:request_success_total{engine="0",finished_reason="length",model_name="m"} 2.0
vllm:request_success_total{engine="1",finished_reason="stop",model_name="m"} 0.0
vllm:request_success_total{engine="1",finished_reason="length",model_name="m"} 1.0
# TYPE vllm:num_preemptions_total counter
vllm:num_preemptions_total{engine="0",model_name="m"} 1.0
vllm:num_preemptions_total{engine="1",model_name="m"} 0.0
# TYPE vllm:inter_token_latency_seconds histogram
vllm:inter_token_latency_seconds_bucket{engine="0",le="+Inf",model_name="m"} 40.0
vllm:inter_token_latency_seconds_count{engine="0",model_name="m"} 40.0
vllm:inter_token_latency_seconds_sum{engine="0",model_name="m"} 1.0
vllm:inter_token_latency_seconds_bucket{engine="1",le="+Inf",model_name="m"} 10.0
vllm:inter_token_latency_seconds_count{engine="1",model_name="m"} 10.0
vllm:inter_token_latency_seconds_sum{engine="1",model_name="m"} 1.0
# TYPE vllm:spec_decode_num_drafts_total counter
vllm:spec_decode_num_drafts_total{engine="0",model_name="m"} 32.0
vllm:spec_decode_num_drafts_total{engine="1",model_name="m"} 8.0
# TYPE vllm:spec_decode_num_draft_tokens_total counter
vllm:spec_decode_num_draft_tokens_total{engine="0",model_name="m"} 64.0
vllm:spec_decode_num_draft_tokens_total{engine="1",model_name="m"} 16.0
# TYPE vllm:spec_decode_num_accepted_tokens_total counter
vllm:spec_decode_num_accepted_tokens_total{engine="0",model_name="m"} 40.0
vllm:spec_decode_num_accepted_tokens_total{engine="1",model_name="m"} 6.0
# TYPE vllm:spec_decode_num_accepted_tokens_per_pos_total counter
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="m",position="0"} 24.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="m",position="1"} 16.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="1",model_name="m",position="0"} 5.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="1",model_name="m",position="1"} 1.0
"""


def test_two_engines_by_hand() -> None:
    totals = parse_metrics(TWO_ENGINES)
    assert (totals.running, totals.waiting, totals.idle) == (1, 2, False)
    counters = difference(CounterTotals(), totals)
    assert counters == Counters(
        generation_tokens=100,
        prompt_tokens=400,
        requests=4,
        decode_steps=50,
        preemptions=1,
        drafts=40,
        draft_tokens=80,
        accepted_tokens=46,
        accepted_per_pos=(29, 17),
    )
    assert broken_identities(counters, k=2) == ()


def test_figures_of_two_engines_are_of_their_sums() -> None:
    """By engine the acceptance rates are 40/64 and 6/16: their mean is 0.5, and 46 of 80 tokens were accepted."""
    counted = Repeat(0, 1.0, difference(CounterTotals(), parse_metrics(TWO_ENGINES)), requests=4, failed=0)
    figures = {name: figure.value for name, figure in counter_figures([counted]).items()}
    assert figures == pytest.approx(
        {
            "acceptance_rate": 46 / 80,
            "mean_acceptance_length": 1 + 46 / 40,
            "mean_proposed_length": 80 / 40,
            "draft_coverage": 40 / 50,
            "effective_tokens_per_step": (100 - 4) / 50,
        }
    )
    assert [figure.value for figure in acceptance_by_position([counted])] == [29 / 40, 17 / 40]
    assert [figure.value for figure in conditional_by_position([counted])] == [29 / 40, 17 / 29]


NUMBERS = st.integers(0, 10**9)
TOTALS = st.builds(
    CounterTotals,
    generation_tokens=NUMBERS,
    prompt_tokens=NUMBERS,
    requests=NUMBERS,
    decode_steps=NUMBERS,
    running=NUMBERS,
    drafts=NUMBERS,
    accepted_per_pos=st.tuples(NUMBERS, NUMBERS, NUMBERS),
)


@given(st.lists(TOTALS, min_size=1, max_size=3))
def test_engines_are_summed_and_old_names_are_known(per_engine: list[CounterTotals]) -> None:
    totals = parse_metrics(metrics_text(per_engine))
    assert totals.requests == sum((engine.requests or 0) + 1 for engine in per_engine)
    for name in ("generation_tokens", "prompt_tokens", "decode_steps", "running", "drafts"):
        assert getattr(totals, name) == sum(getattr(engine, name) for engine in per_engine)
    columns = zip(*(engine.accepted_per_pos or () for engine in per_engine), strict=True)
    assert totals.accepted_per_pos == tuple(sum(column) for column in columns)


@given(TOTALS, TOTALS)
def test_a_difference_added_to_before_is_after(before: CounterTotals, after: CounterTotals) -> None:
    counters = difference(before, after)
    for name in ("generation_tokens", "prompt_tokens", "requests", "decode_steps", "drafts"):
        assert getattr(counters, name) + getattr(before, name) == getattr(after, name)
    assert counters.accepted_per_pos is not None and before.accepted_per_pos is not None
    sums = tuple(a + b for a, b in zip(counters.accepted_per_pos, before.accepted_per_pos, strict=True))
    assert sums == after.accepted_per_pos


def test_a_counter_that_appears_later_began_at_zero() -> None:
    before = CounterTotals(generation_tokens=1, prompt_tokens=1, requests=1)
    after = replace(before, drafts=3, accepted_per_pos=(2, 1))
    counters = difference(before, after)
    assert (counters.drafts, counters.accepted_per_pos) == (3, (2, 1))


def test_metrics_without_vllm_lines_are_refused() -> None:
    totals = parse_metrics("# HELP python_info x\npython_info 1.0\n")
    with pytest.raises(MeasurementInvalid, match="no vllm: request and token counters") as caught:
        difference(totals, totals)
    assert "disable_log_stats" in caught.value.next_step


def test_what_is_no_metrics_text_is_refused() -> None:
    with pytest.raises(MeasurementInvalid, match="cannot be read"):
        parse_metrics("<html><body>404</body></html>\n")


@given(
    k=st.integers(1, 8),
    steps=st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=50),
)
def test_identities_hold_for_whatever_a_drafter_does(k: int, steps: list[tuple[int, int]]) -> None:
    drafted = [min(proposed, k) for proposed, _ in steps if proposed]
    accepted = [min(a, p, k) for p, a in steps if p]
    counters = replace(
        CLEAN,
        drafts=len(drafted),
        draft_tokens=sum(drafted),
        accepted_tokens=sum(accepted),
        accepted_per_pos=tuple(sum(a > i for a in accepted) for i in range(k)),
    )
    assert broken_identities(counters, k) == ()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"requests": -1}, "requests went backwards by 1"),
        ({"preemptions": -2}, "preemptions went backwards by 2"),
        ({"drafts": -3}, "drafts went backwards by 3"),
        ({"accepted_per_pos": (5, 4, 12, -4)}, "accepted at position 3 went backwards by 4"),
        ({"accepted_per_pos": (5, 4, 4, 3)}, "sum to 16, not 17"),
        ({"accepted_tokens": 25}, "accepted tokens 25 > draft tokens 24"),
        ({"draft_tokens": 25}, "draft tokens 25 > K 4 x drafts 6"),
        ({"accepted_per_pos": (4, 5, 4, 4)}, "by position rise"),
        ({"accepted_per_pos": (7, 4, 3, 3)}, "by position rise"),
    ],
)
def test_each_broken_identity_is_named(changed: dict[str, object], words: str) -> None:
    assert broken_identities(CLEAN, k=4) == ()
    assert any(words in problem for problem in broken_identities(replace(CLEAN, **changed), k=4))  # type: ignore[arg-type]


def test_what_engine_and_client_agree_on_is_no_contradiction() -> None:
    assert contradictions(CLEAN, [SAMPLE]) == ()


def test_more_finished_requests_than_ours_is_foreign_traffic() -> None:
    assert "foreign traffic" in contradictions(replace(CLEAN, requests=2), [SAMPLE])[0]


def test_fewer_finished_requests_than_were_answered() -> None:
    assert "1 were answered" in contradictions(replace(CLEAN, requests=0), [SAMPLE])[0]


def test_other_output_tokens_than_usage_says() -> None:
    assert contradictions(replace(CLEAN, generation_tokens=25), [SAMPLE]) == (
        "the engine counted 25 output tokens, usage says 24",
    )


def test_other_token_ids_than_usage_says() -> None:
    assert "prompt p7" in contradictions(CLEAN, [replace(SAMPLE, token_ids=(1, 2))])[0]


def test_token_counts_are_not_compared_when_a_request_failed() -> None:
    failed = replace(SAMPLE, error="timeout", completion_tokens=None, token_ids=())
    counted_anyway = replace(CLEAN, requests=2, generation_tokens=30)
    assert contradictions(counted_anyway, [SAMPLE, failed]) == ()
    assert contradictions(replace(CLEAN, generation_tokens=30), [SAMPLE, failed]) == ()


def test_more_prompt_tokens_than_ours_is_foreign_traffic_that_left_before_its_end() -> None:
    # vLLM does not count a request as finished whose client is gone, but it has read the prompt.
    left = replace(CLEAN, prompt_tokens=48 + 9, generation_tokens=24 + 3)
    assert contradictions(left, [SAMPLE]) == ("foreign traffic: the engine read 57 prompt tokens, 48 were ours",)
    assert contradictions(replace(CLEAN, prompt_tokens=47), [SAMPLE]) == ()
    assert contradictions(replace(CLEAN, prompt_tokens=57), [replace(SAMPLE, prompt_tokens=None)]) == ()


def test_an_engine_that_stays_busy_after_our_last_answer_serves_somebody_else() -> None:
    failed = replace(SAMPLE, error="timeout")
    assert lingering(LINGER_S * 0.99, [SAMPLE]) == ()
    assert lingering(2.34, [SAMPLE]) == (
        "foreign traffic: requests were in the engine for 2.3 s after the last of ours was answered",
    )
    assert lingering(2.34, [SAMPLE, failed]) == ()
