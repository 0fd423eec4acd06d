"""Whatever bytes an engine sends or writes: a typed error or a request that failed; no hang, and bounded memory.

Random bytes rarely come near a parser's branches, so most inputs are mixtures of what vLLM really says and of pieces
that parsers are known to fall over.
"""

from __future__ import annotations

import asyncio
import math
import socket
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.faults.matrix import Group, fault
from tuner.engine import client, logscan, scrape
from tuner.engine.client import Endpoint, Request, run_requests
from tuner.engine.counters import LONGEST_LINE, MOST_POSITIONS, CounterTotals, difference, parse_metrics
from tuner.engine.memory_log import engine_memory
from tuner.engine.readiness import HTTP_TIMEOUT_S, Answer, Served, fetch, identify, other_version, said_version
from tuner.engine.scrape import wait_until_idle
from tuner.engine.stream import decode_stream, error_text, events
from tuner.errors import EngineCrashed, EngineStuck, MeasurementInvalid, WrongServer
from tuner.records import Prompt, RequestSample, Sampling
from tuner.store.codec import decode_samples, encode_samples
from tuner.trial import describe_failure

RECORDED = Path(__file__).parents[1] / "engine" / "recorded"
CHAT = (RECORDED / "chat.sse").read_bytes()
METRICS = (RECORDED / "metrics_after.txt").read_text()
MIB = 2**20
HANG_S = 60.0
"""Wall time: what takes a second on a quiet machine may take ten on a busy one."""
CPU_S = 8.0
"""CPU time of what takes half a second: what grows with the square of its input takes longer."""


@contextmanager
def within(seconds: float, mib: float) -> Iterator[None]:
    """Check that the block takes no more CPU time and, at its peak, no more memory than that."""
    began_s = time.process_time()
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert time.process_time() - began_s < seconds
    assert peak < mib * MIB


def shown(text: str) -> bool:
    """Whether a terminal shows it as it is: an engine's words must not move the cursor."""
    return all(char.isprintable() or char in "\n\t" for char in text)


# --- streams ----------------------------------------------------------------------------------------------------------

PIECES = [
    *CHAT.split(b"\n\n")[:3],
    b"\n\n",
    b"\r\n",
    b"data:",
    b"data: ",
    b"data: [DONE]\n\n",
    b'data: {"choices": [',
    b'{"token_ids": [-1]}',
    b'{"token_ids": [99999999999999999999]}',
    b'{"text": "\\ud800"}',
    b'"usage": {"prompt_tokens": 1e400, "completion_tokens": -1}',
    b'"logprobs": {"top_logprobs": [{"a": NaN, "b": -Infinity}]}',
    b'{"error": ',
    b"[" * 5000,
    b"\xff\xfe",
    b"\x00",
    b"]}\n\n",
]
STREAM = st.lists(st.sampled_from(PIECES) | st.binary(max_size=20), max_size=12).map(b"".join)


def cut(content: bytes, size: int) -> list[tuple[float, bytes]]:
    return [(float(i), content[i : i + size]) for i in range(0, len(content), size)]


@given(STREAM, st.integers(1, 64))
def test_any_stream_is_an_answer_or_an_error_that_can_be_stored(content: bytes, size: int) -> None:
    answer = decode_stream(cut(content, size))
    assert answer.error is None or (len(answer.error) < 600 and shown(answer.error))
    assert all(0 <= token < 2**31 for token in answer.token_ids)
    assert all(map(math.isfinite, answer.top2_gaps))
    sample = RequestSample(
        load_point="l",
        repeat=0,
        index=0,
        prompt_id="p",
        category="c",
        sent_s=0.0,
        first_token_s=answer.first_token_s,
        last_token_s=answer.last_token_s,
        prompt_tokens=answer.prompt_tokens,
        completion_tokens=answer.completion_tokens,
        finish_reason=answer.finish_reason,
        text=answer.text,
        token_ids=answer.token_ids,
        chunk_tokens=answer.chunk_tokens,
        chunk_times_s=answer.chunk_times_s,
        error=answer.error,
        top2_gaps=answer.top2_gaps,
    )
    assert decode_samples(encode_samples([sample])) == (sample,)


