from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import pytest
from aiohttp.test_utils import TestClient, TestServer

from tuner.engine.sim.arguments import parse_arguments, parse_speculation
from tuner.engine.sim.assembly import application
from tuner.engine.sim.faults import faults_of
from tuner.engine.sim.profile import Profile
from tuner.engine.sim.startup import plan_engine

Client = TestClient[Any, Any]
GOOD = ("--speculative-config", '{"method": "draft_model", "model": "good", "num_speculative_tokens": 3}')
CHAT = {
    "model": "served",
    "messages": [{"role": "user", "content": "hello there"}],
    "max_tokens": 20,
    "temperature": 0,
    "ignore_eos": True,
    "stream": True,
    "stream_options": {"include_usage": True},
    "return_token_ids": True,
}


def serve(talk: Callable[[Client], Awaitable[Any]], *flags: str, **profile: object) -> Any:
    """Run `talk` against an engine in this process and return what it returns."""
    base: dict[str, object] = {
        "targets": [{"step_s": 0.0002}],
        "drafts": [{"match": "*", "acceptance": [0.8]}],
        "max_model_len": 100,
    }
    known = Profile.model_validate({**base, **profile})
    arguments = parse_arguments(["--model", "target", "--served-model-name", "served", *flags])
    speculation = parse_speculation(arguments.speculative_config)
    plan = plan_engine(arguments, known, speculation)

    async def main() -> Any:
        app = application(arguments, plan, faults_of(known, speculation, "served"))
        async with TestClient(TestServer(app, handler_cancellation=True)) as client:
            return await talk(client)

    return asyncio.run(main())


async def stream(client: Client, **changes: object) -> list[Any]:
    """Return the events of a chat stream; "[DONE]" stays a string."""
    answer = await client.post("/v1/chat/completions", json={**CHAT, **changes})
    assert answer.status == 200
    assert answer.content_type == "text/event-stream"
    events = [line.removeprefix("data: ") for line in (await answer.text()).split("\n\n") if line]
    return [event if event == "[DONE]" else json.loads(event) for event in events]


def ids_of(events: list[Any]) -> list[int]:
    chunks = [event["choices"][0] for event in events[1:] if event != "[DONE]" and event["choices"]]
    return [token for chunk in chunks for token in chunk["token_ids"]]


def counter(text: str, name: str) -> float:
    return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith(f"vllm:{name}{{"))


async def metrics(client: Client) -> str:
    return await (await client.get("/metrics")).text()


def test_small_endpoints() -> None:
    async def talk(client: Client) -> None:
        assert (await client.get("/health")).status == 200
        assert await (await client.get("/version")).json() == {"version": "0.31.0"}
        (card,) = (await (await client.get("/v1/models")).json())["data"]
        assert (card["id"], card["root"], card["max_model_len"]) == ("served", "target", 100)
        tokens = await (await client.post("/tokenize", json={"prompt": "a b c"})).json()
        assert (tokens["count"], len(tokens["tokens"]), tokens["max_model_len"]) == (3, 3, 100)
        assert (await client.post("/tokenize", data=b"{")).status == 400

    serve(talk, version="0.31.0")


def test_a_stream_has_role_tokens_usage_and_an_end() -> None:
    events = serve(stream, *GOOD)
    assert events[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert (events[-1], events[-2]["choices"]) == ("[DONE]", [])
    usage = events[-2]["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"]) == (2, 20)
    sizes = [len(event["choices"][0]["token_ids"]) for event in events[1:-2]]
    assert sizes[0] == 1
    assert sum(sizes) == 20
    assert max(sizes) > 1
    assert events[-3]["choices"][0]["finish_reason"] == "length"


def test_speculation_is_lossless_over_http_and_a_whole_answer_is_the_same() -> None:
    async def whole(client: Client) -> Any:
        return await (await client.post("/v1/chat/completions", json={**CHAT, "stream": False})).json()

    plain = ids_of(serve(stream))
    assert plain == ids_of(serve(stream, *GOOD)) == serve(whole)["choices"][0]["token_ids"]
    assert plain != ids_of(serve(stream, *GOOD, faults=[{"kind": "lossy", "k_min": 1}]))


