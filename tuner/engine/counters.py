"""vLLM's counters on /metrics: read as totals, compared as differences, checked against each other. Pure.

Counters are cumulative since the engine started and summed here over engines (data parallelism), so only the
difference of two readings with nothing running in between says anything about the requests between them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families

from tuner.engine.logscan import printable
from tuner.errors import MeasurementInvalid
from tuner.records import Counters, RequestSample

# Sample names, newest first; the first that is there counts. `_created` lines have names of their own.
_NAMES = {
    "generation_tokens": ("vllm:generation_tokens_total",),
    "prompt_tokens": ("vllm:prompt_tokens_total",),
    "requests": ("vllm:request_success_total",),
    # Renamed in the releases around 0.11; both count decode steps, one per step and request.
    "decode_steps": ("vllm:inter_token_latency_seconds_count", "vllm:time_per_output_token_seconds_count"),
    "preemptions": ("vllm:num_preemptions_total",),
    "drafts": ("vllm:spec_decode_num_drafts_total",),
    "draft_tokens": ("vllm:spec_decode_num_draft_tokens_total",),
    "accepted_tokens": ("vllm:spec_decode_num_accepted_tokens_total",),
    "running": ("vllm:num_requests_running",),
    "waiting": ("vllm:num_requests_waiting",),
}
_PER_POSITION = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
LINGER_S = 1.0
"""An engine clears its gauges with the step that ends its last request; the rest is a slow /metrics."""
_ALWAYS_THERE = ("generation_tokens", "prompt_tokens", "requests")
_READ = frozenset((*itertools.chain.from_iterable(_NAMES.values()), _PER_POSITION))
MOST_POSITIONS = 1024
"""More tokens than any draft proposes at once."""
LONGEST_LINE = 16 * 1024
"""Characters: the parser's time grows with the square of a line's labels. vLLM's longest line has about 2,000."""


@dataclass(frozen=True)
class CounterTotals:
    """One reading of /metrics, summed over engines. None: the engine exposes no such line.

    requests: finished ones, whatever the reason.  running, waiting: gauges, requests in the engine at this moment.
    The other fields are those of records.Counters.
    """

    generation_tokens: int | None = None
    prompt_tokens: int | None = None
    requests: int | None = None
    decode_steps: int | None = None
    preemptions: int | None = None
    drafts: int | None = None
    draft_tokens: int | None = None
    accepted_tokens: int | None = None
    accepted_per_pos: tuple[int, ...] | None = None
    running: int | None = None
    waiting: int | None = None

    @property
    def idle(self) -> bool:
        """Whether no request is in the engine."""
        return not self.running and not self.waiting

    @property
    def speculation_active(self) -> bool:
        """Whether the engine counts drafts at all; there are such lines, at 0, from the start when it speculates."""
        return self.drafts is not None


def parse_metrics(text: str) -> CounterTotals:
    """Return the totals in a /metrics answer (Prometheus text format).

    Raises MeasurementInvalid where the text is not that format, a line is told twice, or a value is no count.
    """
    sums: dict[str, int] = {}
    positions: dict[int, int] = {}
    try:
        for name, labels, value in _samples(text):
            sums[name] = sums.get(name, 0) + value
            if name == _PER_POSITION:
                position = _position(labels)
                positions[position] = positions.get(position, 0) + value
    except (ValueError, KeyError) as problem:
        what = f"/metrics cannot be read: {printable(str(problem)[:200])}"
        raise MeasurementInvalid(what, "Look at the engine's log.") from problem
    fields = {field: next((sums[name] for name in names if name in sums), None) for field, names in _NAMES.items()}
    per_pos = tuple(positions.get(i, 0) for i in range(max(positions) + 1)) if positions else None
    return CounterTotals(accepted_per_pos=per_pos, **fields)


def _samples(text: str) -> Iterator[tuple[str, dict[str, str], int]]:
    """Yield name, labels and value of the lines that matter here. Raises ValueError for what no engine means."""
    if max(map(len, text.split("\n"))) > LONGEST_LINE:
        raise ValueError(f"a line has more than {LONGEST_LINE} characters")
    seen: set[tuple[str, frozenset[tuple[str, str]]]] = set()
    for sample in itertools.chain.from_iterable(family.samples for family in text_string_to_metric_families(text)):
        if sample.name not in _READ:
            continue
        if not (math.isfinite(sample.value) and sample.value >= 0):
            raise ValueError(f"{sample.name} is {sample.value}")
        identity = (sample.name, frozenset(sample.labels.items()))
        if identity in seen:
            raise ValueError(f"{sample.name} is told twice with the same labels")
        seen.add(identity)
        yield sample.name, sample.labels, int(sample.value)


def _position(labels: dict[str, str]) -> int:
    position = int(labels["position"])
    if not 0 <= position < MOST_POSITIONS:
        raise ValueError(f"{_PER_POSITION} has a position {position}")
    return position


