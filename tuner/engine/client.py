"""The load client: a closed loop of streamed requests against an OpenAI-compatible server.

While the load runs, bytes are only stored with their time of arrival; they are decoded afterwards, so that at high
concurrency the client's own work does not become part of what it measures.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import aiohttp

from tuner.analysis.references import reference_found
from tuner.engine.logscan import printable
from tuner.engine.stream import Fragment, StreamedAnswer, decode_stream, error_text
from tuner.records import Prompt, RequestSample, Sampling

# Servers close idle connections (uvicorn after 5 s); we must do it first, or a request may meet a closing one.
_KEEPALIVE_S = 2.0
_TIMED_OUT = "Timeout"
MAX_ERROR_BYTES = 64 * 1024
MAX_ANSWER_BYTES = 16 * 2**20
"""Of an answer beside its tokens: the prompt's token ids come back with it."""
MAX_TOKEN_BYTES = 8 * 1024
"""Of an answer for each token that was asked for; a chunk of one token with log probabilities has about 500."""
_EVENT_STREAM = "text/event-stream"


@dataclass(frozen=True)
class Endpoint:
    """Where an engine answers. base_url has no path; served_name is the model name that it was started with."""

    base_url: str
    served_name: str
    api_key: str = ""

    @property
    def headers(self) -> dict[str, str]:
        """Headers of every request to it."""
        key = {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}
        return {"Content-Type": "application/json", **key}


@dataclass(frozen=True)
class Request:
    """One request to send.

    index: its place in the repeat.  top2: also ask for the two most probable tokens at each position.
    """

    index: int
    prompt: Prompt
    max_tokens: int
    sampling: Sampling
    ignore_eos: bool
    cache_salt: str
    seed: int
    top2: bool = False


@dataclass(frozen=True)
class _Exchange:
    """One request's traffic. Times are seconds since the load began."""

    sent_s: float
    fragments: tuple[Fragment, ...] = ()
    error: str | None = None
    timed_out: bool = False


def request_path(request: Request) -> str:
    """Return the URL path that serves this kind of prompt."""
    return "/v1/completions" if request.prompt.messages is None else "/v1/chat/completions"


def request_body(served_name: str, request: Request) -> bytes:
    """Return the JSON body. Every sampling parameter is sent: a server otherwise takes the model's own defaults."""
    prompt = request.prompt
    content = {"prompt": prompt.prompt} if prompt.messages is None else {"messages": list(prompt.messages)}
    body = {
        "model": served_name,
        **content,
        "max_tokens": request.max_tokens,
        "temperature": request.sampling.temperature,
        "top_p": request.sampling.top_p,
        "top_k": request.sampling.top_k,
        "seed": request.seed,
        "ignore_eos": request.ignore_eos,
        "cache_salt": request.cache_salt,
        "return_token_ids": True,
        "stream": True,
        "stream_options": {"include_usage": True},
        **(_asking_for_top2(request) if request.top2 else {}),
    }
    return json.dumps(body, default=dict, ensure_ascii=False).encode()


def _asking_for_top2(request: Request) -> dict[str, object]:
    # Tokens named by id: completions key the log probabilities by text, where two tokens of one text would collide.
    asked = {"logprobs": 2} if request.prompt.messages is None else {"logprobs": True, "top_logprobs": 2}
    return {**asked, "return_tokens_as_token_ids": True}


async def read_body(response: aiohttp.ClientResponse, limit: int) -> bytes:
    """Return an answer's body, or its first `limit` bytes: whoever answers may never stop. Raises aiohttp's errors."""
    body = bytearray()
    while len(body) < limit and (part := await response.content.read(limit - len(body))):
        body += part
    return bytes(body)


def timed_out(sample: RequestSample) -> bool:
    """Whether the request failed because its answer did not come in time."""
    return sample.error is not None and sample.error.partition(":")[0] == _TIMED_OUT


async def run_requests(
    endpoint: Endpoint,
    requests: Sequence[Request],
    concurrency: int,
    timeout_s: float,
    load_point: str,
    repeat: int,
    on_done: Callable[[int], None] = lambda done: None,
) -> tuple[list[RequestSample], float]:
    """Send all requests in order, `concurrency` at a time, and return their samples in order, and the wall time.

    Times are seconds since the load began. on_done gets the number of finished requests. A request that fails is a
    sample with an error. One without a complete answer after timeout_s ends the load: those not yet sent are samples
    with an error too, because waiting for each in turn would take hours on an engine that hangs.
    """
    loop = _ClosedLoop(endpoint, requests, on_done)
    wall_s = await loop.run(concurrency, timeout_s)
    not_sent = _Exchange(sent_s=wall_s, error="NotSent: a request before it timed out")
    samples = [
        _sample(request, loop.exchanges.get(i, not_sent), endpoint.served_name, load_point, repeat)
        for i, request in enumerate(requests)
    ]
    return samples, wall_s


