"""Eval sets from the formats people have: one function per format, one row each in `FORMATS`.

Only the first question of a conversation is taken: what follows it rests on an answer that another model gave.
Sampling parameters in the source are left out, because they belong to the load point. A record that cannot be used is
skipped and counted with its reason; text that is not JSON at all is refused by line number.
"""

from __future__ import annotations

import codecs
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

from tuner.errors import EvalSetError
from tuner.records import EvalSet, Prompt
from tuner.space.eval_sets import EvalSetNotes, dump_prompts, read_bytes, split_lines, unique_ids

Format = Literal["auto", "vllm-custom", "sharegpt", "mt-bench", "openai-batch"]
Record = Mapping[str, Any]

_SHAREGPT_ROLES = {"system": "system", "human": "user", "user": "user"}
_SHAREGPT_ROLES |= dict.fromkeys(("gpt", "assistant", "chatgpt", "bing", "bard", "model"), "assistant")
_BATCH_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_SAMPLING_KEYS = {"temperature", "top_p", "top_k", "seed", "stop", "n", "presence_penalty", "frequency_penalty"}
_MOST_KEYS, _MOST_OF_A_KEY = 10, 60


class Unusable(ValueError):
    """A record that no prompt can be made of; the text is the reason under which it is counted."""


@dataclass(frozen=True)
class ImportedSet:
    """An imported eval set.

    skipped: records left out, by reason.  left_out: parts of kept records left out, by what.
    """

    eval_set: EvalSet
    format: Format
    notes: EvalSetNotes
    skipped: Mapping[str, int]
    left_out: Mapping[str, int]

    @property
    def sentences(self) -> tuple[str, ...]:
        """One sentence for a person per thing worth knowing."""
        skipped = tuple(f"{count} record(s) skipped: {reason}" for reason, count in self.skipped.items())
        left_out = tuple(f"{what} left out of {count} record(s)" for what, count in self.left_out.items())
        return (*skipped, *left_out, *self.notes.sentences)


@dataclass(frozen=True)
class _Row:
    """One format: the keys of which one marks it, what makes a prompt of a record, and what it leaves out."""

    marks: tuple[str, ...]
    convert: Callable[[Record], Prompt]
    left_out: Callable[[Record], Sequence[str]]


def import_eval_set(
    path: str | Path, fmt: Format = "auto", name: str | None = None, *, limit: int | None = None
) -> ImportedSet:
    """Make an eval set of a file in another format.

    fmt: "auto" recognises it by its first record.  name: of the new set, the file's stem if None.
    limit: stop after so many prompts.  Raises EvalSetError for a file that cannot be read, is not JSON (by line
    number), is in no known format, or holds nothing usable.
    """
    source = Path(path).expanduser()
    records, notes = _read_records(source)
    chosen = _recognise(records, source) if fmt == "auto" else fmt
    row = FORMATS[chosen]
    set_name = name or source.stem
    prompts: list[Prompt] = []
    skipped: Counter[str] = Counter()
    left_out: Counter[str] = Counter()
    for where, record in records:
        if limit is not None and len(prompts) >= limit:
            break
        try:
            prompt = row.convert(_as_object(record))
        except Unusable as reason:
            skipped[str(reason)] += 1
            continue
        prompts.append(_filled_in(prompt, set_name, where))
        left_out.update(row.left_out(record))
    if not prompts:
        reasons = "; ".join(f"{count} x {reason}" for reason, count in skipped.items()) or "the file is empty"
        raise EvalSetError(f"nothing in {source} could be imported as {chosen}: {reasons}", _other_formats(chosen))
    unique, renamed = unique_ids(prompts)
    sha256 = hashlib.sha256(dump_prompts(unique).encode()).hexdigest()
    eval_set = EvalSet(set_name, unique, sha256)
    return ImportedSet(eval_set, chosen, replace(notes, duplicate_ids=renamed), dict(skipped), dict(left_out))


def _filled_in(prompt: Prompt, set_name: str, where: int) -> Prompt:
    """A format without ids gets the record's number; one without categories gets the set's name."""
    return replace(prompt, id=prompt.id or f"{set_name}-{where}", category=prompt.category or set_name)