def difference(before: CounterTotals, after: CounterTotals) -> Counters:
    """Return after - before. A counter absent before and there after began at 0; one absent after is None.

    Raises MeasurementInvalid when the engine exposes no request and token counters.
    """
    if any(getattr(after, field) is None for field in _ALWAYS_THERE):
        raise MeasurementInvalid(
            "The engine's /metrics has no vllm: request and token counters, so its figures cannot be checked.",
            "Remove disable_log_stats from the engine arguments.",
        )
    return Counters(
        generation_tokens=_minus(after.generation_tokens, before.generation_tokens) or 0,
        prompt_tokens=_minus(after.prompt_tokens, before.prompt_tokens) or 0,
        requests=_minus(after.requests, before.requests) or 0,
        decode_steps=_minus(after.decode_steps, before.decode_steps),
        preemptions=_minus(after.preemptions, before.preemptions),
        drafts=_minus(after.drafts, before.drafts),
        draft_tokens=_minus(after.draft_tokens, before.draft_tokens),
        accepted_tokens=_minus(after.accepted_tokens, before.accepted_tokens),
        accepted_per_pos=_minus_each(after.accepted_per_pos, before.accepted_per_pos),
    )


def broken_identities(counters: Counters, k: int) -> tuple[str, ...]:
    """Return, in words, each identity between the counters that does not hold (k: num_speculative_tokens).

    No difference is negative; with D drafts, T draft tokens, A accepted and A_i accepted at position i: sum A_i = A,
    A <= T <= K x D, and D >= A_0 >= A_1 >= ..., since a draft token is only accepted after the one before it.
    """
    broken = [f"{name} went backwards by {-value}" for name, value in _named(counters) if value < 0]
    drafts, proposed, accepted = counters.drafts, counters.draft_tokens, counters.accepted_tokens
    if drafts is None or proposed is None or accepted is None:
        return tuple(broken)
    if accepted > proposed:
        broken.append(f"accepted tokens {accepted} > draft tokens {proposed}")
    if proposed > k * drafts:
        broken.append(f"draft tokens {proposed} > K {k} x drafts {drafts}")
    if (by_position := counters.accepted_per_pos) is not None:
        if sum(by_position) != accepted:
            broken.append(f"accepted tokens by position sum to {sum(by_position)}, not {accepted}")
        falling = (drafts, *by_position)
        if any(later > earlier for earlier, later in itertools.pairwise(falling)):
            broken.append(f"accepted tokens by position rise: drafts {drafts}, {by_position}")
    return tuple(broken)


def contradictions(counters: Counters, samples: Sequence[RequestSample]) -> tuple[str, ...]:
    """Return, in words, where the engine's counters and the client's samples of one load cannot both be true.

    More finished requests than we sent, or more prompt tokens, is somebody else's traffic: a request whose client left
    before its end counts its tokens and is not counted as finished. A request of ours that failed may or may not be
    counted; token counts are compared only if none failed.
    """
    answered = sum(sample.ok for sample in samples)
    found = [
        f"prompt {sample.prompt_id}: usage says {sample.completion_tokens} tokens, {len(sample.token_ids)} came"
        for sample in samples
        if sample.ok and sample.token_ids and len(sample.token_ids) != sample.completion_tokens
    ]
    if counters.requests > len(samples):
        found.append(f"foreign traffic: the engine finished {counters.requests} requests, {len(samples)} were ours")
    elif counters.requests < answered:
        found.append(f"the engine counted {counters.requests} finished requests, {answered} were answered")
    elif answered == len(samples):
        found += _token_contradictions(counters, samples)
    return tuple(found)


def _token_contradictions(counters: Counters, samples: Sequence[RequestSample]) -> list[str]:
    prompts = [sample.prompt_tokens for sample in samples if sample.prompt_tokens is not None]
    if len(prompts) == len(samples) and counters.prompt_tokens > sum(prompts):
        return [f"foreign traffic: the engine read {counters.prompt_tokens} prompt tokens, {sum(prompts)} were ours"]
    tokens = sum(sample.completion_tokens or 0 for sample in samples)
    if counters.generation_tokens != tokens:
        return [f"the engine counted {counters.generation_tokens} output tokens, usage says {tokens}"]
    return []


def lingering(busy_s: float, samples: Sequence[RequestSample]) -> tuple[str, ...]:
    """Return, in words, that a request of somebody else was in the engine when ours had all been answered.

    busy_s: how long after our last answer the engine still said that it has requests. A request of ours that failed
    may be the one that is left.
    """
    if busy_s < LINGER_S or any(not sample.ok for sample in samples):
        return ()
    return (f"foreign traffic: requests were in the engine for {busy_s:.1f} s after the last of ours was answered",)


def _minus(after: int | None, before: int | None) -> int | None:
    return None if after is None else after - (before or 0)


def _minus_each(after: tuple[int, ...] | None, before: tuple[int, ...] | None) -> tuple[int, ...] | None:
    if after is None:
        return None
    earlier = (*(before or ()), *[0] * len(after))
    return tuple(value - earlier[i] for i, value in enumerate(after))


def _named(counters: Counters) -> list[tuple[str, int]]:
    values = [(field.replace("_", " "), getattr(counters, field)) for field in _NAMES if hasattr(counters, field)]
    by_position = [(f"accepted at position {i}", value) for i, value in enumerate(counters.accepted_per_pos or ())]
    return [(name, value) for name, value in [*values, *by_position] if value is not None]
