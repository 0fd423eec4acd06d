"""Decode streamed answers: server-sent events to tokens and times. Pure; the client calls it after the load.

What vLLM sends (seen with 0.32.0): a chunk with the role and empty content, then chunks of one or more tokens - text
may be empty while `token_ids` is not (end of sequence, half a character) - a chunk with `finish_reason`, one with
`usage` and no choices, `[DONE]`. An error can come as an event of a stream that began with HTTP 200.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, Field, Json, TypeAdapter, ValidationError

from tuner.engine.logscan import printable

Fragment = tuple[float, bytes]
"""Bytes as they came from the socket, with their time of arrival in seconds."""

Count = Annotated[int, Field(ge=0, lt=2**31)]
"""Token ids and numbers of tokens: what is larger could not be stored, and no engine means it."""

_ANY_JSON: TypeAdapter[object] = TypeAdapter(Json[object])


@dataclass(frozen=True)
class StreamedAnswer:
    """What one stream said. Times are those of its fragments; error is None for a complete answer.

    chunk_tokens is empty when the server sends no token ids, else as long as chunk_times_s.
    top2_gaps: per token, log probability of the most probable token minus that of the second, nats; empty unless the
    server told both for every token.
    """

    model: str | None = None
    first_token_s: float | None = None
    last_token_s: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    finish_reason: str | None = None
    text: str = ""
    token_ids: tuple[int, ...] = ()
    chunk_tokens: tuple[int, ...] = ()
    chunk_times_s: tuple[float, ...] = ()
    top2_gaps: tuple[float, ...] = ()
    error: str | None = None


class _Ranked(BaseModel):
    logprob: float


class _Position(BaseModel):
    top_logprobs: tuple[_Ranked, ...] = ()


class _LogProbs(BaseModel):
    """Chat has a list of positions in `content`, completions a mapping from token to log probability for each."""

    content: tuple[_Position, ...] | None = None
    top_logprobs: tuple[dict[str, float] | None, ...] | None = None

    @property
    def by_position(self) -> list[list[float]]:
        """The log probabilities told at each position."""
        if self.content is not None:
            return [[ranked.logprob for ranked in position.top_logprobs] for position in self.content]
        return [list((position or {}).values()) for position in self.top_logprobs or ()]


class _Delta(BaseModel):
    content: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None


class _Choice(BaseModel):
    delta: _Delta | None = None
    text: str | None = None
    token_ids: tuple[Count, ...] | None = None
    finish_reason: str | None = None
    logprobs: _LogProbs | None = None

    @property
    def output(self) -> str:
        """Text of a completion, or of a chat answer with what the model thought before it."""
        if self.delta is None:
            return self.text or ""
        return (self.delta.reasoning or self.delta.reasoning_content or "") + (self.delta.content or "")


class _Usage(BaseModel):
    prompt_tokens: Count
    completion_tokens: Count


class _Chunk(BaseModel):
    model: str | None = None
    choices: tuple[_Choice, ...] = ()
    usage: _Usage | None = None
    error: object = None


def events(fragments: Sequence[Fragment]) -> Iterator[Fragment]:
    """Yield the data of each server-sent event with the time at which its last byte came.

    However the bytes were cut into fragments, the data are the same. Lines end with LF or CRLF; comments and fields
    other than `data` are skipped; an event that the stream's end cuts off is dropped, as the standard says.
    """
    pending: list[bytes] = []  # Joined once a line is complete: a long line in small pieces must not cost its square.
    data: list[bytes] = []
    for at, fragment in fragments:
        *lines, rest = fragment.split(b"\n")
        if lines:
            lines[0] = b"".join((*pending, lines[0]))
            pending = []
        pending.append(rest)
        for line in lines:
            content = line.removesuffix(b"\r")
            if content.startswith(b"data:"):
                data.append(content[5:].removeprefix(b" "))
            elif not content and data:
                yield at, b"\n".join(data)
                data = []


def decode_stream(fragments: Sequence[Fragment]) -> StreamedAnswer:
    """Return what the stream said.

    A chunk is output when it has token ids, text (reasoning included) or a finish reason: the role-only first chunk
    is not, a last chunk that holds nothing but the end-of-sequence token is. Never raises: what is wrong with the
    stream is in `error`.
    """
    chunks: list[tuple[float, _Chunk]] = []
    complete = False
    for at, data in events(fragments):
        if data.strip() == b"[DONE]":
            complete = True
            break
        try:
            chunk = _Chunk.model_validate_json(data)
        except ValidationError:
            return _answer(chunks, f"unreadable event in the stream: {_shortened(data)}")
        if chunk.error is not None:
            return _answer(chunks, f"server error in the stream: {error_text(data)}")
        chunks.append((at, chunk))
    return _answer(chunks, None if complete else "the stream ended before [DONE]")


def error_text(body: bytes) -> str:
    """Return the message of an OpenAI-style error body, or the body itself, in at most 500 characters.

    Forms seen: {"error": {"message": ...}}, {"error": "..."}, {"object": "error", "message": ...} (old releases).
    """
    try:
        content = _ANY_JSON.validate_python(body)
    except ValidationError:
        return _shortened(body)
    for key in ("error", "message"):
        if isinstance(content, dict) and key in content:
            content = content[key]
    return printable(content[:500]) if isinstance(content, str) else _shortened(body)


def _answer(chunks: Sequence[tuple[float, _Chunk]], error: str | None) -> StreamedAnswer:
    outputs = [(at, choice) for at, chunk in chunks for choice in chunk.choices[:1] if _is_output(choice)]
    times = tuple(at for at, _ in outputs)
    token_ids = tuple(token for _, choice in outputs for token in choice.token_ids or ())
    usage = next((chunk.usage for _, chunk in reversed(chunks) if chunk.usage), None)
    if error is None:
        error = _missing(usage, times)
    return StreamedAnswer(
        model=next((chunk.model for _, chunk in chunks), None),
        first_token_s=times[0] if times and error is None else None,
        last_token_s=times[-1] if times and error is None else None,
        prompt_tokens=usage.prompt_tokens if usage else None,
        completion_tokens=usage.completion_tokens if usage else None,
        finish_reason=next((choice.finish_reason for _, choice in reversed(outputs) if choice.finish_reason), None),
        text="".join(choice.output for _, choice in outputs),
        token_ids=token_ids,
        chunk_tokens=tuple(len(choice.token_ids or ()) for _, choice in outputs) if token_ids else (),
        chunk_times_s=times,
        top2_gaps=_top2_gaps([choice for _, choice in outputs]),
        error=error,
    )


def _top2_gaps(choices: Sequence[_Choice]) -> tuple[float, ...]:
    """Return the gap at each token; nothing if a token lacks one, for then no gap's position would be sure."""
    gaps: list[float] = []
    for choice in choices:
        told = choice.logprobs.by_position if choice.logprobs else []
        if len(told) != len(choice.token_ids or ()) or any(len(values) < 2 for values in told):
            return ()
        for values in told:
            first, second = sorted(values, reverse=True)[:2]
            gaps.append(first - second)
    return tuple(gaps) if all(map(math.isfinite, gaps)) else ()


def _is_output(choice: _Choice) -> bool:
    return bool(choice.token_ids or choice.output or choice.finish_reason)


def _missing(usage: _Usage | None, times: Sequence[float]) -> str | None:
    if not times:
        return "the answer has no output"
    if usage is None:
        return "the answer has no usage, although stream_options.include_usage asked for it"
    return None


def _shortened(body: bytes) -> str:
    return printable(body.decode(errors="replace").strip()[:500])
