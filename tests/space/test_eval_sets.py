from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.errors import EvalSetError
from tuner.records import EvalSet, Prompt
from tuner.space.eval_sets import EvalSetNotes, dump_eval_set, find_eval_set, load_eval_set, split_lines, unique_ids
from tuner.space.shipped import shipped_dir, shipped_names

GOOD = '{"id": "a", "category": "chat", "prompt": "hello"}'


def write(tmp_path: Path, content: str | bytes) -> Path:
    path = tmp_path / "mine.jsonl"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refusal(tmp_path: Path, content: str | bytes) -> EvalSetError:
    with pytest.raises(EvalSetError) as caught:
        load_eval_set(write(tmp_path, content))
    assert caught.value.next_step
    return caught.value


def test_load_reads_every_field(tmp_path: Path) -> None:
    chat = {
        "id": 7,
        "category": "maths",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2+2?"}],
        "max_tokens": 9,
        "reference": "4",
    }
    path = write(tmp_path, json.dumps(chat) + "\n" + GOOD)
    loaded, notes = load_eval_set(path)
    assert loaded.name == "mine"
    assert loaded.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert loaded.prompts[0] == Prompt("7", "maths", tuple(chat["messages"]), None, 9, "4")  # type: ignore[arg-type]
    assert loaded.prompts[1] == Prompt("a", "chat", None, "hello")
    assert notes == EvalSetNotes() and notes.sentences == ()


def test_what_editors_do_is_handled_and_counted(tmp_path: Path) -> None:
    other = GOOD.replace('"a"', '"b"')
    content = b"\xef\xbb\xbf" + f"{GOOD}\r\n\r\n   \n{GOOD}\r\n{other}\n".encode() + b"\xef\xbb\xbf" + GOOD.encode()
    loaded, notes = load_eval_set(write(tmp_path, content))
    assert [prompt.id for prompt in loaded.prompts] == ["a", "a#2", "b", "a#3"]
    assert notes == EvalSetNotes(byte_order_marks=2, crlf_lines=3, blank_lines=2, duplicate_ids=2)
    assert len(notes.sentences) == 4 and notes.sentences[1].startswith("3 line(s)")


def test_renaming_never_collides_with_an_id_that_is_there() -> None:
    prompts = [Prompt(name, "c", prompt="x") for name in ("a", "a#2", "a", "a#2")]
    unique, renamed = unique_ids(prompts)
    assert [prompt.id for prompt in unique] == ["a", "a#2", "a#3", "a#2#2"]
    assert renamed == 2


@given(st.lists(st.sampled_from(["a", "a#2", "a#3", "b"]), max_size=12))
def test_ids_become_unique(ids: list[str]) -> None:
    unique, renamed = unique_ids([Prompt(name, "c", prompt="x") for name in ids])
    assert len({prompt.id for prompt in unique}) == len(ids)
    assert renamed == sum(prompt.id != name for prompt, name in zip(unique, ids, strict=True))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"id": "a"', "Invalid JSON: EOF while parsing an object at column"),
        ("[1]", "array"),
        ('{"category": "chat", "prompt": "x"}', "'id': Field required"),
        ('{"id": true, "category": "chat", "prompt": "x"}', "'id': Input should be a valid string"),
        ('{"id": "a", "prompt": "x"}', "'category': Field required"),
        ('{"id": "a", "category": "chat"}', "exactly one of 'messages' and 'prompt'"),
        ('{"id": "a", "category": "c", "prompt": "x", "messages": [{"role": "user", "content": "y"}]}', "exactly one"),
        ('{"id": "a", "category": "chat", "messages": []}', "'messages': List should have at least 1 item"),
        ('{"id": "a", "category": "chat", "prompt": " \\u3000 "}', "'prompt' is blank"),
        ('{"id": "a", "category": "chat", "prompt": "x", "max_token": 3}', "'max_token'; did you mean 'max_tokens'?"),
        (
            '{"id": "a", "category": "c", "messages": [{"role": "user", "contents": "x"}]}',
            "unknown key 'messages.0.contents'; did you mean 'content'?",
        ),
        ('{"id": "a", "category": "chat", "prompt": "x", "max_tokens": 0}', "'max_tokens': Input should be greater"),
        ('{"id": "a", "category": "chat", "prompt": "x", "max_tokens": true}', "'max_tokens': Input should be a valid"),
        ('{"id": "a", "category": "chat", "prompt": "\\ud800"}', "Invalid JSON"),
        ("[" * 100_000, "array"),
        ('{"id":' * 100_000, "recursion limit"),
        ('{"id": "a", "category": "c", "messages": [{"role": "tool", "content": "x"}]}', "'messages.0.role'"),
        ('{"id": "a", "category": "c", "messages": [{"role": "assistant", "content": "x"}]}', "must be the user's"),
    ],
)
def test_a_bad_line_is_named_by_number_and_reason(tmp_path: Path, line: str, reason: str) -> None:
    error = refusal(tmp_path, f"{GOOD}\n\n{line}\n" if reason != "array" else f"{line}\n")
    assert reason in error.message
    if reason != "array":
        assert "mine.jsonl:3: " in error.message


