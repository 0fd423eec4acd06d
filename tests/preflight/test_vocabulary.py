"""Token maps: read, and compared."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.preflight import vocabulary
from tuner.preflight.engine_python import ScriptFailed
from tuner.preflight.vocabulary import Vocabulary, compare, parse_tokenizer, read_vocabulary

TEXTS = st.lists(st.text(max_size=3), unique=True, max_size=30)


def numbered(texts: list[str]) -> Vocabulary:
    return Vocabulary({text: number for number, text in enumerate(texts)})


def test_added_tokens_belong_to_the_map_and_come_last() -> None:
    document = {
        "model": {"type": "BPE", "vocab": {"a": 0, "b": 1}},
        "added_tokens": [{"id": 2, "content": "<end>"}, {"id": 1, "content": "b"}],
    }
    found = parse_tokenizer(document, {"eos_token": "<end>", "pad_token": "<none>"})
    assert found == Vocabulary({"a": 0, "b": 1, "<end>": 2}, frozenset({"<end>", "b"}), {"eos_token": 2})
    assert found.size == 3


def test_a_unigram_model_numbers_its_pieces() -> None:
    document = {"model": {"type": "Unigram", "vocab": [["<unk>", 0.0], ["▁a", -1.5], ["b", -2]]}}
    assert parse_tokenizer(document).tokens == {"<unk>": 0, "▁a": 1, "b": 2}


def test_the_first_difference_and_the_kinds_of_difference_are_counted() -> None:
    found = compare(Vocabulary({"a": 0, "b": 1, "c": 2, "d": 3}), Vocabulary({"a": 0, "c": 1, "b": 2, "e": 4}))
    assert (found.conflicting, found.only_target, found.only_draft) == (2, 1, 1)
    assert found.first == (1, "b", "c")
    assert (found.differing, found.same, found.shared) == (4, False, 3)
    assert found.conflicting_share == 2 / 3


def test_either_sign_for_a_leading_space_is_the_same_text() -> None:
    assert compare(Vocabulary({"Ġa": 0, "b": 1}), Vocabulary({"▁a": 5, "c": 1})).shared == 1


@given(TEXTS)
def test_a_map_is_its_own_copy(texts: list[str]) -> None:
    found = compare(numbered(texts), numbered(list(texts)))
    assert found.same and found.first is None and found.shared == len({vocabulary._plain(text) for text in texts})
    assert numbered(texts).sha256 == numbered(list(texts)).sha256


@given(TEXTS, TEXTS)
def test_hashes_are_equal_exactly_where_nothing_differs(one: list[str], other: list[str]) -> None:
    target, draft = numbered(one), numbered(other)
    found = compare(target, draft)
    assert (target.sha256 == draft.sha256) is found.same
    back = compare(draft, target)
    assert (back.conflicting, back.only_target, back.only_draft) == (
        found.conflicting,
        found.only_draft,
        found.only_target,
    )
    assert found.target_tokens + found.only_draft == found.draft_tokens + found.only_target


def test_special_tokens_are_found_in_either_file(make_files: Callable[..., Path]) -> None:
    directory = make_files()
    (directory / "special_tokens_map.json").write_text(json.dumps({"eos_token": {"content": "</s>"}, "bos_token": "a"}))
    found = read_vocabulary(directory, python=sys.executable)
    assert found is not None
    assert found.special == {"bos_token": 1, "eos_token": 2, "unk_token": 0}  # tokenizer_config.json has the last word


def test_any_other_tokenizer_is_read_by_the_engines_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = {"tokens": {"a": 0}, "added": ["a"], "special": {"eos_token": 0}}
    monkeypatch.setattr(vocabulary, "run_script", lambda python, script, request, **_: answer)
    assert read_vocabulary(tmp_path, python="p") == Vocabulary({"a": 0}, frozenset({"a"}), {"eos_token": 0})

    def failing(*_: object, **__: object) -> None:
        raise ScriptFailed("it cannot", "")

    monkeypatch.setattr(vocabulary, "run_script", failing)
    assert read_vocabulary(tmp_path, python="p") is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"model": {"vocab": 3}}', '{"model": {"vocab": {"a": "x"}}, "a": 1'])
def test_what_is_no_tokenizer_is_no_map(tmp_path: Path, text: str) -> None:
    (tmp_path / "tokenizer.json").write_text(text)
    assert read_vocabulary(tmp_path, python=sys.executable) is None


def test_the_script_reads_a_tokenizer_without_tokenizer_json(tmp_path: Path) -> None:
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b"]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer"}))
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}))
    found = read_vocabulary(tmp_path, python=sys.executable)
    assert found is not None
    assert found.tokens == {word: number for number, word in enumerate(words)}
    assert found.special["pad_token"] == 0
