"""Somebody else's requests, really sent to a simulated engine while ours run: the repeat they touch must say so."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import aiohttp
import pytest
import yaml

from tuner.engine.argv import engine_command
from tuner.engine.client import Endpoint
from tuner.engine.load import Work
from tuner.engine.measure import Measured, measure
from tuner.engine.process import Launch, free_port, running_engine
from tuner.engine.resolve import resolve_engine
from tuner.records import Candidate, DeviceLoad, EvalSet, LoadPoint, Prompt, Protocol

STEP_S = 0.004
TOKENS = 25
PROMPTS = tuple(Prompt(id=f"p{i}", category="chat", prompt=f"Tell me about number {i}.") for i in range(4))
LOAD = LoadPoint(eval_set="chat", max_tokens=TOKENS, ignore_eos=True)
"""One request at a time: 0.1 s each, 0.4 s a repeat."""
OURS = 4

Foreign = Callable[[], Awaitable[None]]


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    directory = tmp_path_factory.mktemp("engine")
    profile = directory / "profile.yaml"
    profile.write_text(yaml.safe_dump({"targets": [{"step_s": STEP_S}]}))
    engine, port = resolve_engine(f"sim:{profile}"), free_port()
    launch = Launch(
        command=engine_command(engine, "target", "ours", port, Candidate()),
        env={},
        log_path=directory / "engine.log",
        port=port,
        served_name="ours",
        api_key="sesame-9",
        start_timeout_s=60.0,
        stall_timeout_s=60.0,
        version=engine.version,
    )
    with running_engine(launch) as running:
        yield Endpoint(running.base_url, running.served_name, running.api_key)


def body(endpoint: Endpoint, tokens: int) -> dict[str, Any]:
    return {"model": endpoint.served_name, "prompt": "Not ours.", "max_tokens": tokens, "ignore_eos": True}


def foreign_request(endpoint: Endpoint, tokens: int, *, leaves: bool = False) -> Foreign:
    """Return somebody who asks for `tokens` tokens.  leaves: who loses interest at the first of them."""

    async def ask() -> None:
        async with aiohttp.ClientSession(headers=endpoint.headers) as session:
            url = f"{endpoint.base_url}/v1/completions"
            async with session.post(url, json={**body(endpoint, tokens), "stream": leaves}) as answer:
                assert answer.status == 200
                await (answer.content.readany() if leaves else answer.read())

    return ask


class BetweenRepeats:
    """Watches no device: sends a foreign request where nothing of ours runs, before the repeat with that index."""

    def __init__(self, endpoint: Endpoint, index: int) -> None:
        self._endpoint = endpoint
        self._left = index

    def begin(self) -> None:
        if self._left == 0:
            data = json.dumps(body(self._endpoint, 3)).encode()
            url = f"{self._endpoint.base_url}/v1/completions"
            with urllib.request.urlopen(
                urllib.request.Request(url, data, self._endpoint.headers), timeout=20
            ) as answer:
                answer.read()
        self._left -= 1

    def end(self) -> DeviceLoad | None:
        return None


def run(
    endpoint: Endpoint,
    foreign: Foreign | None = None,
    at: str = "repeat 2/3",
    watch: BetweenRepeats | None = None,
    **protocol: Any,
) -> Measured:
    """Measure three repeats; somebody sends `foreign` when the phase `at` begins."""
    work = Work(
        Candidate(),
        (LOAD,),
        {"chat": EvalSet("chat", PROMPTS, "")},
        Protocol(**{"repeats": 3, "max_repeats": 3, **protocol}),
    )

    async def scenario() -> Measured:
        sent: list[asyncio.Future[None]] = []

        def report(phase: str) -> None:
            if foreign and not sent and at in phase:
                sent.append(asyncio.ensure_future(foreign()))

        measured = await measure(endpoint, work, lambda: None, report, watch)
        await asyncio.gather(*sent)
        assert bool(sent) == bool(foreign)
        return measured

    return asyncio.run(scenario())


def problems(measured: Measured) -> list[tuple[str, ...]]:
    return [repeat.problems for repeat in measured.loads[0].repeats]


def test_without_anybody_else_no_repeat_has_a_problem(endpoint: Endpoint) -> None:
    assert problems(run(endpoint)) == [(), (), ()]


def test_a_foreign_request_during_a_repeat_is_seen(endpoint: Endpoint) -> None:
    first, second, third = problems(run(endpoint, foreign_request(endpoint, 5)))
    assert (first, third) == ((), ())
    assert second == (f"foreign traffic: the engine finished {OURS + 1} requests, {OURS} were ours",)


def test_a_foreign_request_that_outlasts_the_repeat_is_seen(endpoint: Endpoint) -> None:
    tokens = round(2.5 / STEP_S)
    first, second, third = problems(run(endpoint, foreign_request(endpoint, tokens)))
    assert (first, third) == ((), ())
    assert len(second) == 2 and all(problem.startswith("foreign traffic: ") for problem in second)
    assert "after the last of ours was answered" in second[1]


def test_a_foreign_request_whose_client_leaves_during_the_repeat_is_seen(endpoint: Endpoint) -> None:
    first, second, third = problems(run(endpoint, foreign_request(endpoint, 500, leaves=True)))
    assert (first, third) == ((), ())
    assert len(second) == 1 and second[0].startswith("foreign traffic: ")


def test_a_foreign_request_between_two_repeats_makes_the_later_one_invalid(endpoint: Endpoint) -> None:
    first, second, third = problems(run(endpoint, watch=BetweenRepeats(endpoint, 1)))
    assert (first, third) == ((), ())
    assert second[0].startswith("foreign traffic: ")


def test_foreign_traffic_of_the_warm_up_is_waited_for_and_spoils_no_repeat(endpoint: Endpoint) -> None:
    measured = run(endpoint, foreign_request(endpoint, round(1.5 / STEP_S)), at="warm-up")
    assert problems(measured) == [(), (), ()]
    assert measured.loads[0].warmup_s > 1.2


def test_an_invalid_repeat_is_measured_again_within_the_limit(endpoint: Endpoint) -> None:
    measured = run(
        endpoint, foreign_request(endpoint, 5), at="repeat 2 (of 2-5)", repeats=2, max_repeats=5, resolve=9.0
    )
    first, second, third = problems(measured)
    assert (first, bool(second), third) == ((), True, ())