def _read_records(path: Path) -> tuple[list[tuple[int, Any]], EvalSetNotes]:
    """Return the records with their numbers (line, or position in an array, from 1)."""
    data = read_bytes(path)
    lines, notes = split_lines(data, path)
    if lines and lines[0][1].startswith("["):
        whole = _parse(data.removeprefix(codecs.BOM_UTF8).decode(), path, 1)
        # Blank lines and line ends mean nothing inside an array, so there is nothing to report about them.
        return list(enumerate(whole, 1)), EvalSetNotes(byte_order_marks=notes.byte_order_marks)
    return [(number, _parse(text, path, number)) for number, text in lines], notes


def _parse(text: str, path: Path, line: int) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        where = f"{path}:{line + error.lineno - 1}"
        raise EvalSetError(f"{where}: not JSON: {error.msg} at column {error.colno}", "Mend the line.") from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, or nesting that deep
        raise EvalSetError(f"{path}:{line}: JSON that Python cannot read: {error}", "Mend the line.") from error


def _recognise(records: Sequence[tuple[int, Any]], path: Path) -> Format:
    keys = set(records[0][1]) if records and isinstance(records[0][1], dict) else set()
    if {"id", "category"} <= keys and keys & {"messages", "prompt"}:
        raise EvalSetError(f"{path} is already an eval set", f"Use it as it is: --eval-set {path}")
    for fmt, row in FORMATS.items():
        if keys & set(row.marks):
            return fmt
    shown = ", ".join(repr(key[:_MOST_OF_A_KEY]) for key in sorted(keys)[:_MOST_KEYS])
    found = f"the first record's keys are {shown}" if keys else "the first record is no JSON object"
    raise EvalSetError(f"the format of {path} is not recognised: {found}", _other_formats("auto"))


def _other_formats(tried: str) -> str:
    return f"Formats: {', '.join(fmt for fmt in FORMATS if fmt != tried)}; name one with --format."


def _as_object(record: object) -> Record:
    if not isinstance(record, dict):
        raise Unusable("not a JSON object")
    return cast("Record", record)


def _text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise Unusable(f"{what} is not text")
    if not value.strip():
        raise Unusable(f"{what} is blank")
    if any("\ud800" <= char <= "\udfff" for char in value):
        raise Unusable(f"{what} holds half a surrogate pair, which UTF-8 cannot carry")
    return value


def _label(value: object) -> str:
    """An id or category: text or a number, "" for anything else."""
    return str(value).strip() if isinstance(value, (str, int)) and not isinstance(value, bool) else ""


def _length(value: object) -> int | None:
    usable = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    return cast("int", value) if usable else None


