"""Requests as clients send them, checked as vLLM checks them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tuner.engine.sim.answers import count_prompt_tokens
from tuner.engine.sim.wire import CHAT, COMPLETION, Shape
from tuner.engine.sim.work import Job

# What the completions endpoint takes when no limit is given.
_COMPLETION_MAX_TOKENS = 16
_MAX_LOGPROBS = 20


class RequestRefused(Exception):
    """The request is answered with an error.  status: HTTP status.  kind: the error's type as vLLM names it."""

    def __init__(self, message: str, status: int = 400, kind: str = "BadRequestError") -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind


class _StreamOptions(BaseModel):
    include_usage: bool = False


class _Body(BaseModel):
    model_config = ConfigDict(extra="ignore")

    model: str | None = None
    stream: bool = False
    stream_options: _StreamOptions | None = None
    n: Annotated[int, Field(ge=1, le=1)] = 1
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = None
    temperature: Annotated[float, Field(ge=0.0)] | None = None
    top_p: Annotated[float, Field(gt=0.0, le=1.0)] | None = None
    top_k: Annotated[int, Field(ge=-1)] | None = None
    seed: int | None = None
    ignore_eos: bool = False
    return_token_ids: bool | None = None
    cache_salt: Annotated[str, Field(min_length=1)] | None = None


class _ChatBody(_Body):
    messages: Annotated[list[dict[str, Any]], Field(min_length=1)]
    logprobs: bool | None = False
    top_logprobs: Annotated[int, Field(ge=0, le=_MAX_LOGPROBS)] = 0

    @property
    def ranked(self) -> int | None:
        return self.top_logprobs if self.logprobs else None

    def text(self) -> str:
        return "\n".join(_content_text(message.get("content")) for message in self.messages)


class _CompletionBody(_Body):
    prompt: str | list[int]
    logprobs: Annotated[int, Field(ge=0, le=_MAX_LOGPROBS)] | None = None

    @property
    def ranked(self) -> int | None:
        return self.logprobs

    def text(self) -> str:
        return self.prompt if isinstance(self.prompt, str) else " ".join(map(str, self.prompt))


def _content_text(content: object) -> str:
    if isinstance(content, list):
        return " ".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return "" if content is None else str(content)


@dataclass(frozen=True)
class Asked:
    """A request that can be served.

    stream, include_usage, token_ids: the form of the answer.  logprobs: how many tokens' log probabilities are wanted
    at each position, None for none.
    """

    job: Job
    stream: bool
    include_usage: bool
    token_ids: bool
    logprobs: int | None = None


def parse_request(raw: bytes, shape: Shape, served_name: str, max_model_len: int) -> Asked:
    """Check a request's body. Raises RequestRefused."""
    body_type: type[_ChatBody] | type[_CompletionBody] = _ChatBody if shape is CHAT else _CompletionBody
    try:
        body = body_type.model_validate_json(raw)
    except ValidationError as error:
        raise RequestRefused(json.dumps(error.errors(include_url=False, include_input=False), default=str)) from error
    if body.model not in (None, served_name):
        raise RequestRefused(f"The model `{body.model}` does not exist.", 404, "NotFoundError")
    text = body.text()
    prompt_tokens = count_prompt_tokens(text)
    job = Job(
        prompt=text,
        prompt_tokens=prompt_tokens,
        max_tokens=_answer_limit(body, shape, prompt_tokens, max_model_len),
        temperature=1.0 if body.temperature is None else body.temperature,
        top_p=1.0 if body.top_p is None else body.top_p,
        top_k=-1 if body.top_k is None else body.top_k,
        seed=body.seed,
        ignore_eos=body.ignore_eos,
        cache_salt=body.cache_salt or "",
    )
    options = body.stream_options
    include_usage = bool(options and options.include_usage)
    return Asked(job, body.stream, include_usage, bool(body.return_token_ids), body.ranked)


def _answer_limit(body: _Body, shape: Shape, prompt_tokens: int, max_model_len: int) -> int:
    limit = body.max_completion_tokens or body.max_tokens
    if limit is None:
        limit = _COMPLETION_MAX_TOKENS if shape is COMPLETION else max(1, max_model_len - prompt_tokens)
    if prompt_tokens + limit > max_model_len:
        raise RequestRefused(
            f"This model's maximum context length is {max_model_len} tokens. However, you requested {limit} output "
            f"tokens and your prompt contains {prompt_tokens} input tokens, for a total of {prompt_tokens + limit} "
            "tokens. Please reduce the length of the input prompt or the number of requested output tokens."
        )
    return limit


def parse_tokenize(raw: bytes) -> str:
    """Return the text that a request to /tokenize is about. Raises RequestRefused."""
    try:
        body = json.loads(raw)
        text = body["prompt"] if "prompt" in body else _ChatBody.model_validate(body).text()
    except (ValueError, KeyError, TypeError) as error:
        raise RequestRefused("either a prompt or messages are needed") from error
    if not isinstance(text, str):
        raise RequestRefused("the prompt has to be a string")
    return text
