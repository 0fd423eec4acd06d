"""Counts the tokens of an eval set's prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tuner.errors import ModelError
from tuner.preflight.engine_python import run_script
from tuner.records import Json, Prompt

NO_CHAT_TEMPLATE = (
    "Use the model's instruct variant, set the engine argument chat_template to a template file, "
    "or use an eval set of plain prompts."
)


@dataclass(frozen=True)
class TokenizerSpec:
    """What turns prompts into tokens: the engine's Python, the tokenizer's directory, and what changes its result."""

    python: str
    directory: str
    trust_remote_code: bool = False
    chat_template: str | None = None


@dataclass(frozen=True)
class Counted:
    """Token counts by position.  problems: why the chat template refused a prompt, by position; its count is None."""

    counts: tuple[int | None, ...]
    problems: Mapping[int, str]


def count_words(prompts: Sequence[Prompt]) -> Counted:
    """Count white-space-separated words: the simulated engine's tokens."""
    return Counted(tuple(sum(len(text.split()) for text in _texts(prompt)) for prompt in prompts), {})


def _texts(prompt: Prompt) -> list[str]:
    if prompt.messages is None:
        return [prompt.prompt or ""]
    return [message["content"] for message in prompt.messages]


def count_tokens(prompts: Sequence[Prompt], tokenizer: TokenizerSpec) -> Counted:
    """Count tokens, chat template included, with the model's tokenizer in the engine's Python.

    Raises ModelError when the tokenizer cannot be loaded, and when there are messages and no chat template.
    """
    request = {
        "tokenizer": tokenizer.directory,
        "trust_remote_code": tokenizer.trust_remote_code,
        "chat_template": tokenizer.chat_template,
        "prompts": [_as_request(prompt) for prompt in prompts],
    }
    answer = run_script(tokenizer.python, "count_tokens.py", request)
    if not answer["has_chat_template"] and any(prompt.messages is not None for prompt in prompts):
        raise ModelError(f"the tokenizer in {tokenizer.directory} has no chat template", NO_CHAT_TEMPLATE)
    problems = {int(index): reason for index, reason in answer["problems"].items()}
    return Counted(tuple(answer["counts"]), problems)


def _as_request(prompt: Prompt) -> dict[str, Any]:
    if prompt.messages is None:
        return {"prompt": prompt.prompt}
    return {"messages": [dict(message) for message in prompt.messages]}


def chat_template_text(value: Json) -> str | None:
    """Return the text of an engine argument chat_template: a file's content, or the template itself; None if not set.

    Raises ModelError for a path that is no file.
    """
    if not isinstance(value, str) or not value:
        return None
    if "{" in value or "\n" in value:
        return value
    path = Path(value).expanduser()
    if not path.is_file():
        raise ModelError(
            f"chat_template: {value} is not a file", "Check the path; the engine would fail on it as well."
        )
    return path.read_text(encoding="utf-8")
