"""Whether an engine drafted as its K schedule says, by its own counters.

An engine says nothing of the schedule when it starts, and drops it in silence where it does not support it. So what it
drafted is held against what it should have. A closed loop at concurrency c keeps c requests in flight, but the batch
is smaller where one request has ended and the next has not begun, and at the end of a repeat: there another K is right.
The batch that each token came from is bounded by what the client saw: at least the requests between their first and
last token, at most those sent and not yet answered.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass

from tuner.analysis.k_schedule import Range, schedule_of, scheduled_k
from tuner.analysis.life import LoadView
from tuner.analysis.statistics import undefined
from tuner.records import Candidate, Figure, RequestSample

SLACK = 0.1
"""Part of the expected draft tokens a step, or of one token where that is more, by which counters may be off."""
MAY_DRAFT_LESS = frozenset({"ngram", "ngram_gpu", "suffix", "dspark"})
"""Methods that propose fewer tokens than K, or none, where they find no more."""
PER_STEP = "draft tokens / decode steps, summed over requests"
_STEPS_BACK = 2
"""K is set by the batch of the step in which a draft was made, the one before the step that checks it."""


@dataclass(frozen=True)
class Drafted:
    """Draft tokens per decode step and request.

    measured: by the counters.  low, high: what the schedule allows for, given the batches.  steps: decode steps.
    """

    measured: float
    low: float
    high: float
    steps: int

    @property
    def obeyed(self) -> bool:
        """Whether the schedule and the batches explain what was drafted."""
        return self.low - SLACK * max(1.0, self.low) <= self.measured <= self.high + SLACK * max(1.0, self.high)


def per_step(did: Drafted | None) -> Figure:
    """Return what was drafted as a figure; undefined where the engine does not tell."""
    if did is None:
        return undefined("tokens/step", PER_STEP, "the engine does not expose these counters", "steps")
    return Figure(did.measured, "tokens/step", PER_STEP, did.steps, "steps")


def drafted(candidate: Candidate, views: Sequence[LoadView]) -> Drafted | None:
    """Return what a candidate with a schedule drafted in these lives at one load point.

    None where the engine has no such counters or the samples no times of their chunks.
    """
    repeats = [repeat for view in views for repeat in view.repeats]
    tokens = [repeat.counters.draft_tokens for repeat in repeats]
    steps = [repeat.counters.decode_steps for repeat in repeats]
    known_tokens, known_steps = ([n for n in counts if n is not None] for counts in (tokens, steps))
    if len(known_tokens) < len(repeats) or len(known_steps) < len(repeats) or not sum(known_steps):
        return None
    schedule = schedule_of(candidate)
    bounds = [bound for view in views for repeat in view.repeats for bound in _bounds(view, repeat.index, schedule)]
    if not bounds:
        return None
    total = sum(known_steps)
    low, high = (sum(side) / len(bounds) for side in zip(*bounds, strict=True))
    less = candidate.speculation is not None and candidate.speculation.method in MAY_DRAFT_LESS
    return Drafted(sum(known_tokens) / total, 0.0 if less else low, high, total)


def _bounds(view: LoadView, repeat: int, schedule: Sequence[Range]) -> list[tuple[int, int]]:
    """Return the least and the largest K that is right for each chunk after the first of each request of a repeat."""
    samples = [sample for sample in view.samples if sample.repeat == repeat and sample.last_token_s is not None]
    decoding = _Level([(s.first_token_s or s.sent_s, s.last_token_s or s.sent_s) for s in samples])
    flying = _Level([(s.sent_s, s.last_token_s or s.sent_s) for s in samples])
    found = []
    for sample in samples:
        for began, ended in _steps(sample):
            least, most = max(1, decoding.least(began, ended)), max(1, flying.most(began, ended))
            ks = _ks(schedule, least, max(least, most))
            found.append((min(ks), max(ks)))
    return found


def _steps(sample: RequestSample) -> list[tuple[float, float]]:
    """Return from when to when the batch mattered for each chunk after the first, seconds."""
    times = sample.chunk_times_s
    return [(times[max(0, i - _STEPS_BACK)], times[i]) for i in range(1, len(times))]


def _ks(schedule: Sequence[Range], least: int, most: int) -> set[int]:
    starts = [start for start, _, _ in schedule if least < start <= most]
    return {scheduled_k(schedule, batch) for batch in (least, *starts)}


class _Level:
    """How many of some intervals hold a moment, as a step function of time."""

    def __init__(self, intervals: Sequence[tuple[float, float]]) -> None:
        events = sorted([(begin, 1) for begin, _ in intervals] + [(end, -1) for _, end in intervals])
        self._times = [time for time, _ in events]
        self._counts = [0]
        for _, change in events:
            self._counts.append(self._counts[-1] + change)

    def least(self, began: float, ended: float) -> int:
        """Return the smallest count between two moments."""
        return min(self._between(began, ended))

    def most(self, began: float, ended: float) -> int:
        """Return the largest count between two moments."""
        return max(self._between(began, ended))

    def _between(self, began: float, ended: float) -> list[int]:
        # Before the first event at or after `ended`: what ends with this very chunk was in its batch.
        first, last = bisect.bisect_right(self._times, began), bisect.bisect_left(self._times, ended)
        return self._counts[first : max(first, last) + 1]
