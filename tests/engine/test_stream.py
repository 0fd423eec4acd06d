"""Streams are decoded alike however the network cut them, and a broken one never looks like a good one."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.engine.stream import StreamedAnswer, decode_stream, error_text, events

RECORDED = Path(__file__).parent / "recorded"
CHAT = (RECORDED / "chat.sse").read_bytes()
DONE = b"data: [DONE]\n\n"


def event(content: object) -> bytes:
    return b"data: " + json.dumps(content, ensure_ascii=False).encode() + b"\n\n"


def chat_chunk(token_ids: list[int] | None = None, finish: str | None = None, **delta: str) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish, "token_ids": token_ids}
    return event({"model": "m", "choices": [choice]})


def usage(completion_tokens: int) -> bytes:
    return event({"model": "m", "choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": completion_tokens}})


def one_by_one(*parts: bytes) -> list[tuple[float, bytes]]:
    """The n-th part arrives at n seconds."""
    return [(float(at), part) for at, part in enumerate(parts)]


def without_times(answer: StreamedAnswer) -> StreamedAnswer:
    return replace(answer, first_token_s=None, last_token_s=None, chunk_times_s=())


def cut(data: bytes, places: list[int]) -> list[tuple[float, bytes]]:
    edges = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [(float(end), data[begin:end]) for begin, end in pairwise(edges)]


def test_a_recorded_chat_answer() -> None:
    answer = decode_stream([(1.0, CHAT)])
    assert answer.error is None
    assert answer.model == "trial-7"
    assert answer.text.startswith("The capital of France is Paris.")
    assert answer.chunk_tokens == (1, 5, 5, 2, 5, 5, 1)
    assert sum(answer.chunk_tokens) == len(answer.token_ids) == answer.completion_tokens == 24
    assert (answer.prompt_tokens, answer.finish_reason, answer.token_ids[-1]) == (48, "stop", 2)


def test_a_recorded_completion() -> None:
    answer = decode_stream([(1.0, (RECORDED / "completion.sse").read_bytes())])
    assert answer.error is None
    assert answer.text == " four five.\n\nThe number of ways to arrange these"
    assert answer.chunk_tokens == (1, 5, 1, 2, 3)
    assert (answer.completion_tokens, answer.finish_reason) == (12, "length")


def test_the_role_is_not_a_token_and_the_end_of_sequence_is() -> None:
    parts = [part + b"\n\n" for part in CHAT.split(b"\n\n") if part]
    answer = decode_stream(one_by_one(*parts))
    assert (answer.first_token_s, answer.last_token_s) == (1.0, 7.0)
    assert answer.chunk_times_s == (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0)


def test_a_refusal_after_http_200() -> None:
    answer = decode_stream([(0.0, (RECORDED / "error_after_200.sse").read_bytes())])
    assert answer.error is not None and "min_p and logit_bias" in answer.error


@given(st.lists(st.integers(0, len(CHAT)), max_size=60))
def test_cuts_do_not_matter(places: list[int]) -> None:
    fragments = cut(CHAT, places)
    answer = decode_stream(fragments)
    assert without_times(answer) == without_times(decode_stream([(0.0, CHAT)]))
    assert list(answer.chunk_times_s) == sorted(answer.chunk_times_s)
    assert set(answer.chunk_times_s) <= {at for at, _ in fragments}


def test_single_bytes_do_not_matter_and_give_the_time_of_an_events_last_byte() -> None:
    fragments = [(float(i), CHAT[i : i + 1]) for i in range(len(CHAT))]
    answer = decode_stream(fragments)
    assert without_times(answer) == without_times(decode_stream([(0.0, CHAT)]))
    second_event_ends = CHAT.index(b"\n\n", CHAT.index(b"\n\n") + 2) + 1
    assert answer.first_token_s == float(second_event_ends)


@given(
    chunks=st.lists(
        st.tuples(st.text(max_size=6), st.lists(st.integers(0, 200_000), min_size=1, max_size=5)), min_size=1
    ),
    crlf=st.booleans(),
    places=st.lists(st.integers(0, 10_000), max_size=30),
)
def test_what_was_sent_is_what_is_decoded(chunks: list[tuple[str, list[int]]], crlf: bool, places: list[int]) -> None:
    ids = [token for _, tokens in chunks for token in tokens]
    body = chat_chunk(role="assistant", content="") + b": keep-alive\n\n"
    body += b"".join(chat_chunk(tokens, content=text) for text, tokens in chunks) + usage(len(ids)) + DONE
    answer = decode_stream(cut(body.replace(b"\n", b"\r\n") if crlf else body, places))
    assert answer.error is None
    assert answer.text == "".join(text for text, _ in chunks)
    assert answer.token_ids == tuple(ids)
    assert answer.chunk_tokens == tuple(len(tokens) for _, tokens in chunks)
    assert answer.completion_tokens == len(ids)


@given(st.integers(0, len(CHAT) - 1))
def test_a_stream_cut_short_is_an_error_without_times(length: int) -> None:
    answer = decode_stream([(0.0, CHAT[:length])])
    assert answer.error is not None
    assert answer.first_token_s is None and answer.last_token_s is None


@given(st.lists(st.binary(max_size=40)))
def test_garbage_is_an_error_and_never_an_exception(parts: list[bytes]) -> None:
    assert decode_stream(one_by_one(*parts)).error is not None
    assert decode_stream(one_by_one(*[b"data: " + part + b"\n\n" for part in parts], DONE)).error is not None


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content"])
def test_reasoning_is_output(name: str) -> None:
    stream = one_by_one(chat_chunk(role="assistant", content=""), chat_chunk([7], **{name: "Hm"}), usage(1), DONE)
    answer = decode_stream(stream)
    assert (answer.error, answer.first_token_s, answer.text) == (None, 1.0, "Hm")


def test_half_a_character_is_a_token_although_its_text_is_empty() -> None:
    stream = one_by_one(chat_chunk([9], content=""), chat_chunk([8], "length", content="é"), usage(2), DONE)
    answer = decode_stream(stream)
    assert (answer.first_token_s, answer.chunk_tokens, answer.text) == (0.0, (1, 1), "é")


def test_without_token_ids_text_and_finish_are_the_tokens() -> None:
    parts = (chat_chunk(content=""), chat_chunk(content="a"), chat_chunk(content="b"), chat_chunk(finish="stop"))
    answer = decode_stream(one_by_one(*parts, usage(3), DONE))
    assert (answer.first_token_s, answer.last_token_s) == (1.0, 3.0)
    assert (answer.token_ids, answer.chunk_tokens, answer.completion_tokens) == ((), (), 3)


def test_usage_counts_and_chunks_do_not() -> None:
    assert decode_stream([(0.0, chat_chunk([1, 2], content="ab") + usage(17) + DONE)]).completion_tokens == 17


def test_missing_usage_is_an_error() -> None:
    answer = decode_stream([(0.0, chat_chunk([1], content="a") + DONE)])
    assert answer.error is not None and "usage" in answer.error


def test_an_answer_without_output_is_an_error() -> None:
    answer = decode_stream([(0.0, chat_chunk(role="assistant", content="") + usage(0) + DONE)])
    assert answer.error is not None and "no output" in answer.error


def test_data_lines_of_one_event_are_joined() -> None:
    assert list(events([(0.0, b"id: 1\ndata: a\ndata:b\n\n")])) == [(0.0, b"a\nb")]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b'{"error": {"message": "too long", "code": 400}}', "too long"),
        (b'{"error": "Unauthorized"}', "Unauthorized"),
        (b'{"object": "error", "message": "no such model"}', "no such model"),
        (b"Internal Server Error", "Internal Server Error"),
        (b"[1]", "[1]"),
        (b"\xff", "\ufffd"),
        (b"", ""),
    ],
)
def test_error_bodies(body: bytes, text: str) -> None:
    assert error_text(body) == text


# --- log probabilities ------------------------------------------------------------------------------------------------


def test_recorded_log_probabilities_of_a_chat_answer() -> None:
    answer = decode_stream([(1.0, (RECORDED / "chat_logprobs.sse").read_bytes())])
    assert (answer.error, answer.text, answer.finish_reason) == (None, "The capital of France is Paris.", "stop")
    assert len(answer.top2_gaps) == len(answer.token_ids) == 8
    assert answer.top2_gaps[:3] == pytest.approx([1.75, 4.875, 4.4375], abs=1e-4)


def test_recorded_log_probabilities_of_a_completion_with_exact_ties() -> None:
    answer = decode_stream([(1.0, (RECORDED / "completion_logprobs.sse").read_bytes())])
    assert answer.error is None
    assert answer.top2_gaps == pytest.approx([0, 0.25, 4, 3.25, 8.5, 0, 0.125, 0.125, 0, 0.75, 0.875, 1], abs=1e-4)


def ranked(*tokens: tuple[float, ...]) -> dict[str, object]:
    return {"content": [{"logprob": values[0], "top_logprobs": [{"logprob": v} for v in values]} for values in tokens]}


def with_logprobs(logprobs: object, token_ids: list[int]) -> bytes:
    choice = {"index": 0, "delta": {"content": "x"}, "finish_reason": None, "token_ids": token_ids}
    return event({"model": "m", "choices": [{**choice, "logprobs": logprobs}]})


def gaps_of(*chunks: bytes) -> tuple[float, ...]:
    return decode_stream(one_by_one(*chunks, usage(3), DONE)).top2_gaps


def test_gaps_by_hand_over_chunks_whatever_the_order_of_the_two() -> None:
    first = with_logprobs(ranked((-0.5, -1.5), (-3.0, -0.25)), [1, 2])
    second = with_logprobs({"top_logprobs": [{"a": -0.1, "b": -0.4, "c": -0.2}]}, [3])
    assert gaps_of(first, second) == pytest.approx((1.0, 2.75, 0.1))


@pytest.mark.parametrize(
    ("logprobs", "token_ids"),
    [
        (None, [2]),
        (ranked((-0.5,)), [2]),
        (ranked((-0.5, -1.5)), [2, 3]),
        (ranked((-0.5, -1.5), (-0.5, -1.5)), [2]),
        ({"top_logprobs": [None]}, [2]),
        ({"content": [{"logprob": -0.5}]}, [2]),
    ],
)
def test_no_gap_is_told_unless_there_is_one_for_every_token(logprobs: object, token_ids: list[int]) -> None:
    good = with_logprobs(ranked((-0.5, -1.5)), [1])
    assert gaps_of(good) == (1.0,)
    assert gaps_of(good, with_logprobs(logprobs, token_ids)) == ()
