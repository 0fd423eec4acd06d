"""Eval sets: JSONL files of prompts, one a line.

A line is an object with `id`, `category`, exactly one of `messages` (chat) and `prompt` (completion), and optionally
`max_tokens` and `reference`. What editors and exporters do to such files without changing their meaning (byte order
mark, CRLF, blank lines) is handled and counted; so are duplicate ids. Anything else wrong is refused, by line number.
"""

from __future__ import annotations

import codecs
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from tuner.errors import EvalSetError
from tuner.records import EvalSet, Prompt
from tuner.space.shipped import shipped_dir, shipped_names

KIND = "eval_sets"
SUFFIX = ".jsonl"
LINE_FORMAT = 'A line looks like {"id": "a-1", "category": "chat", "messages": [{"role": "user", "content": "Hello"}]}.'
_BAD_LINES_SHOWN = 5
_MOST_OF_A_KEY = 60

NonBlank = Annotated[str, StringConstraints(pattern=r"\S")]


def _number_to_text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


class MessageLine(BaseModel):
    """One message of a chat, as written in an eval set."""

    model_config = ConfigDict(extra="forbid", strict=True)

    role: Literal["system", "user", "assistant"]
    content: NonBlank


class PromptLine(BaseModel):
    """One line of an eval set, as written."""

    model_config = ConfigDict(extra="forbid", strict=True)

    id: Annotated[NonBlank, BeforeValidator(_number_to_text)]
    category: NonBlank
    messages: Annotated[list[MessageLine], Field(min_length=1)] | None = None
    prompt: NonBlank | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    reference: str | None = None

    @model_validator(mode="after")
    def _one_question(self) -> PromptLine:
        if (self.messages is None) == (self.prompt is None):
            raise ValueError("exactly one of 'messages' and 'prompt' is needed")
        if self.messages and self.messages[-1].role != "user":
            raise ValueError("the last message must be the user's: the engine writes the next one")
        return self

    def to_prompt(self) -> Prompt:
        """Return the frozen form."""
        messages = None if self.messages is None else tuple(message.model_dump() for message in self.messages)
        return Prompt(self.id, self.category, messages, self.prompt, self.max_tokens, self.reference)


_FOREIGN_KEYS = {"conversations": "ShareGPT", "turns": "MT-bench", "body": "an OpenAI batch"}
"""A key that only one of the formats has which `tuner eval-set import` reads."""


@dataclass(frozen=True)
class EvalSetNotes:
    """What was found in the file and put right: counts."""

    byte_order_marks: int = 0
    crlf_lines: int = 0
    blank_lines: int = 0
    duplicate_ids: int = 0

    @property
    def sentences(self) -> tuple[str, ...]:
        """One sentence for a person per thing that was found; empty for a clean file."""
        found = (
            (self.byte_order_marks, "byte order mark(s) removed"),
            (self.crlf_lines, "line(s) ended in CRLF"),
            (self.blank_lines, "blank line(s) skipped"),
            (self.duplicate_ids, "duplicate id(s) made unique with a #2, #3 ... suffix"),
        )
        return tuple(f"{count} {what}" for count, what in found if count)


def find_eval_set(name_or_path: str | Path) -> Path:
    """Return the file of an eval set: a path, or the name of one that comes with this package.

    Raises EvalSetError with the nearest shipped name when there is no such file.
    """
    text = str(name_or_path)
    path = Path(text).expanduser()
    if path.is_file():
        return path
    names = shipped_names(KIND, SUFFIX)
    if text in names:
        return shipped_dir(KIND) / f"{text}{SUFFIX}"
    what = "is a directory, not a file" if path.is_dir() else "is neither a file nor a shipped eval set"
    near = get_close_matches(path.stem, names, n=1)
    hint = f"Did you mean {near[0]}? " if near else ""
    raise EvalSetError(f"eval set {text!r} {what}", f"{hint}Shipped eval sets: {', '.join(names)}.")


def load_eval_set(name_or_path: str | Path) -> tuple[EvalSet, EvalSetNotes]:
    """Read an eval set; its name is the file's stem.

    Raises EvalSetError for a missing, unreadable or empty file, and names each bad line (the first five) by number.
    """
    path = find_eval_set(name_or_path)
    data = read_bytes(path)
    lines, notes = split_lines(data, path)
    prompts = _parse_lines(lines, path)
    if not prompts:
        raise EvalSetError(f"eval set {path} is empty: it has no prompt", LINE_FORMAT)
    unique, renamed = unique_ids(prompts)
    return EvalSet(path.stem, unique, hashlib.sha256(data).hexdigest()), replace(notes, duplicate_ids=renamed)


def dump_eval_set(eval_set: EvalSet) -> str:
    """Return the JSONL text of an eval set: UTF-8, LF, absent keys left out."""
    return dump_prompts(eval_set.prompts)


def dump_prompts(prompts: Iterable[Prompt]) -> str:
    """Return the JSONL text of prompts, as `load_eval_set` reads it."""
    return "".join(json.dumps(_as_line(prompt), ensure_ascii=False) + "\n" for prompt in prompts)


def _as_line(prompt: Prompt) -> dict[str, object]:
    fields = {
        "id": prompt.id,
        "category": prompt.category,
        "messages": None if prompt.messages is None else [dict(message) for message in prompt.messages],
        "prompt": prompt.prompt,
        "max_tokens": prompt.max_tokens,
        "reference": prompt.reference,
    }
    return {key: value for key, value in fields.items() if value is not None}


