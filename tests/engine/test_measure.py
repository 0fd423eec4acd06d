"""What is sent to an engine, in which order, and which engines are not worth measuring."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from tuner.engine import load, measure
from tuner.engine.client import Endpoint
from tuner.engine.counters import CounterTotals
from tuner.errors import EngineCrashed, EngineRefused, MeasurementInvalid, SpeculationInactive
from tuner.records import (
    Candidate,
    Counters,
    EvalSet,
    LoadMeasurement,
    LoadPoint,
    Prompt,
    Protocol,
    Repeat,
    Sampling,
    Speculation,
)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Serving = Callable[[Mapping[str, Handler]], AbstractAsyncContextManager[str]]

PROMPTS = tuple(
    Prompt(id=f"p{i}", category="c", prompt=f"text {i}", max_tokens=7 if i == 1 else None) for i in range(3)
)
DRAFT = Candidate(speculation=Speculation("draft_model", 4, "good", "good"))
NGRAM = Candidate(speculation=Speculation("ngram", 4, "ngram"))
PLAIN = CounterTotals(generation_tokens=0, prompt_tokens=0, requests=0)
SPECULATING = CounterTotals(generation_tokens=0, prompt_tokens=0, requests=0, drafts=0)


@given(st.integers(1, 12), st.integers(1, 40), st.integers(0, 1000))
def test_prompts_are_cycled_in_order_with_a_fresh_salt_for_each_cycle(prompts: int, count: int, seed: int) -> None:
    several = tuple(Prompt(id=f"p{i}", category="c", prompt="x") for i in range(prompts))
    load_point = LoadPoint(eval_set="e", sampling=Sampling(seed=seed))
    requests = load.load_requests(load_point, several, count, "salt")
    assert len(requests) == count
    assert [request.index for request in requests] == list(range(count))
    assert [request.prompt for request in requests] == [several[i % prompts] for i in range(count)]
    assert [request.seed for request in requests] == [seed + i for i in range(count)]
    assert len({(request.prompt.id, request.cache_salt) for request in requests}) == count
    assert len({request.cache_salt for request in requests}) == -(-count // prompts)


@pytest.mark.parametrize(
    ("load_point", "limits"),
    [
        (LoadPoint(eval_set="e", max_tokens=50), [50, 7, 50]),
        (LoadPoint(eval_set="e", max_tokens=5), [5, 5, 5]),
        (LoadPoint(eval_set="e", max_tokens=50, ignore_eos=True), [50, 50, 50]),
    ],
)
def test_a_prompts_own_limit_can_only_be_lower_and_never_breaks_a_fixed_length(
    load_point: LoadPoint, limits: list[int]
) -> None:
    requests = load.load_requests(load_point, PROMPTS, 3, "salt")
    assert [request.max_tokens for request in requests] == limits
    assert all(request.ignore_eos == load_point.ignore_eos for request in requests)


def test_a_repeat_covers_all_prompts_and_fills_its_concurrency_twice() -> None:
    assert load.requests_per_repeat(LoadPoint(eval_set="e", concurrency=1), PROMPTS) == 3
    assert load.requests_per_repeat(LoadPoint(eval_set="e", concurrency=8), PROMPTS) == 16


def test_only_the_first_prompts_are_used_where_a_load_point_says_so() -> None:
    work = load.Work(DRAFT, (), {"e": EvalSet("e", PROMPTS, "")}, Protocol())
    assert work.prompts(LoadPoint(eval_set="e", num_prompts=2)) == PROMPTS[:2]
    assert work.prompts(LoadPoint(eval_set="e")) == PROMPTS


@pytest.mark.parametrize("candidate", [DRAFT, NGRAM])
def test_an_engine_that_does_not_speculate_is_found_out(candidate: Candidate) -> None:
    measure.check_speculation(SPECULATING, candidate)
    with pytest.raises(SpeculationInactive, match="does not speculate"):
        measure.check_speculation(PLAIN, candidate)


def test_a_baseline_that_speculates_is_found_out() -> None:
    measure.check_speculation(PLAIN, Candidate())
    with pytest.raises(MeasurementInvalid, match="The baseline speculates"):
        measure.check_speculation(SPECULATING, Candidate())


def test_an_engine_without_any_counters_is_not_called_inactive() -> None:
    with pytest.raises(MeasurementInvalid, match="no vllm: request and token counters"):
        measure.check_speculation(CounterTotals(), DRAFT)


def test_a_draft_model_must_draft_and_ngram_need_not() -> None:
    def loads(drafts: int) -> list[LoadMeasurement]:
        counters = Counters(generation_tokens=9, prompt_tokens=9, requests=1, drafts=drafts)
        return [LoadMeasurement(LoadPoint(eval_set="e"), (Repeat(0, 1.0, counters, 1, 0),), 0.0)]

    measure.check_drafts(loads(1), DRAFT)
    measure.check_drafts(loads(0), NGRAM)
    measure.check_drafts(loads(0), Candidate())
    with pytest.raises(SpeculationInactive, match="not one draft"):
        measure.check_drafts(loads(0), DRAFT)


def measured(serving: Serving, handler: Handler, check_alive: Callable[[], None], reports: list[str]) -> None:
    work = load.Work(Candidate(), (LoadPoint(eval_set="e"),), {"e": EvalSet("e", PROMPTS, "")}, Protocol())

    async def scenario() -> None:
        async with serving({"/v1/completions": handler}) as base_url:
            await measure.measure(Endpoint(base_url, "m"), work, check_alive, reports.append)

    asyncio.run(scenario())


def test_a_crash_ends_the_measurement_although_requests_hang(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "ALIVE_EVERY_S", 0.1)

    async def handler(web_request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(600)
        return web.Response()

    def check_alive() -> None:
        raise EngineCrashed("it is gone")

    began = time.monotonic()
    with pytest.raises(EngineCrashed, match="it is gone"):
        measured(serving, handler, check_alive, [])
    assert time.monotonic() - began < 120


def test_a_probe_that_is_refused_ends_the_trial(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "CRASH_GRACE_S", 0.0)
    bodies = []

    async def handler(web_request: web.Request) -> web.StreamResponse:
        bodies.append(await web_request.json())
        return web.json_response({"error": {"message": "min_p is not supported"}}, status=400)

    reports: list[str] = []
    with pytest.raises(EngineRefused, match="HTTP 400: min_p is not supported"):
        measured(serving, handler, lambda: None, reports)
    assert [body["max_tokens"] for body in bodies] == [measure.PROBE_TOKENS]
    assert reports[0] == "probing"