@pytest.mark.parametrize("size", [1, 1000, 10**6])
def test_a_line_that_does_not_end_costs_its_length_and_not_its_square(size: int) -> None:
    content = b"data: " + b"x" * (MIB if size > 1 else MIB // 8)
    with within(CPU_S, 200):
        assert list(events(cut(content, size))) == []


@given(st.binary(max_size=40) | STREAM)
@example(b'{"error":' * 100_000)
@example(b'{"message": "' + b"x" * MIB + b'"}')
def test_any_error_body_is_a_short_text(body: bytes) -> None:
    assert len(error_text(body)) <= 500


# --- counters ---------------------------------------------------------------------------------------------------------

POSITION = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
LINES = [
    *METRICS.splitlines(),
    "vllm:generation_tokens_total NaN",
    "vllm:generation_tokens_total -Inf",
    "vllm:generation_tokens_total 1e400",
    "vllm:num_requests_running -1",
    'vllm:prompt_tokens_total{engine="0"} 7',
    f'{POSITION}{{position="0"}} 1',
    f'{POSITION}{{position="99999999999"}} 1',
    f'{POSITION}{{position="-1"}} 1',
    f'{POSITION}{{position="x"}} 1',
    f"{POSITION} 1",
    "# TYPE vllm:generation_tokens_total",
    "# HELP",
    "#",
    'a{x="',
    "a{} 1 2 3",
    'a{x="1",} 1',
    "\x00",
    "\ufffd",
    '{"vllm:generation_tokens_total"} 1',
]
TEXT = st.lists(st.sampled_from(LINES) | st.text(max_size=30), max_size=12).map("\n".join)


@given(TEXT)
def test_any_metrics_text_is_totals_or_invalid(text: str) -> None:
    try:
        totals = parse_metrics(text)
        counters = difference(totals, totals)
    except MeasurementInvalid as invalid:
        assert len(invalid.message) < 400 and invalid.next_step and shown(invalid.message)
        return
    assert min(counters.generation_tokens, counters.prompt_tokens, counters.requests) == 0
    assert len(totals.accepted_per_pos or ()) <= MOST_POSITIONS


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("vllm:generation_tokens_total NaN", "is nan"),
        ("vllm:generation_tokens_total +Inf", "is inf"),
        ("vllm:generation_tokens_total 1e999", "is inf"),
        ("vllm:request_success_total -1", "is -1"),
        (f'{POSITION}{{position="99999999999"}} 1', "has a position 99999999999"),
        (f'{POSITION}{{position="-1"}} 1', "has a position -1"),
        ('vllm:prompt_tokens_total{engine="0"} 1\nvllm:prompt_tokens_total{engine="0"} 1', "told twice"),
        ("a{" + 'x="1",' * 10_000 + "} 1", f"more than {LONGEST_LINE} characters"),
    ],
)
def test_what_no_engine_means_is_named(line: str, words: str) -> None:
    with pytest.raises(MeasurementInvalid, match=words):
        parse_metrics(f"{METRICS}\n{line}\n")