def read_bytes(path: Path) -> bytes:
    """Return a file's bytes; EvalSetError if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise EvalSetError(f"{path} cannot be read: {error.strerror}", "Check the path and its permissions.") from error


_OTHER_FILES = (
    (b"PAR1", "a Parquet file", "Write its rows as JSONL: pandas' to_json(..., orient='records', lines=True) does."),
    (b"\x1f\x8b", "compressed (gzip)", "Unpack it: gunzip."),
    (b"PK\x03\x04", "a ZIP archive or a spreadsheet", "Unpack it, or save the table's rows as JSONL."),
)
"""First bytes of files that are taken for eval sets; what they are; what to do."""


def split_lines(data: bytes, path: Path) -> tuple[list[tuple[int, str]], EvalSetNotes]:
    """Return the non-blank lines with their numbers (from 1), and what was put right.

    Only LF and CRLF end a line: U+2028 and the like may stand inside a JSON string. A byte order mark may begin any
    line, as in a file made by joining others.
    Raises EvalSetError for UTF-16 or UTF-32, and for bytes that are not UTF-8 (by line number).
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise EvalSetError(f"{path} is UTF-16 or UTF-32", f"Convert it: iconv -t UTF-8 {path} > new.jsonl")
    for start, name, step in _OTHER_FILES:
        if data.startswith(start):
            raise EvalSetError(f"{path} is {name}, not text", step)
    raw = data.removesuffix(b"\n").split(b"\n") if data else []
    texts = [
        (number, _decode(line.removeprefix(codecs.BOM_UTF8), number, path).strip())
        for number, line in enumerate(raw, 1)
    ]
    lines = [(number, text) for number, text in texts if text]
    marks = sum(line.startswith(codecs.BOM_UTF8) for line in raw)
    crlf = sum(line.endswith(b"\r") for line in raw)
    return lines, EvalSetNotes(marks, crlf, len(texts) - len(lines))


def _decode(line: bytes, number: int, path: Path) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        message = f"{path}:{number}: byte {error.start + 1} of the line is not UTF-8"
        raise EvalSetError(message, "Save the file as UTF-8.") from error


def _parse_lines(lines: Sequence[tuple[int, str]], path: Path) -> list[Prompt]:
    if lines and lines[0][1].startswith("["):
        step = "For ShareGPT and other formats: tuner eval-set import."
        raise EvalSetError(f"{path} holds a JSON array, not one JSON object a line", f"{step} {LINE_FORMAT}")
    prompts: list[Prompt] = []
    bad: list[str] = []
    for number, text in lines:
        try:
            prompts.append(PromptLine.model_validate_json(text).to_prompt())
        except ValidationError as error:
            bad.append(f"{path}:{number}: {_reason(error)}")
    if bad:
        step = _foreign_format(lines[0][1]) or LINE_FORMAT
        more = f"\n... and {len(bad) - _BAD_LINES_SHOWN} more bad lines" if len(bad) > _BAD_LINES_SHOWN else ""
        raise EvalSetError("\n".join(bad[:_BAD_LINES_SHOWN]) + more, step)
    return prompts


def _foreign_format(line: str) -> str | None:
    """Return how to import a file whose first line has the keys of a known format; None if it has not."""
    try:
        keys = json.loads(line)
    except (ValueError, RecursionError):
        return None
    found = next((name for key, name in _FOREIGN_KEYS.items() if key in keys), None) if isinstance(keys, dict) else None
    return found and f"It looks like {found}. Convert it: tuner eval-set import FILE --out NEW.jsonl"


def _reason(error: ValidationError) -> str:
    """Return what is wrong with a line, in words that name the key; a misspelt key before what is missing for it."""
    details = error.errors(include_url=False, include_context=False)
    first = next((detail for detail in details if detail["type"] == "extra_forbidden"), details[0])
    where = ".".join(str(part)[:_MOST_OF_A_KEY] for part in first["loc"])
    if first["type"] == "extra_forbidden":
        known = MessageLine.model_fields if len(first["loc"]) > 1 else PromptLine.model_fields
        near = get_close_matches(str(first["loc"][-1])[:_MOST_OF_A_KEY], known, n=1)
        return f"unknown key '{where}'" + (f"; did you mean '{near[0]}'?" if near else "")
    if first["type"] == "string_pattern_mismatch":
        return f"'{where}' is blank"
    text = first["msg"].removeprefix("Value error, ").replace(" at line 1 column ", " at column ")
    return f"'{where}': {text}" if where else text


def unique_ids(prompts: Iterable[Prompt]) -> tuple[tuple[Prompt, ...], int]:
    """Return the prompts with unique ids, and how many were renamed: the second "a" becomes "a#2"."""
    kept: list[Prompt] = []
    taken: set[str] = set()
    copies: Counter[str] = Counter()
    renamed = 0
    for prompt in prompts:
        name = prompt.id
        while name in taken:
            copies[prompt.id] += 1
            name = f"{prompt.id}#{copies[prompt.id] + 1}"
        renamed += name != prompt.id
        taken.add(name)
        kept.append(replace(prompt, id=name))
    return tuple(kept), renamed
