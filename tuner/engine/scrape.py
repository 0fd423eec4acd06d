"""Read an engine's /metrics over HTTP, once it is idle."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

import aiohttp

from tuner.engine.client import Endpoint, read_body
from tuner.engine.counters import CounterTotals, parse_metrics
from tuner.errors import EngineStuck, MeasurementInvalid

_POLL_S = 0.05
_READ_TIMEOUT_S = 10.0
MAX_METRICS_BYTES = 16 * 2**20
"""Of one answer; vLLM's has about 100 kB for each engine behind the server."""

_NO_COUNTERS = "Without counters nothing can be checked: look at the engine's log."


@dataclass(frozen=True)
class Idle:
    """What an idle engine's counters say.  busy_s: how long it was seen busy before, 0.0 if it was idle at once."""

    totals: CounterTotals
    busy_s: float


async def wait_until_idle(endpoint: Endpoint, timeout_s: float = 60.0) -> Idle:
    """Wait until no request is in the engine, then return its counters' totals and how long that took.

    An engine writes its gauges and its counters in one go after each step, so counters read while the gauges say
    "idle" are complete. Raises EngineStuck if it does not become idle within timeout_s, MeasurementInvalid if it has
    no readable /metrics.
    """
    began_s = time.monotonic()
    busy_s = 0.0
    timeout = aiohttp.ClientTimeout(total=_READ_TIMEOUT_S)
    async with aiohttp.ClientSession(headers=endpoint.headers, timeout=timeout) as session:
        while True:
            state = await _read(session, endpoint)
            if isinstance(state, CounterTotals):
                if state.idle:
                    return Idle(state, busy_s)
                busy_s = time.monotonic() - began_s
            if time.monotonic() - began_s > timeout_s:
                raise EngineStuck(
                    f"The engine did not become idle within {timeout_s:.0f} s after its last request: {_words(state)}.",
                    "Nothing but the tuner may send requests to it; else look at the end of its log.",
                )
            await asyncio.sleep(_POLL_S)


async def _read(session: aiohttp.ClientSession, endpoint: Endpoint) -> CounterTotals | str:
    """Return the totals, or why there are none at this moment."""
    try:
        async with session.get(f"{endpoint.base_url}/metrics", allow_redirects=False) as response:
            if response.status != 200:
                raise MeasurementInvalid(f"The engine answers /metrics with HTTP {response.status}.", _NO_COUNTERS)
            body = await read_body(response, MAX_METRICS_BYTES + 1)
            if len(body) > MAX_METRICS_BYTES:
                what = f"The engine's /metrics is longer than {MAX_METRICS_BYTES >> 20} MiB."
                raise MeasurementInvalid(what, _NO_COUNTERS)
            return parse_metrics(body.decode(errors="replace"))
    except (aiohttp.ClientError, OSError, TimeoutError) as lost:
        return f"/metrics does not answer ({type(lost).__name__})"


def _words(state: CounterTotals | str) -> str:
    return state if isinstance(state, str) else f"{state.running} requests running, {state.waiting} waiting"
