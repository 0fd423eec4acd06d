"""Every figure of a trial at one load point: what it is called, how it comes about, when it has no value.

The symbols of vLLM's counters (D, T, A, A_i, C, R, S) are explained in tuner.analysis.metrics. The functions that
compute a figure take its unit and the name of its formula from here; docs/reference/metrics.md is written from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

PERCENTILES = (50, 95, 99)
OWN = "geometric mean over prompts of medians over repeats"
PAIRED = "geometric mean over prompts of paired ratios of medians over repeats"
RATES = "ratio of medians over repeats"
DRIFT = "geometric mean over prompts of paired ratios, later / earlier of the two lives that differ most"
MEAN, LARGEST, SMALLEST = "mean over repeats", "largest of all repeats", "smallest of all repeats"

_NO_REQUEST = "no request worked"
_NO_COUNTERS = "the engine does not expose the counters"
_NOT_READ = "left out where no repeat has a reading"


@dataclass(frozen=True)
class Row:
    """One figure.

    estimator: name of its formula, as figures carry it.  meaning: in words.  source: what it is computed from.
    undefined: when it has no value.
    """

    unit: str
    estimator: str
    meaning: str
    source: str
    undefined: str


def _latency(words: str, undefined: str) -> Row:
    return Row("s", OWN, words, "each request's times on the client's clock", undefined)


LATENCY: Mapping[str, Row] = {
    "tpot_s": _latency("time per output token after the first: (E2E - TTFT) / (completion tokens - 1)", _NO_REQUEST),
    "ttft_s": _latency("time from sending a request to the first event with output", _NO_REQUEST),
    "e2e_s": _latency("time from sending a request to the last event with output", _NO_REQUEST),
}
PERCENTILE: Mapping[str, Row] = {
    f"{name}_p{percent}": Row(
        "s",
        f"p{percent} over requests",
        f"{percent} % of the requests of all repeats are not above it; linear between order statistics",
        f"`{name}` of each request",
        _NO_REQUEST,
    )
    for name in LATENCY
    for percent in PERCENTILES
}
COUNTED: Mapping[str, Row] = {
    "acceptance_rate": Row(
        "fraction",
        "A/T",
        "share of the draft tokens that were accepted",
        "spec_decode_num_accepted_tokens, spec_decode_num_draft_tokens",
        f"no drafts, or {_NO_COUNTERS}",
    ),
    "mean_acceptance_length": Row(
        "tokens/draft",
        "1 + A/D",
        "tokens of a step that had a draft, the target's own one included",
        "spec_decode_num_accepted_tokens, spec_decode_num_drafts",
        f"no drafts, or {_NO_COUNTERS}",
    ),
    "mean_proposed_length": Row(
        "tokens/draft",
        "T/D",
        "draft tokens of a step that had a draft",
        "spec_decode_num_draft_tokens, spec_decode_num_drafts",
        f"no drafts, or {_NO_COUNTERS}",
    ),
    "draft_coverage": Row(
        "fraction",
        "D/S",
        "share of the steps that had a draft; n-gram proposes only where it finds a match",
        "spec_decode_num_drafts, inter_token_latency_seconds_count",
        f"no decode steps, or {_NO_COUNTERS}",
    ),
    "effective_tokens_per_step": Row(
        "tokens/step",
        "(C - R)/S",
        "tokens of a step, steps without a draft included",
        "generation_tokens, request_success, inter_token_latency_seconds_count",
        f"no decode steps, or {_NO_COUNTERS}",
    ),
}
POSITION: Mapping[str, Row] = {
    "acceptance_by_position": Row(
        "fraction",
        "A_i/D",
        "share of the drafts accepted up to position i: 1 plus their sum is the mean acceptance length",
        "spec_decode_num_accepted_tokens_per_pos, spec_decode_num_drafts",
        f"no drafts; empty where {_NO_COUNTERS}",
    ),
    "conditional_by_position": Row(
        "fraction",
        "A_i/A_(i-1)",
        "share accepted at position i of the drafts that were accepted before it",
        "spec_decode_num_accepted_tokens_per_pos, spec_decode_num_drafts",
        f"nothing was accepted at the position before; empty where {_NO_COUNTERS}",
    ),
}
LOAD: Mapping[str, Row] = {
    "throughput_tok_s": Row(
        "tok/s",
        "median over repeats of completion tokens / wall time",
        "output tokens per second of wall time",
        "completion tokens of answered requests, wall time of each repeat",
        "no valid repeat",
    ),
    "requests": Row("requests", "count", "requests that were sent", "all repeats, disturbed ones too", "never"),
    "failed": Row("requests", "count", "requests without a whole answer", "all repeats, disturbed ones too", "never"),
    "preemptions": Row(
        "count",
        "count",
        "requests that were put off for want of KV cache",
        "num_preemptions, all repeats",
        "the engine does not count them",
    ),
}
COMPARED: Mapping[str, Row] = {
    "speedup_tpot": Row(
        "x",
        PAIRED,
        "baseline's TPOT / candidate's: above 1 the candidate is faster",
        "`tpot_s` by prompt",
        "no prompt worked in both arms",
    ),
    "speedup_e2e": Row(
        "x",
        PAIRED,
        "the same of E2E, over prompts whose answers have one length in all arms",
        "`e2e_s` by prompt",
        "sampled answers that may differ in length (above temperature 0 without `ignore_eos`)",
    ),
    "ttft_ratio": Row(
        "x",
        PAIRED,
        "candidate's TTFT / baseline's: above 1 the first token comes later",
        "`ttft_s` by prompt",
        "no prompt worked in both arms",
    ),
    "throughput_ratio": Row(
        "x",
        RATES,
        "candidate's throughput / baseline's: above 1 the candidate has more",
        "`throughput_tok_s`",
        "no throughput in one of the arms",
    ),
    "baseline_drift": Row(
        "x",
        DRIFT,
        "the baseline against itself: above 1 it was slower when it was measured again",
        "lives of one baseline; TPOT, or the metric that decides",
        "left out where the baseline was measured once",
    ),
}
DEVICE: Mapping[str, Row] = {
    "gpu_utilisation": Row("fraction", MEAN, "share of the time in which a kernel ran", "NVML", _NOT_READ),
    "gpu_memory_bytes": Row("bytes", LARGEST, "memory in use on the trial's GPUs", "NVML", _NOT_READ),
    "gpu_clock_mhz": Row("MHz", MEAN, "SM clock", "NVML", _NOT_READ),
    "gpu_clock_min_mhz": Row("MHz", SMALLEST, "lowest SM clock", "NVML", _NOT_READ),
    "gpu_temperature_c": Row("degrees Celsius", LARGEST, "highest temperature", "NVML", _NOT_READ),
    "gpu_power_w": Row("W", MEAN, "power", "NVML", _NOT_READ),
    "cpu_busy": Row("fraction", MEAN, "busy share of the trial's cores", "the operating system's CPU times", _NOT_READ),
    "cpu_others": Row(
        "fraction", LARGEST, "share that other programs kept busy", "the same, without engine and tuner", _NOT_READ
    ),
    "cpu_steal": Row(
        "fraction", LARGEST, "share that the hypervisor took", "the operating system's CPU times", _NOT_READ
    ),
}
METRICS: Mapping[str, Mapping[str, Row]] = {
    "Latency": LATENCY,
    "Percentiles": PERCENTILE,
    "Acceptance, from vLLM's counters": COUNTED,
    "By position in the proposal": POSITION,
    "Of the load as a whole": LOAD,
    "Against the baseline": COMPARED,
    "What the device did": DEVICE,
}
"""Every figure, by theme."""
