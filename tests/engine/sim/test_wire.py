from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from tuner.engine.sim.answers import EOS, TEXTS, text_of
from tuner.engine.sim.wire import CHAT, COMPLETION, Encoder, error_body

IDS = list(TEXTS)[:3]


def event(data: bytes) -> Any:
    assert data.startswith(b"data: ")
    assert data.endswith(b"\n\n")
    return json.loads(data.removeprefix(b"data: "))


def test_chat_chunks_are_what_vllm_sends() -> None:
    encoder = Encoder(CHAT, "target", "two words", with_token_ids=True)
    opening = event(encoder.opening())
    assert opening["object"] == "chat.completion.chunk"
    assert opening["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert len(opening["prompt_token_ids"]) == 2
    chunk = event(encoder.chunk(IDS, None))
    assert (chunk["id"], chunk["model"]) == (opening["id"], "target")
    expected = {"index": 0, "delta": {"content": text_of(IDS)}, "logprobs": None, "finish_reason": None}
    assert chunk["choices"] == [{**expected, "token_ids": IDS}]
    last = event(encoder.chunk([IDS[0], EOS], "stop"))["choices"][0]
    assert (last["finish_reason"], last["stop_reason"]) == ("stop", None)
    assert (last["delta"]["content"], last["token_ids"]) == (text_of(IDS[:1]), [IDS[0], EOS])


def test_completion_chunks_have_text_and_no_opening() -> None:
    encoder = Encoder(COMPLETION, "target", "two words", with_token_ids=False)
    assert encoder.opening() == b""
    chunk = event(encoder.chunk(IDS, "length"))
    assert chunk["object"] == "text_completion"
    assert chunk["choices"][0]["text"] == text_of(IDS)
    assert chunk["choices"][0]["token_ids"] is None


def test_usage_comes_without_choices() -> None:
    chunk = event(Encoder(CHAT, "target", "x", False).usage_chunk(5, 7))
    assert chunk["choices"] == []
    assert chunk["usage"] == {"prompt_tokens": 5, "total_tokens": 12, "completion_tokens": 7}


def test_a_model_name_may_hold_anything() -> None:
    assert event(Encoder(CHAT, 'a "quoted" 模型', "x", False).chunk(IDS, None))["model"] == 'a "quoted" 模型'


def test_whole_answers() -> None:
    chat = Encoder(CHAT, "target", "x", True).whole(IDS, "length", 4)
    completion = Encoder(COMPLETION, "target", "x", False).whole(IDS, "length", 4)
    assert chat["choices"][0]["message"]["content"] == completion["choices"][0]["text"] == text_of(IDS)  # type: ignore[index]
    assert chat["usage"] == {"prompt_tokens": 4, "total_tokens": 7, "completion_tokens": 3}
    assert (chat["object"], completion["object"]) == ("chat.completion", "text_completion")


def test_errors_have_vllm_s_form() -> None:
    assert error_body("no", "NotFoundError", 404) == {
        "error": {"message": "no", "type": "NotFoundError", "param": None, "code": 404}
    }


def test_log_probabilities_are_told_as_each_endpoint_does() -> None:
    gaps = [0.0, 0.125, 3.0]
    for shape in (CHAT, COMPLETION):
        told = event(Encoder(shape, "target", "x", True).chunk(IDS, None, gaps))["choices"][0]["logprobs"]
        if shape is CHAT:
            pairs = [[ranked["logprob"] for ranked in position["top_logprobs"]] for position in told["content"]]
            names = [position["token"] for position in told["content"]]
        else:
            pairs, names = [list(both.values()) for both in told["top_logprobs"]], told["tokens"]
        assert names == [f"token_id:{token_id}" for token_id in IDS]
        assert [first - second for first, second in pairs] == pytest.approx(gaps)
        # There are two tokens and no third, so their probabilities are all there is.
        assert [math.exp(first) + math.exp(second) for first, second in pairs] == pytest.approx([1.0] * 3)


def test_recorded_answers_have_the_same_form() -> None:
    recorded = Path(__file__).parents[1] / "recorded"
    for shape, name in ((CHAT, "chat_logprobs.sse"), (COMPLETION, "completion_logprobs.sse")):
        chunks = [event(part + b"\n\n") for part in (recorded / name).read_bytes().split(b"\n\n")[:3]]
        [theirs] = [chunk["choices"][0]["logprobs"] for chunk in chunks[-1:]]
        ours = event(Encoder(shape, "target", "x", True).chunk(IDS[:1], None, [0.5]))["choices"][0]["logprobs"]
        assert ours.keys() <= theirs.keys()
