"""Measure a running engine: probe it, then warm up and repeat each load point.

    probe -> per load point: warm-up (discarded) -> per repeat: counters, load, counters
          -> requests that compare outputs, not timed (engine.reference)

The same requests in the same order go to every engine, so that between two arms only speculation differs. A load point
is repeated until its repeats agree well enough (analysis.repeats).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from tuner.analysis.repeats import another_repeat, repeat_words
from tuner.engine.client import Endpoint, Request
from tuner.engine.counters import CounterTotals, broken_identities, contradictions, difference, lingering
from tuner.engine.device.disturbances import with_disturbances
from tuner.engine.load import Work, load_requests, requests_per_repeat, send, warmup_requests
from tuner.engine.reference import output_samples
from tuner.engine.scrape import wait_until_idle
from tuner.errors import EngineCrashed, MeasurementInvalid, SpeculationInactive
from tuner.records import Candidate, DeviceLoad, LoadMeasurement, LoadPoint, Repeat, RequestSample

ALIVE_EVERY_S = 1.0
PROBE_TOKENS = 8
WARMUP = -1
"""Repeat number of requests that are discarded."""

T = TypeVar("T")


class DeviceWatch(Protocol):
    """Watches the device during each repeat (engine.device)."""

    def begin(self) -> None:
        """Begin to watch; quick."""

    def end(self) -> DeviceLoad | None:
        """Stop watching and return what was seen; quick."""


@dataclass(frozen=True)
class Measured:
    """What was measured. load_s: wall time of the repeats.  warmup_s: of the probe and all warm-ups."""

    loads: tuple[LoadMeasurement, ...]
    samples: tuple[RequestSample, ...]
    warmup_s: float
    load_s: float


async def measure(
    endpoint: Endpoint,
    work: Work,
    check_alive: Callable[[], None],
    report: Callable[[str], None],
    watch: DeviceWatch | None = None,
) -> Measured:
    """Measure every load point, then ask for what the comparison of outputs needs.

    check_alive: raises EngineCrashed once the engine has ended; called every second.  report: gets the phase in words.
    Raises EngineRefused, SpeculationInactive, MeasurementInvalid, EngineStuck, and what check_alive raises.
    """
    measured = await _while_alive(_Measurement(endpoint, work, report, watch).run(), check_alive)
    # What is measured stays measured, even if the engine does not survive being asked for more.
    with suppress(EngineCrashed):
        outputs = await _while_alive(output_samples(endpoint, work, report), check_alive)
        measured = replace(measured, samples=(*measured.samples, *outputs))
    return measured


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


def _busy_words(repeats: Sequence[Repeat]) -> str:
    """Return how busy the device was in the repeat before, like " (GPU 97%)"; "" where nothing was read."""
    device = repeats[-1].device if repeats else None
    if device is None:
        return ""
    if device.gpu_utilisation is not None:
        return f" (GPU {device.gpu_utilisation:.0%})"
    return "" if device.cpu_busy is None else f" (CPU {device.cpu_busy:.0%})"


class _Measurement:
    """One pass over the work. Holds what does not change from call to call."""

    def __init__(
        self, endpoint: Endpoint, work: Work, report: Callable[[str], None], watch: DeviceWatch | None
    ) -> None:
        self._endpoint = endpoint
        self._work = work
        self._report = report
        self._watch = watch

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
        check_speculation((await wait_until_idle(self._endpoint)).totals, self._work.candidate)

    async def _measure_load(self, load_point: LoadPoint) -> tuple[LoadMeasurement, list[RequestSample]]:
        words = f"{load_point.eval_set} c={load_point.concurrency} T={load_point.sampling.temperature:g}"
        protocol = self._work.protocol
        began = time.monotonic()
        await wait_until_idle(self._endpoint)
        if warmups := warmup_requests(load_point, protocol):
            await self._send(load_point, self._requests(load_point, warmups, "warmup"), WARMUP, f"{words} warm-up")
        before = (await wait_until_idle(self._endpoint)).totals
        measurement = LoadMeasurement(load_point, (), warmup_s=time.monotonic() - began)
        samples: list[RequestSample] = []
        while another_repeat(measurement, samples, protocol):
            index = len(measurement.repeats)
            step = f"{words} {repeat_words(index, protocol)}{_busy_words(measurement.repeats)}"
            repeat, its_samples, before = await self._repeat(load_point, index, before, step)
            # What is usual for the device at this load is known only from the other repeats, later ones included.
            measurement = replace(measurement, repeats=with_disturbances((*measurement.repeats, repeat)))
            samples += its_samples
        return measurement, samples

    async def _repeat(
        self, load_point: LoadPoint, index: int, before: CounterTotals, step: str
    ) -> tuple[Repeat, list[RequestSample], CounterTotals]:
        """Measure one repeat; return it, its samples, and the counters after it, with which the next one begins.

        So a request of somebody else between two repeats counts against the later one.
        """
        requests = self._requests(
            load_point, requests_per_repeat(load_point, self._work.prompts(load_point)), f"r{index}"
        )
        if self._watch:
            self._watch.begin()
        samples, wall_s = await self._send(load_point, requests, index, step)
        device = self._watch.end() if self._watch else None
        after = await wait_until_idle(self._endpoint)
        counters = difference(before, after.totals)
        repeat = Repeat(
            index=index,
            wall_s=wall_s,
            counters=counters,
            requests=len(samples),
            failed=sum(not sample.ok for sample in samples),
            problems=(
                *broken_identities(counters, self._work.candidate.k),
                *contradictions(counters, samples),
                *lingering(after.busy_s, samples),
            ),
            device=device,
        )
        return repeat, samples, after.totals

    def _requests(self, load_point: LoadPoint, count: int, purpose: str) -> list[Request]:
        # The served name is new for every engine, so salts never meet again, even in a cache that outlives it.
        salt = f"{self._endpoint.served_name}-{load_point.key}-{purpose}"
        return load_requests(load_point, self._work.prompts(load_point), count, salt)

    async def _send(
        self, load_point: LoadPoint, requests: Sequence[Request], repeat: int, words: str
    ) -> tuple[list[RequestSample], float]:
        timeout_s = self._work.protocol.request_timeout_s
        return await send(self._endpoint, load_point, requests, repeat, timeout_s, self._report, words)
