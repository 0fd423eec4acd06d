"""Runs in the engine's Python: the token map of a tokenizer that has no tokenizer.json.

Reads {"tokenizer": DIRECTORY, "trust_remote_code": bool} on standard input and writes {"tokens": {TEXT: ID},
"added": [TEXT, ...], "special": {ROLE: ID}} on standard output. A tokenizer that cannot be loaded is a traceback, exit
status 1.
"""

from __future__ import annotations

import contextlib
import json
import sys
from typing import Any

ROLES = ("bos_token", "eos_token", "pad_token", "unk_token")


def token_map(tokenizer: Any) -> dict[str, Any]:
    """Return the answer for a loaded tokenizer."""
    special = {role: getattr(tokenizer, f"{role}_id", None) for role in ROLES}
    return {
        "tokens": tokenizer.get_vocab(),
        "added": list(tokenizer.get_added_vocab()),
        "special": {role: number for role, number in special.items() if number is not None},
    }


def main() -> None:
    """Answer one request."""
    request = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):  # libraries may print; standard output carries the answer only
        if not request["trust_remote_code"]:
            sys.modules["torch"] = None  # type: ignore[assignment]  # not needed, and it takes seconds to import
        from transformers import AutoTokenizer

        answer = token_map(
            AutoTokenizer.from_pretrained(
                request["tokenizer"], trust_remote_code=request["trust_remote_code"], local_files_only=True
            )
        )
    print("\n" + json.dumps(answer))


if __name__ == "__main__":
    main()