def test_completions_stream_text() -> None:
    async def talk(client: Client) -> str:
        body = {"prompt": "hello there", "max_tokens": 4, "temperature": 0, "stream": True, "ignore_eos": True}
        return await (await client.post("/v1/completions", json=body)).text()

    events = [json.loads(line.removeprefix("data: ")) for line in serve(talk).split("\n\n")[:-2]]
    assert [event["object"] for event in events] == ["text_completion"] * 4
    assert all(event["choices"][0]["text"].startswith(" ") for event in events)


def test_metrics_count_what_was_served() -> None:
    async def talk(client: Client) -> str:
        await asyncio.gather(*(stream(client) for _ in range(5)))
        return await metrics(client)

    text = serve(talk, *GOOD)
    assert counter(text, "generation_tokens_total") == 100
    assert counter(text, "request_success_total") == 5
    assert counter(text, "spec_decode_num_accepted_tokens_total") > 0
    by_position = counter(text, "spec_decode_num_accepted_tokens_per_pos_total")
    assert by_position == counter(text, "spec_decode_num_accepted_tokens_total")
    assert "vllm:" not in serve(metrics, "--disable-log-stats")


def test_the_key_guards_v1_alone() -> None:
    async def talk(client: Client) -> list[int]:
        right, wrong = {"Authorization": "Bearer secret"}, {"Authorization": "Bearer other"}
        answers = [
            await client.get("/v1/models", headers=right),
            await client.get("/v1/models", headers=wrong),
            await client.post("/v1/chat/completions", json=CHAT),
            await client.get("/metrics"),
        ]
        return [answer.status for answer in answers]

    assert serve(talk, "--api-key", "secret") == [200, 401, 401, 200]


@pytest.mark.parametrize(("change", "status"), [({"model": "other"}, 404), ({"max_tokens": 99}, 400)])
def test_refusals_are_json(change: dict[str, object], status: int) -> None:
    async def talk(client: Client) -> Any:
        answer = await client.post("/v1/chat/completions", json={**CHAT, **change})
        return answer.status, (await answer.json())["error"]["code"]

    assert serve(talk) == (status, status)


def test_a_client_that_leaves_is_aborted() -> None:
    async def talk(client: Client) -> str:
        answer = await client.post("/v1/chat/completions", json={**CHAT, "max_tokens": 90})
        await answer.content.readany()
        answer.close()
        async with asyncio.timeout(120):
            while counter(text := await metrics(client), "num_requests_running"):
                await asyncio.sleep(0.01)
        return text

    text = serve(talk, targets=[{"step_s": 0.05}])
    assert counter(text, "generation_tokens_total") < 90
    assert 'finished_reason="abort",model_name="served"} 1.0' in text


def fault(kind: str, **values: object) -> dict[str, Any]:
    return {"faults": [{"kind": kind, **values}]}


def test_http_errors() -> None:
    async def talk(client: Client) -> list[int]:
        return [(await client.post("/v1/chat/completions", json=CHAT)).status for _ in range(3)]

    assert serve(talk, **fault("http_error", after_requests=1, status=503)) == [200, 503, 503]


def test_wrong_content_type() -> None:
    async def talk(client: Client) -> str:
        return (await client.post("/v1/chat/completions", json=CHAT)).content_type

    assert serve(talk, **fault("wrong_content_type")) == "text/html"


def test_truncated_stream() -> None:
    with pytest.raises(aiohttp.ClientError):
        serve(stream, **fault("truncated_stream", at_token=5))


def test_a_stream_that_ends_within_an_event() -> None:
    async def talk(client: Client) -> str:
        return await (await client.post("/v1/chat/completions", json=CHAT)).text()

    text = serve(talk, **fault("half_event", at_token=5))
    assert text.count('"token_ids"') == 5 and not text.endswith("\n\n") and "[DONE]" not in text


def test_more_bytes_are_promised_than_come() -> None:
    with pytest.raises(aiohttp.ClientPayloadError):
        serve(stream, **fault("wrong_length"))


def test_token_ids_missing() -> None:
    async def talk(client: Client) -> list[bool]:
        events = [await stream(client) for _ in range(2)]
        return [any(event["choices"][0]["token_ids"] for event in few[1:-2]) for few in events]

    assert serve(talk, **fault("token_ids_missing", after_requests=1)) == [True, False]