def test_only_the_first_bad_lines_are_shown(tmp_path: Path) -> None:
    error = refusal(tmp_path, "{}\n" * 9)
    assert error.message.count("mine.jsonl:") == 5
    assert error.message.endswith("... and 4 more bad lines")


@pytest.mark.parametrize("content", ["", "\n", "\r\n  \n", b"\xef\xbb\xbf"])
def test_an_empty_set_is_refused(tmp_path: Path, content: str | bytes) -> None:
    assert "is empty" in refusal(tmp_path, content).message


def test_other_encodings_are_refused(tmp_path: Path) -> None:
    assert "UTF-16" in refusal(tmp_path, GOOD.encode("utf-16")).message
    latin = f"{GOOD}\n".encode() + '{"id": "é"}'.encode("latin-1")
    assert "mine.jsonl:2: byte 9 of the line is not UTF-8" in refusal(tmp_path, latin).message


@pytest.mark.parametrize(
    ("start", "name"), [(b"PAR1\x15", "Parquet"), (b"\x1f\x8b\x08", "gzip"), (b"PK\x03\x04\x14", "ZIP")]
)
def test_files_that_are_no_text_are_named(tmp_path: Path, start: bytes, name: str) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_bytes(start)
    with pytest.raises(EvalSetError, match=name):
        load_eval_set(path)


def test_line_separators_inside_a_string_do_not_end_a_line(tmp_path: Path) -> None:
    text = "one\u2028two\u0085three"
    path = write(tmp_path, json.dumps({"id": "a", "category": "c", "prompt": text}, ensure_ascii=False))
    assert load_eval_set(path)[0].prompts[0].prompt == text


def test_a_missing_set_gets_the_nearest_name(tmp_path: Path) -> None:
    with pytest.raises(EvalSetError, match="neither a file nor a shipped eval set") as caught:
        find_eval_set("summarization")
    assert "Did you mean summarisation?" in caught.value.next_step
    with pytest.raises(EvalSetError, match="is a directory"):
        find_eval_set(tmp_path)


def test_a_set_that_cannot_be_read_is_an_input_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    path = write(tmp_path, GOOD)
    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(EvalSetError, match="cannot be read: Permission denied"):
        load_eval_set(path)


def test_a_shipped_name_wins_over_a_directory_of_that_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "chat").mkdir()
    monkeypatch.chdir(tmp_path)
    assert find_eval_set("chat") == shipped_dir("eval_sets") / "chat.jsonl"


words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(lambda text: bool(text.strip()))
chats = st.lists(words, min_size=1, max_size=3).map(
    lambda texts: tuple(
        {"role": "user" if (len(texts) - index) % 2 else "assistant", "content": text}
        for index, text in enumerate(texts)
    )
)
lengths = st.none() | st.integers(1, 4096)
references = st.none() | st.text(st.characters(exclude_categories=["Cs"]))
questions = st.builds(Prompt, words, words, chats, st.none(), lengths, references) | st.builds(
    Prompt, words, words, st.none(), words, lengths, references
)


@given(st.lists(questions, min_size=1, max_size=4, unique_by=lambda prompt: prompt.id))
def test_dump_and_load_are_inverse(tmp_path_factory: pytest.TempPathFactory, prompts: list[Prompt]) -> None:
    path = tmp_path_factory.mktemp("dumped") / "mine.jsonl"
    path.write_bytes(dump_eval_set(EvalSet("mine", tuple(prompts), "")).encode())
    loaded, notes = load_eval_set(path)
    assert loaded.prompts == tuple(prompts)
    assert notes == EvalSetNotes()


@given(st.binary(max_size=60))
def test_any_bytes_are_split_or_refused(data: bytes) -> None:
    try:
        lines, notes = split_lines(data, Path("x"))
    except EvalSetError:
        return
    assert len(lines) + notes.blank_lines == (data.removesuffix(b"\n").count(b"\n") + 1 if data else 0)


def test_names_of_shipped_sets() -> None:
    assert {"chat", "code", "demo", "maths"} <= set(shipped_names("eval_sets", ".jsonl"))


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ('{"conversations": [{"from": "human", "value": "hi"}]}', "ShareGPT"),
        ('{"question_id": 1, "turns": ["hi"]}', "MT-bench"),
        ('{"custom_id": "a", "method": "POST", "body": {}}', "OpenAI batch"),
        ('{"id": "a", "categry": "chat", "prompt": "x"}', None),
        ('["a"', None),
    ],
)
def test_another_known_format_is_to_be_imported(tmp_path: Path, line: str, name: str | None) -> None:
    step = refusal(tmp_path, f"{line}\n").next_step
    assert ("tuner eval-set import" in step and name in step) if name else "It looks like" not in step
