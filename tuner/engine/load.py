"""One load: which requests a load point is, in which order, and sending them until the last is answered."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tuner.engine.client import Endpoint, Request, run_requests, timed_out
from tuner.errors import EngineError, EngineRefused, EngineStuck
from tuner.records import Candidate, EvalSet, LoadPoint, Prompt, Protocol, RequestSample, Role

CRASH_GRACE_S = 3.0
"""When every request fails the engine is probably dying: how long to wait for its end, which says more."""
REPORT_EVERY_S = 0.5


@dataclass(frozen=True)
class Work:
    """What to measure on one engine.  role: why; it decides what is asked besides the load (engine.reference)."""

    candidate: Candidate
    load_points: tuple[LoadPoint, ...]
    eval_sets: Mapping[str, EvalSet]
    protocol: Protocol
    role: Role = Role.CANDIDATE

    def prompts(self, load_point: LoadPoint) -> tuple[Prompt, ...]:
        """Return the prompts of a load point, in order."""
        return self.eval_sets[load_point.eval_set].prompts[: load_point.num_prompts]


def load_requests(load_point: LoadPoint, prompts: Sequence[Prompt], count: int, salt: str) -> list[Request]:
    """Return `count` requests that cycle through the prompts in order.

    The cache salt is new in every cycle: a prompt sent a second time must not find itself in the prefix cache.
    """
    return [
        Request(
            index=index,
            prompt=prompt,
            max_tokens=load_point.answer_limit(prompt),
            sampling=load_point.sampling,
            ignore_eos=load_point.ignore_eos,
            cache_salt=f"{salt}-c{index // len(prompts)}",
            seed=load_point.sampling.seed + index,
        )
        for index, prompt in enumerate(itertools.islice(itertools.cycle(prompts), count))
    ]


def requests_per_repeat(load_point: LoadPoint, prompts: Sequence[Prompt]) -> int:
    """Every prompt at least once, and enough requests to keep `concurrency` in flight for a while."""
    return max(len(prompts), 2 * load_point.concurrency)


def warmup_requests(load_point: LoadPoint, protocol: Protocol) -> int:
    """Return how many requests warm a load point up: the protocol's number, or its concurrency, at least 2."""
    return max(load_point.concurrency, 2) if protocol.warmup_requests is None else protocol.warmup_requests


async def send(
    endpoint: Endpoint,
    load_point: LoadPoint,
    requests: Sequence[Request],
    repeat: int,
    timeout_s: float,
    report: Callable[[str], None],
    words: str,
) -> tuple[list[RequestSample], float]:
    """Send the requests at the load point's concurrency; return their samples and the wall time, seconds.

    repeat: what the samples are numbered with.  words: what `report` is told, followed by how many are done.
    Raises EngineStuck or EngineRefused if not one of them was answered.
    """
    samples, wall_s = await run_requests(
        endpoint,
        requests,
        load_point.concurrency,
        timeout_s,
        load_point.key,
        repeat,
        on_done=_Progress(report, words, len(requests)),
    )
    if not any(sample.ok for sample in samples):
        await asyncio.sleep(CRASH_GRACE_S)
        raise _not_answered(load_point, samples)
    return samples, wall_s


def _not_answered(load_point: LoadPoint, samples: Sequence[RequestSample]) -> EngineError:
    message = f"{load_point.label}: not one of {len(samples)} requests was answered; the first: {samples[0].error}"
    if any(timed_out(sample) for sample in samples):
        return EngineStuck(message, "Look at the end of the engine's log, or raise the protocol's request_timeout_s.")
    return EngineRefused(message, "Look at the engine's log; a refused parameter comes from the search space.")


class _Progress:
    """Tells how many requests are done, but not more often than anybody can read."""

    def __init__(self, report: Callable[[str], None], words: str, total: int) -> None:
        self._report = report
        self._words = words
        self._total = total
        self._told_s = -REPORT_EVERY_S
        self(0)

    def __call__(self, done: int) -> None:
        now_s = time.monotonic()
        if now_s - self._told_s >= REPORT_EVERY_S:
            self._told_s = now_s
            self._report(f"{self._words} {done}/{self._total}")
