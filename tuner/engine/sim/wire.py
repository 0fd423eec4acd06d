"""The bytes of vLLM's answers: server-sent chunks put together from ready pieces, whole answers, errors."""

from __future__ import annotations

import json
import math
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tuner.engine.sim.answers import TEXTS, prompt_token_ids, text_of

DONE = b"data: [DONE]\n\n"
_TEXT_BYTES = {token_id: text.encode() for token_id, text in TEXTS.items()}


def _json_bytes(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def usage(prompt_tokens: int, completion_tokens: int) -> dict[str, int]:
    """Return the token counts of an answer as OpenAI's API has them."""
    total = prompt_tokens + completion_tokens
    return {"prompt_tokens": prompt_tokens, "total_tokens": total, "completion_tokens": completion_tokens}


@dataclass(frozen=True)
class Shape:
    """What one of the two endpoints calls things.

    before, after: around the text in a chunk's choice.  logprobs: token ids and gaps to what a choice tells of them.
    """

    id_prefix: str
    stream_object: str
    whole_object: str
    before: bytes
    after: bytes
    logprobs: Callable[[Sequence[int], Sequence[float]], Mapping[str, object]]


def _top2(token_id: int, gap: float) -> list[tuple[str, float]]:
    """Return the two most probable tokens, by id as `return_tokens_as_token_ids` asks; there is no third."""
    first = -math.log1p(math.exp(-gap))
    return [(f"token_id:{token_id}", first), (f"token_id:{token_id + 1}", first - gap)]


def _chat_logprobs(token_ids: Sequence[int], gaps: Sequence[float]) -> Mapping[str, object]:
    ranked = [
        [{"token": token, "logprob": value} for token, value in _top2(token_id, gap)]
        for token_id, gap in zip(token_ids, gaps, strict=True)
    ]
    return {"content": [{**both[0], "top_logprobs": both} for both in ranked]}


def _completion_logprobs(token_ids: Sequence[int], gaps: Sequence[float]) -> Mapping[str, object]:
    ranked = [dict(_top2(token_id, gap)) for token_id, gap in zip(token_ids, gaps, strict=True)]
    return {
        "tokens": [next(iter(both)) for both in ranked],
        "token_logprobs": [next(iter(both.values())) for both in ranked],
        "top_logprobs": ranked,
    }


CHAT = Shape(
    "chatcmpl-",
    "chat.completion.chunk",
    "chat.completion",
    b'{"index":0,"delta":{"content":"',
    b'"}',
    _chat_logprobs,
)
COMPLETION = Shape("cmpl-", "text_completion", "text_completion", b'{"index":0,"text":"', b'"', _completion_logprobs)


class Encoder:
    """Encodes one answer.  with_token_ids: whether the client asked for `return_token_ids`."""

    def __init__(self, shape: Shape, model: str, prompt: str, with_token_ids: bool) -> None:
        self._shape = shape
        self._model = model
        self._prompt = prompt
        self._with_token_ids = with_token_ids
        self._id = shape.id_prefix + uuid.uuid4().hex
        self._created = int(time.time())
        head = _json_bytes(self._head(shape.stream_object))
        self._head_bytes = b"data: " + head[:-1] + b',"choices":['

    def _head(self, kind: str) -> dict[str, object]:
        return {"id": self._id, "object": kind, "created": self._created, "model": self._model}

    def opening(self) -> bytes:
        """Return the role-only chunk that a chat stream begins with; nothing for completions."""
        if self._shape is not CHAT:
            return b""
        delta = b'{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}'
        prompt_ids = _json_bytes(prompt_token_ids(self._prompt)) if self._with_token_ids else b"null"
        return self._head_bytes + delta + b'],"prompt_token_ids":' + prompt_ids + b"}\n\n"

    def chunk(
        self, token_ids: Sequence[int], finish_reason: str | None, top2_gaps: Sequence[float] | None = None
    ) -> bytes:
        """Return the chunk that carries these tokens; with top2_gaps (nats), their log probabilities too."""
        text = b"".join([_TEXT_BYTES.get(token_id, b"") for token_id in token_ids])
        reason = b"null" if finish_reason is None else b'"%b","stop_reason":null' % finish_reason.encode()
        ids = b"[%b]" % b",".join([b"%d" % token_id for token_id in token_ids]) if self._with_token_ids else b"null"
        shape = self._shape
        logprobs = b"null" if top2_gaps is None else _json_bytes(shape.logprobs(token_ids, top2_gaps))
        return b'%b%b%b%b,"logprobs":%b,"finish_reason":%b,"token_ids":%b}]}\n\n' % (
            self._head_bytes,
            shape.before,
            text,
            shape.after,
            logprobs,
            reason,
            ids,
        )

    def usage_chunk(self, prompt_tokens: int, completion_tokens: int) -> bytes:
        """Return the chunk with the token counts, which has no choices."""
        counts = _json_bytes(usage(prompt_tokens, completion_tokens))
        return self._head_bytes + b'],"usage":' + counts + b"}\n\n"

    def whole(self, token_ids: Sequence[int], finish_reason: str, prompt_tokens: int) -> dict[str, object]:
        """Return the answer to a request that does not stream."""
        text = text_of(token_ids)
        choice: dict[str, object] = {"index": 0, "logprobs": None, "finish_reason": finish_reason, "stop_reason": None}
        if self._shape is CHAT:
            choice["message"] = {"role": "assistant", "content": text}
        else:
            choice["text"] = text
        choice["token_ids"] = list(token_ids) if self._with_token_ids else None
        counts = usage(prompt_tokens, len(token_ids))
        return {**self._head(self._shape.whole_object), "choices": [choice], "usage": counts}


def error_body(message: str, kind: str, status: int, param: str | None = None) -> Mapping[str, object]:
    """Return the body of an error as vLLM words it."""
    return {"error": {"message": message, "type": kind, "param": param, "code": status}}