@pytest.mark.parametrize(
    ("kind", "path", "status"),
    [("unhealthy", "/health", 503), ("unauthorized", "/v1/models", 401), ("metrics_missing", "/metrics", 404)],
)
def test_an_endpoint_that_refuses(kind: str, path: str, status: int) -> None:
    async def talk(client: Client) -> int:
        return (await client.get(path, headers={"Authorization": "Bearer sesame"})).status

    assert serve(talk, "--api-key", "sesame") == 200
    assert serve(talk, "--api-key", "sesame", **fault(kind)) == status


def test_usage_missing() -> None:
    events = serve(stream, **fault("usage_missing"))
    assert len(ids_of(events)) == 20
    assert all(event == "[DONE]" or event["choices"] for event in events)


def test_speculation_off() -> None:
    async def talk(client: Client) -> Any:
        return await stream(client), await metrics(client)

    events, text = serve(talk, *GOOD, **fault("speculation_off"))
    assert all(len(event["choices"][0]["token_ids"]) == 1 for event in events[1:-2])
    assert "spec_decode" not in text


def test_counters_backwards() -> None:
    async def talk(client: Client) -> list[float]:
        seen = []
        for _ in range(3):
            await stream(client)
            seen.append(counter(await metrics(client), "generation_tokens_total"))
        return seen

    assert serve(talk, **fault("counters_backwards", after_requests=2)) == [20, 40, 20]


def test_counters_that_contradict_each_other() -> None:
    async def talk(client: Client) -> bool:
        await stream(client)
        text = await metrics(client)
        return counter(text, "spec_decode_num_accepted_tokens_total") > counter(
            text, "spec_decode_num_draft_tokens_total"
        )

    assert serve(talk, *GOOD, **fault("counters_contradict"))
    assert not serve(talk, *GOOD)


def test_foreign_traffic_is_counted() -> None:
    async def talk(client: Client) -> float:
        await stream(client)
        return counter(await metrics(client), "request_success_total")

    assert serve(talk, **fault("foreign_traffic")) == 2
    assert serve(talk) == 1


def test_another_server_s_name() -> None:
    async def talk(client: Client) -> Any:
        return (await (await client.get("/v1/models")).json())["data"][0]["id"]

    assert serve(talk, **fault("wrong_model_name")) == "another-model"


def test_degenerate_text() -> None:
    assert len(set(ids_of(serve(stream, **fault("degenerate_text"))))) == 1


def test_a_hang_leaves_health_and_metrics_alive() -> None:
    async def talk(client: Client) -> float:
        answer = await client.post("/v1/chat/completions", json=CHAT)
        async with asyncio.timeout(120):
            while counter(await metrics(client), "generation_tokens_total") < 7:
                await asyncio.sleep(0.01)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(answer.read(), timeout=0.3)
        assert (await client.get("/health")).status == 200
        return counter(await metrics(client), "generation_tokens_total")

    assert serve(talk, **fault("hang", at_token=7)) == 7


def test_log_probabilities_come_with_every_token_and_can_be_refused() -> None:
    asking = {"logprobs": True, "top_logprobs": 2}
    events = serve(lambda client: stream(client, **asking), *GOOD)
    told = [event["choices"][0] for event in events[1:-2]]
    assert all(len(choice["logprobs"]["content"]) == len(choice["token_ids"]) for choice in told)
    assert ids_of(events) == ids_of(serve(stream))

    async def refused(client: Client) -> tuple[int, int]:
        answers = [await client.post("/v1/chat/completions", json={**CHAT, **more}) for more in (asking, {})]
        return answers[0].status, answers[1].status

    assert serve(refused, faults=[{"kind": "logprobs_refused", "status": 400}]) == (400, 200)


def test_sampled_answers_of_a_shifted_engine_differ_from_its_own() -> None:
    warm = {"temperature": 0.9, "seed": 3}
    honest = ids_of(serve(lambda client: stream(client, **warm)))
    shifted = ids_of(serve(lambda client: stream(client, **warm), faults=[{"kind": "shifted_samples", "at_token": 4}]))
    assert honest[:4] == shifted[:4] and honest != shifted