@pytest.mark.parametrize("line", ["x 1", "a{" + 'x="1",' * (LONGEST_LINE // 6 - 2) + "} 1", "# HELP a b", "x" * 300])
def test_a_long_metrics_text_is_read_in_bounded_time_and_memory(line: str) -> None:
    with within(CPU_S, 200), suppress(MeasurementInvalid):
        parse_metrics(f"{line}\n" * (MIB // 8 // len(line)))


# --- a starting engine ------------------------------------------------------------------------------------------------

JSON = st.sampled_from(
    [
        b"[" * 100_000,
        b'{"data":' * 100_000,
        b'{"data": [{"id": "ours", "max_model_len": ' + b"9" * 5000 + b"}]}",
        b'{"data": [{"id": "' + b"x" * 10**5 + b'"}]}',
        b'{"data": [{"id": null}, {"id": [1]}, 3]}',
        b'{"version": "' + b"1" * 5000 + b'.0.0"}',
        b'{"version": "\\ud800"}',
        b"\xff",
        b"null",
    ]
)


@given(JSON | st.binary(max_size=30))
def test_any_answer_of_a_starting_engine_is_judged(body: bytes) -> None:
    answer = Answer(200, body)
    try:
        assert isinstance(identify(answer, "ours", 1), Served)
    except WrongServer as stranger:
        assert len(stranger.message) < 300 and shown(stranger.message)
    words = other_version("0.32.0", said_version(answer))
    assert words is None or len(words) < 300


# --- a log ------------------------------------------------------------------------------------------------------------

REPEATED = [
    "using ",
    "is set to ",
    "Traceback (most recent call last):\n",
    "Traceback (most recent call last):\nx\n",
    "(EngineCore pid=1) Traceback (most recent call last):\nRuntimeError: Engine core died\n",
    "(pid=1",
    "1",
    "a.",
    "draft",
    "\x1b[",
    "KV cache size: 1,",
    "Available KV cache memory: 9" + "9" * 400 + " GiB\n",
    "Tried to allocate 1 GiB. ",
    "\ufffd\x00",
]


@pytest.mark.parametrize("piece", REPEATED)
def test_a_log_of_one_thing_repeated_is_explained_in_bounded_time_and_memory(piece: str) -> None:
    log = "Traceback (most recent call last):\nValueError: the cause\n" + piece * (MIB // 16 // len(piece))
    with within(CPU_S, 300):
        failure = describe_failure(EngineCrashed("it ended", "look", 1), log)
        logscan.changed_settings(log)
        logscan.kv_cache_tokens(log)
        engine_memory(log)
    assert failure.cause == "ValueError: the cause" or piece.startswith("(EngineCore")
    assert sum(map(len, failure.log_tail)) <= 40 * logscan.MAX_TAIL_LINE


@given(st.lists(st.sampled_from(REPEATED) | st.text(max_size=20), max_size=20).map("".join))
def test_any_log_is_explained(log: str) -> None:
    failure = describe_failure(EngineCrashed("it ended", "look", 1), log)
    assert failure.code and failure.what and failure.remedy
    assert shown(failure.cause) and all(map(shown, failure.log_tail))
    logscan.changed_settings(log)
    engine_memory(log)


# --- a socket ---------------------------------------------------------------------------------------------------------

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
ANSWERS = [
    HEAD,
    b"HTTP/1.1 200 OK\r\n",
    b"Content-Length: 99999999999999999999\r\n",
    b"Content-Length: -1\r\n",
    b"Content-Length: 3\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Content-Encoding: gzip\r\n",
    b"Content-Type: text/plain; charset=zlib\r\n",
    b"Location: http://127.0.0.1:1/\r\nHTTP/1.1 302 Found\r\n",
    b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n",
    b"\r\n",
    b"5\r\nhello\r\n",
    b"ffffffffffffffff\r\n",
    b"0\r\n\r\n",
    CHAT,
    b"SSH-2.0-x\r\n",
    b"\xff" * 100,
]
RAW = st.lists(st.sampled_from(ANSWERS) | st.binary(max_size=20), max_size=6).map(b"".join)


@contextmanager
def answering(speak: Callable[[socket.socket], None]) -> Iterator[int]:
    """Accept connections on a port and let `speak` say something on each, then close it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    peer, _ = listener.accept()
                    with peer, suppress(OSError):
                        speak(peer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def saying(content: bytes) -> Callable[[socket.socket], None]:
    def speak(peer: socket.socket) -> None:
        peer.recv(65536)
        peer.sendall(content)

    return speak


def ask(port: int, timeout_s: float = 20.0, max_tokens: int = 9) -> RequestSample:
    prompt = Prompt(id="p", category="c", prompt="x")
    request = Request(0, prompt, max_tokens, Sampling(), ignore_eos=True, cache_salt="s", seed=1)
    endpoint = Endpoint(f"http://127.0.0.1:{port}", "trial-7")
    [sample], _ = asyncio.run(run_requests(endpoint, [request], 1, timeout_s, "l", 0))
    return sample


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(RAW)
@example(HEAD + b"Connection: close\r\n\r\n" + CHAT)
def test_any_bytes_on_the_socket_are_a_sample(content: bytes) -> None:
    with answering(saying(content)) as port:
        sample = ask(port)
    assert sample.error is None or len(sample.error) < 600
    assert sample.ok == (sample.last_token_s is not None)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(RAW)
def test_any_bytes_on_the_socket_are_counters_invalid_or_stuck(content: bytes) -> None:
    with answering(saying(content)) as port, suppress(MeasurementInvalid, EngineStuck):
        assert isinstance(
            asyncio.run(wait_until_idle(Endpoint(f"http://127.0.0.1:{port}", "m"), 0.0)).totals, CounterTotals
        )


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(RAW)
def test_any_bytes_on_the_socket_are_an_answer_nobody_or_a_stranger(content: bytes) -> None:
    with answering(saying(content)) as port, suppress(WrongServer):
        assert isinstance(fetch(port, "/v1/models", "key"), Answer | None)


def endlessly(head: bytes, part: bytes, pause_s: float = 0.0) -> Callable[[socket.socket], None]:
    """Say the head, then the part again and again, until nobody listens any more or the test would be over."""

    def speak(peer: socket.socket) -> None:
        peer.recv(65536)
        peer.sendall(head)
        deadline_s = time.monotonic() + HANG_S
        while time.monotonic() < deadline_s:
            peer.sendall(part)
            time.sleep(pause_s)

    return speak


@fault(
    Group.ENGINE,
    "sends an answer that never ends",
    sees="`refused`: the answer does not end",
    keeps="the tuner's memory stays bounded by the number of tokens asked for",
)
def test_an_answer_that_never_ends_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "MAX_ANSWER_BYTES", MIB)
    head, part = HEAD + b"\r\n", b": " + b"x" * 65536
    with within(CPU_S, 30), answering(endlessly(head, part)) as port:
        sample = ask(port, timeout_s=HANG_S)
    assert sample.error == "the answer does not end: too many bytes per token"


def test_an_error_text_that_never_ends_is_cut_off() -> None:
    head = b"HTTP/1.1 500 Oh\r\nContent-Type: text/plain\r\n\r\n"
    with within(CPU_S, 30), answering(endlessly(head, b"x" * 65536)) as port:
        sample = ask(port, timeout_s=HANG_S)
    assert sample.error is not None and sample.error.startswith("HTTP 500: xxx") and len(sample.error) < 600


@fault(
    Group.ENGINE,
    "sends counters that never end",
    sees="`invalid`: /metrics is longer than 16 MiB",
    keeps="the tuner's memory stays bounded",
)
def test_metrics_that_never_end_are_invalid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scrape, "MAX_METRICS_BYTES", MIB)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"
    with (
        within(CPU_S, 30),
        answering(endlessly(head, b"x 1\n" * 4096)) as port,
        pytest.raises(MeasurementInvalid, match="longer than 1 MiB"),
    ):
        asyncio.run(wait_until_idle(Endpoint(f"http://127.0.0.1:{port}", "m"), HANG_S))


@fault(
    Group.ENGINE,
    "answers the question whether it is ready one byte at a time",
    sees="`stuck`, as if it did not answer at all",
    keeps="a crash behind it is still noticed within seconds",
)
@pytest.mark.parametrize("head", [b"", b"HTTP/1.1 200 OK\r\n\r\n"], ids=["in-the-head", "in-the-body"])
def test_a_byte_now_and_then_is_no_answer(head: bytes) -> None:
    with answering(endlessly(head, b"x", pause_s=HTTP_TIMEOUT_S / 5)) as port:
        began_s = time.monotonic()
        assert fetch(port, "/v1/models", "key") is None
        assert time.monotonic() - began_s < HANG_S / 2


def test_an_answer_that_leads_elsewhere_is_not_followed() -> None:
    elsewhere: list[bytes] = []

    def note(peer: socket.socket) -> None:
        elsewhere.append(peer.recv(65536))

    with answering(note) as other:
        moved = f"HTTP/1.1 307 Moved\r\nLocation: http://127.0.0.1:{other}/\r\nContent-Length: 0\r\n\r\n".encode()
        with answering(saying(moved)) as port:
            assert ask(port).error == "HTTP 307: "
            with pytest.raises(MeasurementInvalid, match="HTTP 307"):
                asyncio.run(wait_until_idle(Endpoint(f"http://127.0.0.1:{port}", "m"), 0.0))
    assert elsewhere == []


def test_a_request_is_never_sent_twice() -> None:
    """Not even where a kept connection ends before the first byte of an answer, as it does when an engine dies."""
    asked: list[bytes] = []

    def speak(peer: socket.socket) -> None:
        while request := peer.recv(65536):
            asked.append(request)
            if len(asked) > 1:
                return
            peer.sendall(HEAD + f"Content-Length: {len(CHAT)}\r\n\r\n".encode() + CHAT)

    prompt = Prompt(id="p", category="c", prompt="x")
    requests = [Request(i, prompt, 9, Sampling(), ignore_eos=True, cache_salt="s", seed=1) for i in range(2)]
    with answering(speak) as port:
        endpoint = Endpoint(f"http://127.0.0.1:{port}", "trial-7")
        samples, _ = asyncio.run(run_requests(endpoint, requests, 1, HANG_S, "l", 0))
    assert [sample.ok for sample in samples] == [True, False]
    assert len(asked) == 2
