"""Measure a running engine: probe it, then warm up and repeat each load point.

    probe -> per load point: warm-up (discarded) -> per repeat: counters, load, counters

The same requests in the same order go to every engine, so that between two arms only speculation differs.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from tuner.engine.client import Endpoint, Request, run_requests, timed_out
from tuner.engine.counters import CounterTotals, broken_identities, contradictions, difference
from tuner.engine.scrape import idle_totals
from tuner.errors import EngineError, EngineRefused, EngineStuck, MeasurementInvalid, SpeculationInactive
from tuner.records import (
    Candidate,
    EvalSet,
    LoadMeasurement,
    LoadPoint,
    Prompt,
    Protocol,
    Repeat,
    RequestSample,
)

ALIVE_EVERY_S = 1.0
CRASH_GRACE_S = 3.0
"""When every request fails the engine is probably dying: how long to wait for its end, which says more."""
REPORT_EVERY_S = 0.5
PROBE_TOKENS = 8
WARMUP = -1
"""Repeat number of requests that are discarded."""

T = TypeVar("T")


@dataclass(frozen=True)
class Work:
    """What to measure on one engine."""

    candidate: Candidate
    load_points: tuple[LoadPoint, ...]
    eval_sets: Mapping[str, EvalSet]
    protocol: Protocol

    def prompts(self, load_point: LoadPoint) -> tuple[Prompt, ...]:
        """Return the prompts of a load point, in order."""
        return self.eval_sets[load_point.eval_set].prompts[: load_point.num_prompts]


@dataclass(frozen=True)
class Measured:
    """What was measured. load_s: wall time of the repeats.  warmup_s: of the probe and all warm-ups."""

    loads: tuple[LoadMeasurement, ...]
    samples: tuple[RequestSample, ...]
    warmup_s: float
    load_s: float


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


async def measure(
    endpoint: Endpoint, work: Work, check_alive: Callable[[], None], report: Callable[[str], None]
) -> Measured:
    """Measure every load point.

    check_alive: raises EngineCrashed once the engine has ended; called every second.  report: gets the phase in words.
    Raises EngineRefused, SpeculationInactive, MeasurementInvalid, EngineStuck, and what check_alive raises.
    """
    return await _while_alive(_Measurement(endpoint, work, report).run(), check_alive)


async def _while_alive(work: Coroutine[Any, Any, T], check_alive: Callable[[], None]) -> T:
    """Return what `work` returns, but end it as soon as check_alive raises."""
    task = asyncio.ensure_future(work)
    try:
        while not (await asyncio.wait({task}, timeout=ALIVE_EVERY_S))[0]:
            check_alive()
        return task.result()
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task})


def check_speculation(totals: CounterTotals, candidate: Candidate) -> None:
    """Check that the engine speculates if, and only if, the candidate does.

    A speculating engine has its counters from the start, at 0. Raises SpeculationInactive or MeasurementInvalid.
    """
    difference(totals, totals)  # Raises where there are no counters at all, which would look like no speculation.
    if candidate.speculation and not totals.speculation_active:
        raise SpeculationInactive(
            f"{candidate.label}: the engine's /metrics has no speculation counters, so it does not speculate.",
            "Look in its log for the line that says why (Disabling, does not support).",
        )
    if totals.speculation_active and not candidate.speculation:
        raise MeasurementInvalid(
            "The baseline speculates: its /metrics has speculation counters.",
            "Remove speculative_config from the engine arguments and from the engine's environment.",
        )


def check_drafts(loads: Sequence[LoadMeasurement], candidate: Candidate) -> None:
    """Raise SpeculationInactive if a draft model never drafted; n-gram may find nothing to draft."""
    drafts = sum(repeat.counters.drafts or 0 for load in loads for repeat in load.repeats)
    if candidate.speculation and candidate.speculation.draft and not drafts:
        raise SpeculationInactive(
            f"{candidate.label}: not one draft in the whole measurement, although the draft model is loaded.",
            "Look in the engine's log for the reason; a draft with a shorter context stops drafting at its end.",
        )


class _Measurement:
    """One pass over the work. Holds what does not change from call to call."""

    def __init__(self, endpoint: Endpoint, work: Work, report: Callable[[str], None]) -> None:
        self._endpoint = endpoint
        self._work = work
        self._report = report

    async def run(self) -> Measured:
        began = time.monotonic()
        await self._probe()
        probe_s = time.monotonic() - began
        loads: list[LoadMeasurement] = []
        samples: list[RequestSample] = []
        for load_point in self._work.load_points:
            load, its_samples = await self._measure_load(load_point)
            loads.append(load)
            samples += its_samples
        check_drafts(loads, self._work.candidate)
        return Measured(
            loads=tuple(loads),
            samples=tuple(samples),
            warmup_s=probe_s + sum(load.warmup_s for load in loads),
            load_s=sum(repeat.wall_s for load in loads for repeat in load.repeats),
        )

    async def _probe(self) -> None:
        """Send one short request for each kind of request that will be sent: some parameters are refused."""
        kinds = {(load.eval_set, load.sampling, load.ignore_eos): load for load in self._work.load_points}
        self._report("probing")
        for load_point in kinds.values():
            requests = self._requests(load_point, 1, "probe")
            short = [replace(request, max_tokens=min(request.max_tokens, PROBE_TOKENS)) for request in requests]
            await self._send(load_point, short, WARMUP, "probing")
        check_speculation(await idle_totals(self._endpoint), self._work.candidate)

    async def _measure_load(self, load_point: LoadPoint) -> tuple[LoadMeasurement, list[RequestSample]]:
        words = f"{load_point.eval_set} c={load_point.concurrency} T={load_point.sampling.temperature:g}"
        warmups = self._work.protocol.warmup_requests
        if warmups is None:
            warmups = max(load_point.concurrency, 2)
        began = time.monotonic()
        if warmups:
            await self._send(load_point, self._requests(load_point, warmups, "warmup"), WARMUP, f"{words} warm-up")
        before = await idle_totals(self._endpoint)
        warmup_s = time.monotonic() - began
        repeats: list[Repeat] = []
        samples: list[RequestSample] = []
        count = requests_per_repeat(load_point, self._work.prompts(load_point))
        for index in range(self._work.protocol.repeats):
            requests = self._requests(load_point, count, f"r{index}")
            step = f"{words} repeat {index + 1}/{self._work.protocol.repeats}"
            its_samples, wall_s = await self._send(load_point, requests, index, step)
            after = await idle_totals(self._endpoint)
            repeats.append(_repeat(index, wall_s, before, after, its_samples, self._work.candidate.k))
            samples += its_samples
            before = after
        return LoadMeasurement(load_point, tuple(repeats), warmup_s), samples

    def _requests(self, load_point: LoadPoint, count: int, purpose: str) -> list[Request]:
        # The served name is new for every engine, so salts never meet again, even in a cache that outlives it.
        salt = f"{self._endpoint.served_name}-{load_point.key}-{purpose}"
        return load_requests(load_point, self._work.prompts(load_point), count, salt)

    async def _send(
        self, load_point: LoadPoint, requests: Sequence[Request], repeat: int, words: str
    ) -> tuple[list[RequestSample], float]:
        """Send the requests; raise EngineStuck or EngineRefused if not one of them was answered."""
        samples, wall_s = await run_requests(
            self._endpoint,
            requests,
            load_point.concurrency,
            self._work.protocol.request_timeout_s,
            load_point.key,
            repeat,
            on_done=_Progress(self._report, words, len(requests)),
        )
        if not any(sample.ok for sample in samples):
            await asyncio.sleep(CRASH_GRACE_S)
            raise _not_answered(load_point, samples)
        return samples, wall_s


def _repeat(
    index: int,
    wall_s: float,
    before: CounterTotals,
    after: CounterTotals,
    samples: Sequence[RequestSample],
    k: int,
) -> Repeat:
    counters = difference(before, after)
    return Repeat(
        index=index,
        wall_s=wall_s,
        counters=counters,
        requests=len(samples),
        failed=sum(not sample.ok for sample in samples),
        problems=broken_identities(counters, k) + contradictions(counters, samples),
    )


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
