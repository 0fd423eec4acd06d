"""Counters are read only once nothing runs, and an engine that never gets there is stuck."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager

import pytest
from aiohttp import web

from tuner.engine.client import Endpoint
from tuner.engine.scrape import Idle, wait_until_idle
from tuner.errors import EngineStuck, MeasurementInvalid

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Serving = Callable[[Mapping[str, Handler]], AbstractAsyncContextManager[str]]


def wait(serving: Serving, handler: Handler, timeout_s: float) -> Idle:
    async def scenario() -> Idle:
        async with serving({"/metrics": handler}) as base_url:
            return await wait_until_idle(Endpoint(base_url, "m"), timeout_s)

    return asyncio.run(scenario())


def test_it_waits_until_nothing_runs_or_waits(serving: Serving) -> None:
    states = iter([(1, 0), (0, 2), (0, 0), (5, 5)])

    async def handler(web_request: web.Request) -> web.StreamResponse:
        running, waiting = next(states)
        lines = f"vllm:num_requests_running {running}\nvllm:num_requests_waiting {waiting}\n"
        return web.Response(text=f"{lines}vllm:generation_tokens_total {100 * running + waiting}\n")

    totals = wait(serving, handler, 10.0).totals
    assert (totals.generation_tokens, totals.running, totals.waiting) == (0, 0, 0)


def test_an_engine_that_does_not_become_idle_is_stuck(serving: Serving) -> None:
    async def handler(web_request: web.Request) -> web.StreamResponse:
        return web.Response(text="vllm:num_requests_running 3.0\nvllm:num_requests_waiting 1.0\n")

    with pytest.raises(EngineStuck, match="3 requests running, 1 waiting"):
        wait(serving, handler, 0.2)


def test_an_engine_without_metrics_is_refused_at_once(serving: Serving) -> None:
    async def handler(web_request: web.Request) -> web.StreamResponse:
        return web.Response(status=404)

    with pytest.raises(MeasurementInvalid, match="HTTP 404"):
        wait(serving, handler, 60.0)


def test_an_engine_that_does_not_answer_is_stuck() -> None:
    with pytest.raises(EngineStuck, match="/metrics does not answer"):
        asyncio.run(wait_until_idle(Endpoint("http://127.0.0.1:9", "m"), 0.2))


def test_it_tells_for_how_long_the_engine_was_seen_busy(serving: Serving) -> None:
    said_busy_s: list[float] = []
    busy_answers = 0

    async def handler(web_request: web.Request) -> web.StreamResponse:
        busy = len(said_busy_s) < busy_answers
        said_busy_s.extend([time.monotonic()] * busy)
        return web.Response(text=f"vllm:num_requests_running {int(busy)}\nvllm:num_requests_waiting 0\n")

    assert wait(serving, handler, 60.0).busy_s == 0.0
    busy_answers, began_s = 6, time.monotonic()
    seen_s = wait(serving, handler, 60.0).busy_s
    assert said_busy_s[-1] - said_busy_s[0] <= seen_s < time.monotonic() - began_s