class _ClosedLoop:
    """Sends the next request as soon as one of those in flight is done."""

    def __init__(self, endpoint: Endpoint, requests: Sequence[Request], on_done: Callable[[int], None]) -> None:
        self.exchanges: dict[int, _Exchange] = {}
        self._endpoint = endpoint
        self._on_done = on_done
        # Bodies are built before the clock starts.
        self._sendable = [
            (
                f"{endpoint.base_url}{request_path(request)}",
                request_body(endpoint.served_name, request),
                MAX_ANSWER_BYTES + request.max_tokens * MAX_TOKEN_BYTES,
            )
            for request in requests
        ]
        self._stopped = False
        self._began = 0.0

    async def run(self, concurrency: int, timeout_s: float) -> float:
        """Run to the end; return the wall time from the first request sent to the last answer, seconds."""
        remaining = iter(range(len(self._sendable)))
        async with aiohttp.ClientSession(
            headers=self._endpoint.headers,
            timeout=aiohttp.ClientTimeout(total=timeout_s),
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEPALIVE_S),
        ) as session:
            self._began = time.perf_counter()
            try:
                async with asyncio.TaskGroup() as group:
                    for _ in range(min(concurrency, len(self._sendable))):
                        group.create_task(self._worker(session, remaining))
            except ExceptionGroup as several:  # Of on_done; whoever gave it expects its own exception.
                raise several.exceptions[0] from several
            return self._now()

    async def _worker(self, session: aiohttp.ClientSession, remaining: Iterator[int]) -> None:
        for i in remaining:
            if self._stopped:
                return
            self.exchanges[i] = exchange = await self._exchange(session, *self._sendable[i])
            self._stopped |= exchange.timed_out
            self._on_done(len(self.exchanges))

    async def _exchange(self, session: aiohttp.ClientSession, url: str, body: bytes, limit: int) -> _Exchange:
        sent_s = self._now()
        fragments: list[Fragment] = []
        error, timed_out = None, False
        try:
            async with session.post(url, data=body, allow_redirects=False) as response:
                if response.status != 200:
                    said = error_text(await read_body(response, MAX_ERROR_BYTES))
                    return _Exchange(sent_s, error=f"HTTP {response.status}: {said}")
                if response.content_type != _EVENT_STREAM:
                    return _Exchange(sent_s, error=f"answered with {response.content_type} instead of {_EVENT_STREAM}")
                async for data in response.content.iter_any():
                    fragments.append((self._now(), data))
                    limit -= len(data)
                    if limit < 0:
                        return _Exchange(sent_s, tuple(fragments), "the answer does not end: too many bytes per token")
        except TimeoutError:
            waited_s = self._now() - sent_s
            error, timed_out = f"{_TIMED_OUT}: no complete answer after {waited_s:.0f} s", True
        except (aiohttp.ClientError, OSError) as lost:
            error = printable(f"{type(lost).__name__}: {lost}"[:500])
        return _Exchange(sent_s, tuple(fragments), error, timed_out)

    def _now(self) -> float:
        return time.perf_counter() - self._began


def _sample(request: Request, exchange: _Exchange, served_name: str, load_point: str, repeat: int) -> RequestSample:
    answer = decode_stream(exchange.fragments) if exchange.fragments else StreamedAnswer(error="the answer is empty")
    error = exchange.error or answer.error
    if error is None and answer.model not in (None, served_name):
        error = f"answered by model {printable(str(answer.model)[:100])} instead of {served_name}"
    return RequestSample(
        load_point=load_point,
        repeat=repeat,
        index=request.index,
        prompt_id=request.prompt.id,
        category=request.prompt.category,
        sent_s=exchange.sent_s,
        first_token_s=answer.first_token_s if error is None else None,
        last_token_s=answer.last_token_s if error is None else None,
        prompt_tokens=answer.prompt_tokens,
        completion_tokens=answer.completion_tokens,
        finish_reason=answer.finish_reason,
        text=answer.text,
        token_ids=answer.token_ids,
        chunk_tokens=answer.chunk_tokens,
        chunk_times_s=answer.chunk_times_s,
        error=error,
        top2_gaps=answer.top2_gaps,
        correct=_correct(request.prompt, answer.text) if error is None else None,
    )


def _correct(prompt: Prompt, text: str) -> bool | None:
    return None if prompt.reference is None else reference_found(prompt.reference, text)
