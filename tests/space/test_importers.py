from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tuner.errors import EvalSetError
from tuner.records import Prompt
from tuner.space.eval_sets import dump_eval_set, load_eval_set
from tuner.space.importers import Format, import_eval_set


def lines(tmp_path: Path, *records: Any, name: str = "theirs.jsonl") -> Path:
    path = tmp_path / name
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def array(tmp_path: Path, *records: Any) -> Path:
    path = tmp_path / "theirs.json"
    path.write_text(json.dumps(records, indent=1))
    return path


def user(text: str) -> tuple[dict[str, str], ...]:
    return ({"role": "user", "content": text},)


def test_vllm_custom(tmp_path: Path) -> None:
    imported = import_eval_set(lines(tmp_path, {"prompt": "Why?", "output_tokens": 10}, {"prompt": "How?"}))
    assert imported.format == "vllm-custom"
    assert imported.eval_set.name == "theirs"
    assert imported.eval_set.prompts == (
        Prompt("theirs-1", "theirs", user("Why?"), max_tokens=10),
        Prompt("theirs-2", "theirs", user("How?")),
    )
    assert imported.sentences == ()


def test_sharegpt_array(tmp_path: Path) -> None:
    turn = {"from": "human", "value": "Hi"}
    answer = {"from": "gpt", "value": "Hello!"}
    imported = import_eval_set(
        array(
            tmp_path,
            {"id": "x_0", "conversations": [{"from": "system", "value": "Be kind."}, turn, answer, turn, answer]},
            {"id": "x_0", "conversations": [turn, turn]},
            {"id": "x_1", "conversations": [answer, turn]},
            {"id": "x_2", "conversations": []},
            {"id": "x_3", "conversations": [{"from": "human", "value": " "}]},
            {"id": "x_4", "conversations": [{"from": "tool", "value": "1"}]},
            {"id": "x_5", "conversations": "none"},
            7,
        ),
        name="share",
    )
    assert imported.format == "sharegpt"
    assert imported.eval_set.prompts == (
        Prompt("x_0", "share", ({"role": "system", "content": "Be kind."}, *user("Hi")), reference="Hello!"),
        Prompt("x_0#2", "share", user("Hi")),
    )
    assert imported.skipped == {
        "the conversation begins with an answer": 1,
        "the conversation has no question": 1,
        "the user's text is blank": 1,
        "unknown speaker 'tool'": 1,
        "'conversations' is not a list of turns": 1,
        "not a JSON object": 1,
    }
    assert imported.left_out == {"later turns": 2}
    assert "later turns left out of 2 record(s)" in imported.sentences
    assert imported.notes.duplicate_ids == 1


def test_mt_bench(tmp_path: Path) -> None:
    imported = import_eval_set(
        lines(
            tmp_path,
            {"question_id": 81, "category": "writing", "turns": ["Write.", "Rewrite."]},
            {"question_id": 111, "category": "math", "turns": ["2+2?"], "reference": ["4", "5"]},
            {"question_id": 112, "category": "math", "turns": []},
        )
    )
    assert imported.format == "mt-bench"
    assert imported.eval_set.prompts == (
        Prompt("81", "writing", user("Write.")),
        Prompt("111", "math", user("2+2?"), reference="4"),
    )
    assert imported.skipped == {"'turns' is not a list of questions": 1}
    assert imported.left_out == {"later turns": 1}


def batch(url: str, **body: Any) -> dict[str, Any]:
    return {"custom_id": "r", "method": "POST", "url": url, "body": {"model": "m", **body}}


