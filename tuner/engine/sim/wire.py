"""The bytes of vLLM's answers: server-sent chunks put together from ready pieces, whole answers, errors."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Mapping, Sequence
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
    """What one of the two endpoints calls things.  before, after: around the text in a chunk's choice."""

    id_prefix: str
    stream_object: str
    whole_object: str
    before: bytes
    after: bytes


CHAT = Shape("chatcmpl-", "chat.completion.chunk", "chat.completion", b'{"index":0,"delta":{"content":"', b'"}')
COMPLETION = Shape("cmpl-", "text_completion", "text_completion", b'{"index":0,"text":"', b'"')


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

    def chunk(self, token_ids: Sequence[int], finish_reason: str | None) -> bytes:
        """Return the chunk that carries these tokens."""
        text = b"".join([_TEXT_BYTES.get(token_id, b"") for token_id in token_ids])
        reason = b"null" if finish_reason is None else b'"%b","stop_reason":null' % finish_reason.encode()
        ids = b"[%b]" % b",".join([b"%d" % token_id for token_id in token_ids]) if self._with_token_ids else b"null"
        shape = self._shape
        return b'%b%b%b%b,"logprobs":null,"finish_reason":%b,"token_ids":%b}]}\n\n' % (
            self._head_bytes,
            shape.before,
            text,
            shape.after,
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
