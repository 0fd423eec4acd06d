"""Runs in the engine's Python: counts the tokens of prompts as the engine will, by the model's own tokenizer.

Reads one JSON object on standard input, {"tokenizer": DIRECTORY, "trust_remote_code": bool, "chat_template": TEXT or
null, "prompts": [{"messages": [...]} or {"prompt": TEXT}, ...]}, and writes one on standard output: {"counts": [...],
"problems": {INDEX: REASON}, "has_chat_template": bool}. A tokenizer that cannot
be loaded is a traceback, exit status 1.
"""

from __future__ import annotations

import contextlib
import json
import sys
from typing import Any


def load_tokenizer(directory: str, trust_remote_code: bool) -> Any:
    """Return the tokenizer; without remote code torch is not needed, and leaving it out saves seconds."""
    if not trust_remote_code:
        sys.modules["torch"] = None  # type: ignore[assignment]
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(directory, trust_remote_code=trust_remote_code, local_files_only=True)


def count(tokenizer: Any, prompt: dict[str, Any]) -> int:
    """Return the tokens of one prompt, chat template and special tokens included, as vLLM renders it."""
    if "messages" not in prompt:
        return len(tokenizer(prompt["prompt"])["input_ids"])
    text = tokenizer.apply_chat_template(prompt["messages"], tokenize=False, add_generation_prompt=True)
    return len(tokenizer(text, add_special_tokens=False)["input_ids"])


def count_all(tokenizer: Any, prompts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the counts, None where the chat template refuses the messages, and why it does."""
    from jinja2 import TemplateError

    has_template = bool(tokenizer.chat_template)
    counts: list[int | None] = []
    problems: dict[int, str] = {}
    for index, prompt in enumerate(prompts):
        counts.append(None)
        if "messages" in prompt and not has_template:
            continue
        try:
            counts[index] = count(tokenizer, prompt)
        except TemplateError as error:
            problems[index] = str(error)
    return {"counts": counts, "problems": problems, "has_chat_template": has_template}


def main() -> None:
    """Answer one request."""
    request = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):  # libraries may print; standard output carries the answer only
        tokenizer = load_tokenizer(request["tokenizer"], request["trust_remote_code"])
        if request["chat_template"] is not None:
            tokenizer.chat_template = request["chat_template"]
        answer = count_all(tokenizer, request["prompts"])
    print("\n" + json.dumps(answer))


if __name__ == "__main__":
    main()