def test_openai_batch(tmp_path: Path) -> None:
    chat, parts = "/v1/chat/completions", [{"type": "text", "text": "Hi"}, {"type": "text", "text": "there"}]
    image = [{"type": "image_url", "image_url": {"url": "x"}}]
    imported = import_eval_set(
        lines(
            tmp_path,
            batch(chat, messages=[{"role": "developer", "content": "D"}, *user("Hi")], max_completion_tokens=5),
            batch(chat, messages=[{"role": "user", "content": parts}], max_tokens=6, temperature=1),
            batch("/v1/completions", prompt="Once", max_tokens=0),
            batch("/v1/completions", prompt=[1, 2]),
            batch("/v1/embeddings", input="x"),
            batch(chat, messages=[{"role": "user", "content": image}]),
            batch(chat, messages=list(user("Hi")), tools=[{"type": "function"}]),
            batch(chat, messages=[*user("Hi"), {"role": "assistant", "content": "Ho"}]),
            batch(chat, messages=[{"role": "tool", "content": "Hi"}]),
            batch(chat, messages=[]),
            {"custom_id": "r"},
        )
    )
    assert imported.format == "openai-batch"
    assert imported.eval_set.prompts == (
        Prompt("r", "theirs", ({"role": "system", "content": "D"}, *user("Hi")), max_tokens=5),
        Prompt("r#2", "theirs", user("Hi\nthere"), max_tokens=6),
        Prompt("r#3", "theirs", prompt="Once"),
    )
    assert imported.skipped == {
        "'prompt' is not text": 1,
        "endpoint '/v1/embeddings' is not chat or completions": 1,
        "content of type 'image_url'": 1,
        "uses tools": 1,
        "the last message is not the user's": 1,
        "a message of role 'tool'": 1,
        "'messages' is not a list of messages": 1,
        "'body' is not an object": 1,
    }
    assert imported.left_out == {"sampling parameters": 1}


def test_what_is_imported_loads_again_with_the_same_hash(tmp_path: Path) -> None:
    imported = import_eval_set(lines(tmp_path, {"prompt": "為什麼?\u2028"}, {"prompt": "b", "output_tokens": 3}))
    written = tmp_path / "theirs-new.jsonl"
    written.write_text(dump_eval_set(imported.eval_set), encoding="utf-8")
    loaded, _ = load_eval_set(written)
    assert loaded.prompts == imported.eval_set.prompts
    assert loaded.sha256 == imported.eval_set.sha256


def test_half_a_surrogate_pair_is_skipped(tmp_path: Path) -> None:
    imported = import_eval_set(lines(tmp_path, {"prompt": "\ud83d"}, {"prompt": "\ud83d\ude00"}))
    assert [prompt.messages for prompt in imported.eval_set.prompts] == [user("😀")]
    assert list(imported.skipped) == ["'prompt' holds half a surrogate pair, which UTF-8 cannot carry"]


def test_limit(tmp_path: Path) -> None:
    path = lines(tmp_path, {"prompt": ""}, *({"prompt": str(n)} for n in range(9)))
    assert [prompt.id for prompt in import_eval_set(path, limit=2).eval_set.prompts] == ["theirs-2", "theirs-3"]


def test_line_ends_and_marks_are_counted_in_jsonl(tmp_path: Path) -> None:
    path = tmp_path / "theirs.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"prompt": "a"}\r\n\r\n')
    notes = import_eval_set(path).notes
    assert (notes.byte_order_marks, notes.crlf_lines, notes.blank_lines) == (1, 2, 1)


@pytest.mark.parametrize(
    ("content", "fmt", "message"),
    [
        ('{"prompt": "a"}\n{"prompt": ', "auto", "theirs.jsonl:2: not JSON"),
        ('[{"conversations": []},\n\n oops]', "auto", "theirs.jsonl:3: not JSON"),
        ("[" * 200_000, "auto", "theirs.jsonl:1: JSON that Python cannot read"),
        ('{"prompt": ' + "1" * 5000 + "}", "auto", "theirs.jsonl:1: JSON that Python cannot read"),
        ('{"text": "a"}', "auto", r"not recognised: the first record's keys are 'text'"),
        ("3", "auto", "not recognised: the first record is no JSON object"),
        ("", "auto", "not recognised"),
        ('{"prompt": "a"}', "mt-bench", "nothing in .* as mt-bench: 1 x 'turns' is not a list"),
        ("", "sharegpt", "the file is empty"),
        ('{"id": "a", "category": "c", "prompt": "x"}', "auto", "is already an eval set"),
    ],
)
def test_what_cannot_be_imported_is_refused(tmp_path: Path, content: str, fmt: Format, message: str) -> None:
    path = tmp_path / "theirs.jsonl"
    path.write_text(content)
    with pytest.raises(EvalSetError, match=message) as caught:
        import_eval_set(path, fmt)
    assert caught.value.next_step


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EvalSetError, match="cannot be read: No such file"):
        import_eval_set(tmp_path / "none.json")
