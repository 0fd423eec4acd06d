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
from pathlib import Path
from typing import Any


def load_tokenizer(directory: str, trust_remote_code: bool) -> Any:
    """Return the tokenizer; without remote code torch is not needed, and leaving it out saves seconds."""
    if not trust_remote_code:
        sys.modules["torch"] = None  # type: ignore[assignment]
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(directory, trust_remote_code=trust_remote_code, local_files_only=True)


def mistral_file(directory: str) -> Path | None:
    """Return the file of Mistral's own tokenizer, which needs no chat template; None where there is none."""
    files = sorted([*Path(directory).glob("tekken.json"), *Path(directory).glob("tokenizer.model.v*")])
    return files[0] if files else None


def count_as_mistral(file: Path, prompts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the answer by mistral-common, as vLLM counts in its tokenizer mode `mistral`."""
    from mistral_common.exceptions import MistralCommonException
    from mistral_common.protocol.instruct.request import ChatCompletionRequest
    from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

    tokenizer = MistralTokenizer.from_file(str(file))
    counts: list[int | None] = []
    problems: dict[int, str] = {}
    for index, prompt in enumerate(prompts):
        counts.append(None)
        try:
            if "messages" in prompt:
                request: Any = ChatCompletionRequest(messages=prompt["messages"])
                counts[index] = len(tokenizer.encode_chat_completion(request).tokens)
            else:
                counts[index] = len(
                    tokenizer.instruct_tokenizer.tokenizer.encode(prompt["prompt"], bos=True, eos=False)
                )
        except (MistralCommonException, ValueError) as error:
            problems[index] = str(error)
    return {"counts": counts, "problems": problems, "has_chat_template": True}


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


def answer_to(request: dict[str, Any]) -> dict[str, Any]:
    """Return the answer; Mistral's own tokenizer counts where the other form has no chat template."""
    file = mistral_file(request["tokenizer"])
    try:
        tokenizer = load_tokenizer(request["tokenizer"], request["trust_remote_code"])
    except (OSError, ValueError):
        if file is None:
            raise
        return count_as_mistral(file, request["prompts"])
    if request["chat_template"] is not None:
        tokenizer.chat_template = request["chat_template"]
    elif file is not None and not tokenizer.chat_template:
        return count_as_mistral(file, request["prompts"])
    return count_all(tokenizer, request["prompts"])


def main() -> None:
    """Answer one request."""
    request = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):  # libraries may print; standard output carries the answer only
        answer = answer_to(request)
    print("\n" + json.dumps(answer))


if __name__ == "__main__":
    main()
