from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.engine.sim.requests import Asked, RequestRefused, parse_request, parse_tokenize
from tuner.engine.sim.wire import CHAT, COMPLETION, Shape

MESSAGES = [{"role": "system", "content": "be brief"}, {"role": "user", "content": [{"type": "text", "text": "hello"}]}]


def parse(body: dict[str, Any], shape: Shape = CHAT) -> Asked:
    return parse_request(json.dumps(body).encode(), shape, "served", 100)


def test_a_full_chat_request() -> None:
    asked = parse(
        {
            "model": "served",
            "messages": MESSAGES,
            "max_tokens": 9,
            "temperature": 0.7,
            "top_p": 0.9,
            "top_k": 20,
            "seed": 4,
            "ignore_eos": True,
            "cache_salt": "s",
            "stream": True,
            "stream_options": {"include_usage": True},
            "return_token_ids": True,
            "min_p": 0.1,
        }
    )
    assert (asked.stream, asked.include_usage, asked.token_ids) == (True, True, True)
    job = asked.job
    assert (job.prompt, job.prompt_tokens, job.max_tokens) == ("be brief\nhello", 3, 9)
    assert (job.temperature, job.top_p, job.top_k, job.seed) == (0.7, 0.9, 20, 4)
    assert (job.ignore_eos, job.cache_salt) == (True, "s")


def test_what_is_not_sent_takes_the_server_s_defaults() -> None:
    assert parse({"messages": MESSAGES}).job.temperature == 1.0
    assert parse({"messages": MESSAGES}).job.max_tokens == 97
    assert parse({"prompt": "one two"}, COMPLETION).job.max_tokens == 16
    assert parse({"prompt": [1, 2, 3]}, COMPLETION).job.prompt_tokens == 3
    assert parse({"messages": MESSAGES, "max_completion_tokens": 5, "max_tokens": 7}).job.max_tokens == 5


@pytest.mark.parametrize(
    ("change", "status", "message"),
    [
        ({"model": "another"}, 404, "`another` does not exist"),
        ({"messages": []}, 400, "messages"),
        ({"max_tokens": 0}, 400, "max_tokens"),
        ({"max_tokens": 98}, 400, "maximum context length is 100"),
        ({"temperature": -1}, 400, "temperature"),
        ({"top_p": 0}, 400, "top_p"),
        ({"n": 2}, 400, "'n'|\"n\""),
        ({"cache_salt": ""}, 400, "cache_salt"),
    ],
)
def test_refusals(change: dict[str, Any], status: int, message: str) -> None:
    with pytest.raises(RequestRefused, match=message) as caught:
        parse({"messages": MESSAGES, **change})
    assert caught.value.status == status


@given(st.binary(max_size=200))
def test_no_body_breaks_the_parser(raw: bytes) -> None:
    for shape in (CHAT, COMPLETION):
        with pytest.raises(RequestRefused):
            parse_request(raw, shape, "served", 100)


def test_tokenize_takes_prompts_and_messages() -> None:
    assert parse_tokenize(b'{"prompt": "a b"}') == "a b"
    assert parse_tokenize(json.dumps({"messages": MESSAGES}).encode()) == "be brief\nhello"
    for bad in (b"", b"[]", b"{}", b'{"prompt": 3}', b'{"messages": 3}', b"3"):
        with pytest.raises(RequestRefused):
            parse_tokenize(bad)


def test_log_probabilities_are_asked_for_in_each_endpoints_own_words() -> None:
    assert parse({"messages": MESSAGES}).logprobs is None
    assert parse({"messages": MESSAGES, "top_logprobs": 2}).logprobs is None
    assert parse({"messages": MESSAGES, "logprobs": True, "top_logprobs": 2}).logprobs == 2
    assert parse({"prompt": "x", "logprobs": 2}, COMPLETION).logprobs == 2
    assert parse({"prompt": "x"}, COMPLETION).logprobs is None
    with pytest.raises(RequestRefused):
        parse({"prompt": "x", "logprobs": 21}, COMPLETION)