def _reference(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _nothing(_: Record) -> tuple[str, ...]:
    return ()


def _from_vllm_custom(record: Record) -> Prompt:
    """vLLM's custom dataset: {"prompt", "output_tokens"?}; its benchmark, too, sends the prompt as a user's message."""
    messages = ({"role": "user", "content": _text(record.get("prompt"), "'prompt'")},)
    category = _label(record.get("category"))
    return Prompt(_label(record.get("id")), category, messages, max_tokens=_length(record.get("output_tokens")))


def _turns(record: Record) -> list[Record]:
    turns = record.get("conversations", record.get("conversation"))
    if not isinstance(turns, list) or not all(isinstance(turn, dict) for turn in turns):
        raise Unusable("'conversations' is not a list of turns")
    return turns


def _from_sharegpt(record: Record) -> Prompt:
    """ShareGPT: {"id"?, "conversations": [{"from", "value"}, ...]}: up to the first question; reference: its answer."""
    messages: list[dict[str, str]] = []
    turns = _turns(record)
    for position, turn in enumerate(turns, 1):
        role = _SHAREGPT_ROLES.get(_label(turn.get("from")))
        if role is None:
            raise Unusable(f"unknown speaker {_label(turn.get('from'))!r}")
        if role == "assistant":
            raise Unusable("the conversation begins with an answer")
        messages.append({"role": role, "content": _text(turn.get("value"), f"the {role}'s text")})
        if role == "user":
            return Prompt(_label(record.get("id")), "", tuple(messages), reference=_sharegpt_answer(turns[position:]))
    raise Unusable("the conversation has no question")


def _sharegpt_answer(later: Sequence[Record]) -> str | None:
    answered = bool(later) and _SHAREGPT_ROLES.get(_label(later[0].get("from"))) == "assistant"
    return _reference(later[0].get("value")) if answered else None


def _sharegpt_left_out(record: Record) -> tuple[str, ...]:
    questions = sum(_SHAREGPT_ROLES.get(_label(turn.get("from"))) == "user" for turn in _turns(record))
    return ("later turns",) if questions > 1 else ()


def _from_mt_bench(record: Record) -> Prompt:
    """MT-bench questions: {"question_id", "category", "turns": [first, second], "reference"?: [...]}."""
    turns = record.get("turns")
    if not isinstance(turns, list) or not turns:
        raise Unusable("'turns' is not a list of questions")
    messages = ({"role": "user", "content": _text(turns[0], "the first turn")},)
    references = record.get("reference")
    reference = _reference(references[0]) if isinstance(references, list) and references else None
    return Prompt(_label(record.get("question_id")), _label(record.get("category")), messages, reference=reference)


def _mt_bench_left_out(record: Record) -> tuple[str, ...]:
    return ("later turns",) if len(record["turns"]) > 1 else ()


def _from_openai_batch(record: Record) -> Prompt:
    """OpenAI batch requests: {"custom_id", "url", "body": {"messages" | "prompt", "max_tokens"?, ...}}."""
    body = record.get("body")
    if not isinstance(body, dict):
        raise Unusable("'body' is not an object")
    if body.get("tools") or body.get("functions"):
        raise Unusable("uses tools")
    name = _label(record.get("custom_id"))
    length = _length(body.get("max_completion_tokens", body.get("max_tokens")))
    url = str(record.get("url", "")).rstrip("/")
    if url.endswith("/chat/completions"):
        return Prompt(name, "", _batch_messages(body.get("messages")), max_tokens=length)
    if url.endswith("/completions"):
        return Prompt(name, "", prompt=_text(body.get("prompt"), "'prompt'"), max_tokens=length)
    raise Unusable(f"endpoint {url!r} is not chat or completions")


def _batch_messages(value: object) -> tuple[Mapping[str, str], ...]:
    if not isinstance(value, list) or not value:
        raise Unusable("'messages' is not a list of messages")
    messages = tuple(_batch_message(message) for message in value)
    if messages[-1]["role"] != "user":
        raise Unusable("the last message is not the user's")
    return messages


def _batch_message(message: object) -> dict[str, str]:
    fields = _as_object(message)
    role = _BATCH_ROLES.get(_label(fields.get("role")))
    if role is None:
        raise Unusable(f"a message of role {_label(fields.get('role'))!r}")
    content = fields.get("content")
    if isinstance(content, list):
        content = "\n".join(_text_part(part) for part in content)
    return {"role": role, "content": _text(content, f"the {role}'s text")}


def _text_part(part: object) -> str:
    fields = _as_object(part)
    if fields.get("type") != "text":
        raise Unusable(f"content of type {_label(fields.get('type'))!r}")
    return _text(fields.get("text"), "a text part")


def _batch_left_out(record: Record) -> tuple[str, ...]:
    return ("sampling parameters",) if _SAMPLING_KEYS & set(record["body"]) else ()


FORMATS: Mapping[Format, _Row] = {
    "openai-batch": _Row(("custom_id", "body"), _from_openai_batch, _batch_left_out),
    "mt-bench": _Row(("turns",), _from_mt_bench, _mt_bench_left_out),
    "sharegpt": _Row(("conversations", "conversation"), _from_sharegpt, _sharegpt_left_out),
    "vllm-custom": _Row(("prompt",), _from_vllm_custom, _nothing),
}
