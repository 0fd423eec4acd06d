"""Whether padding is what a draft needs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tuner.cli import main
from tuner.engine import resolve
from tuner.engine.resolve import Engine
from tuner.errors import ModelError
from tuner.models import padding
from tuner.models.padding import Padded
from tuner.preflight.padding import rows_for

MakeFiles = Callable[..., Path]
SHUFFLED = {"<unk>": 0, "<s>": 1, "</s>": 2, "c": 3, "a": 4, "b": 5}


def rows(draft: Path, target: Path) -> int:
    return rows_for(str(draft), str(target), python=sys.executable).rows


def test_the_targets_size_is_wanted(make_files: MakeFiles) -> None:
    assert rows(make_files("draft"), make_files(vocab_size=8)) == 8
    assert rows(make_files("wide", vocab_size=16), make_files("narrow", vocab_size=8)) == 8


@pytest.mark.parametrize(
    ("draft", "target", "message"),
    [
        (
            {"tokens": SHUFFLED},
            {"vocab_size": None, "rows": 8},
            r"another tokenizer: 3 token ids .* first id 3 \('c', the .* 'a'\)",
        ),
        ({}, {}, "has vocab_size 6 already"),
        ({"added": {"<new>": 9}, "vocab_size": 16}, {"vocab_size": 8}, "token ids up to 9, and the .* vocab_size is 8"),
        ({}, {"vocab_size": None}, "has vocab_size 6 already"),
    ],
)
def test_what_padding_cannot_mend_is_refused(
    make_files: MakeFiles, draft: dict[str, object], target: dict[str, object], message: str
) -> None:
    if target.get("vocab_size", 6) is None:
        target = {**target, "rows": 6}
    with pytest.raises(ModelError, match=message):
        rows(make_files("draft", **draft), make_files(**target))


def test_a_target_that_names_no_size(make_files: MakeFiles) -> None:
    draft, target = make_files("draft"), make_files(vocab_size=None, rows=8)
    assert rows(draft, target) == 8  # its weights have one
    (target / "model.safetensors").rename(target / "pytorch_model.bin")
    with pytest.raises(ModelError, match="names no vocab_size"):
        rows(draft, target)


def test_few_other_tokens_are_no_other_tokenizer(make_files: MakeFiles) -> None:
    tokens = {f"t{number}": number for number in range(1000)}
    draft = make_files("draft", tokens=tokens, added={"<eos>": 999}, vocab_size=1000)
    target = make_files(tokens=tokens, added={"<end>": 999}, vocab_size=1024)
    wanted = rows_for(str(draft), str(target), python=sys.executable)
    assert wanted.rows == 1024
    assert "1 token ids stand for another text, first id 999" in wanted.note


def test_a_draft_without_a_tokenizer_is_padded_with_a_note(make_files: MakeFiles) -> None:
    draft = make_files("draft")
    (draft / "tokenizer.json").unlink()
    wanted = rows_for(str(draft), str(make_files(vocab_size=8)), python=sys.executable)
    assert wanted.rows == 8 and "could not be compared" in wanted.note


def test_the_command_pads_what_may_be_padded(
    make_files: MakeFiles, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    target, draft, odd = make_files(vocab_size=8), make_files("draft"), make_files("odd", tokens=SHUFFLED)
    asked: list[tuple[Path, Path, int]] = []

    def pad(python: str, source: Path, out: Path, rows: int) -> Padded:
        asked.append((source, out, rows))
        return Padded(out, {"model.embed_tokens.weight": (6, rows)})

    monkeypatch.setattr(resolve, "resolve_engine", lambda spec: Engine("vllm", sys.executable, "0.32.0", "cpu"))
    monkeypatch.setattr(padding, "pad_vocabulary", pad)
    arguments = ("models", "pad", str(draft), str(tmp_path / "out"), "--like", str(target))
    assert main_code(*arguments) == 0
    assert capsys.readouterr().out == f"model.embed_tokens.weight: 6 rows -> 8\n{tmp_path / 'out'}\n"
    assert main_code(*arguments, "--json") == 0
    assert json.loads(capsys.readouterr().out)["changed"] == {"model.embed_tokens.weight": [6, 8]}
    assert asked == [(draft, tmp_path / "out", 8)] * 2
    assert main_code("models", "pad", str(odd), "out", "--like", str(target)) == 2
    assert "padding cannot help" in capsys.readouterr().err
    assert len(asked) == 2


def main_code(*arguments: str) -> object:
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    return exit_.value.code
