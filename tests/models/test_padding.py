"""A padded copy: the same logits for every real token, and none larger for a padding one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tuner.errors import EngineNotFound, ModelError, OutputError
from tuner.models.padding import SCRIPT, pad_vocabulary

# torch stays out of this process: models are made and asked in one of their own.
MAKE = """
import pathlib, sys, torch, transformers
for name, tied, shard in (("tied", True, "1GB"), ("sharded", False, "10KB")):
    torch.manual_seed(0)
    config = transformers.LlamaConfig(vocab_size=96, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, tie_word_embeddings=tied, initializer_range=0.5)
    model = transformers.LlamaForCausalLM(config).to(torch.bfloat16)
    model.save_pretrained(pathlib.Path(sys.argv[1]) / name, max_shard_size=shard)
"""
ASK = """
import json, pathlib, sys, torch, transformers
tokens = torch.randint(0, 96, (1, 64), generator=torch.Generator().manual_seed(1))
def logits(path):
    model = transformers.AutoModelForCausalLM.from_pretrained(path, dtype=torch.bfloat16).eval()
    with torch.no_grad():
        return model(tokens).logits[0].float()
answers = {}
for name in ("tied", "sharded"):
    plain, padded = logits(f"{sys.argv[1]}/{name}"), logits(f"{sys.argv[1]}/{name}-padded")
    answers[name] = {
        "rows": [plain.shape[-1], padded.shape[-1]],
        "equal": bool(torch.equal(plain, padded[:, :96])),
        "margin": float((padded[:, :96].max(-1).values - padded[:, 96:].max(-1).values).min()),
    }
print(json.dumps(answers))
"""
# States for which every real logit is far below 0: a row of zeros would win at all of them.
RESIZED = """
import importlib.util, json, sys, torch
spec = importlib.util.spec_from_file_location("pad", sys.argv[1])
pad = importlib.util.module_from_spec(spec); spec.loader.exec_module(pad)
torch.manual_seed(0)
common = torch.ones(32)
states = 3 * common + torch.randn(200, 32)
rows = (torch.randn(96, 32) / 4 - common).to(torch.bfloat16)
bias = torch.randn(96)
wide, wide_bias = pad.resized(rows, 128), pad.resized(bias, 128)
logits = states @ wide.float().T + wide_bias
print(json.dumps({
    "largest": float(logits[:, :96].max()),
    "margin": float((logits[:, :96].max(-1).values - logits[:, 96:].max(-1).values).min()),
    "kept": bool(torch.equal(wide[:96], rows)) and bool(torch.equal(wide_bias[:96], bias)),
    "cut": bool(torch.equal(pad.resized(rows, 80), rows[:80])),
    "types": [str(wide.dtype), str(wide_bias.dtype)],
}))
"""


def python(code: str, *arguments: object) -> str:
    done = subprocess.run([sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_padding_token_never_wins_even_where_all_logits_are_negative() -> None:
    answer = json.loads(python(RESIZED, SCRIPT))
    assert answer["largest"] < -10
    assert answer["margin"] > 0.5
    assert answer["kept"] and answer["cut"]
    assert answer["types"] == ["torch.bfloat16", "torch.float32"]


def test_padded_models_answer_as_before(tmp_path: Path) -> None:
    python(MAKE, tmp_path)
    for name in ("tied", "sharded"):
        made = tmp_path / name
        (made / "tokenizer.json").write_text('{"kept": true}')
        (made / "pytorch_model.bin").write_bytes(b"old shapes")
        before = {file.name: file.read_bytes() for file in made.iterdir()}
        padded = pad_vocabulary(sys.executable, made, tmp_path / f"{name}-padded", 128)
        assert {file.name: file.read_bytes() for file in made.iterdir()} == before
        assert len(padded.changed) == (1 if name == "tied" else 2)
        assert set(padded.changed.values()) == {(96, 128)}
        assert json.loads((padded.directory / "config.json").read_text())["vocab_size"] == 128
        assert (padded.directory / "tokenizer.json").read_text() == '{"kept": true}'
        assert not (padded.directory / "pytorch_model.bin").exists()
    index = "model.safetensors.index.json"
    was, now = (
        json.loads((tmp_path / name / index).read_text())["metadata"]["total_size"]
        for name in ("sharded", "sharded-padded")
    )
    assert now == was + 2 * (128 - 96) * 32 * 2
    answers: dict[str, Any] = json.loads(python(ASK, tmp_path))
    for answer in answers.values():
        assert answer["rows"] == [96, 128]
        assert answer["equal"] and answer["margin"] > 0.5


def test_nothing_is_written_over(tmp_path: Path) -> None:
    draft = tmp_path / "draft"
    draft.mkdir()
    (tmp_path / "there").mkdir()
    with pytest.raises(OutputError, match="there exists"):
        pad_vocabulary(sys.executable, draft, tmp_path / "there", 128)
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"):
        pad_vocabulary(sys.executable, draft, tmp_path / "file" / "out", 128)


@pytest.mark.parametrize(
    ("script", "error", "message"),
    [
        ("print('refused: it is quantised'); raise SystemExit(3)", ModelError, "cannot be padded: it is quantised"),
        ("print('missing: torch'); raise SystemExit(4)", EngineNotFound, "lacks torch"),
        ("raise ValueError('no header')", ModelError, "failed: ValueError: no header"),
        ("import pathlib, sys; pathlib.Path(sys.argv[2], 'half').touch(); raise SystemExit(9)", ModelError, "failed"),
    ],
)
def test_a_failure_leaves_nothing(tmp_path: Path, script: str, error: type[Exception], message: str) -> None:
    (tmp_path / "draft").mkdir()
    (tmp_path / "script.py").write_text(script)
    with pytest.raises(error, match=message):
        pad_vocabulary(sys.executable, tmp_path / "draft", tmp_path / "out", 128, script=tmp_path / "script.py")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["draft", "script.py"]


def test_a_model_without_safetensors_is_refused(tmp_path: Path) -> None:
    draft = tmp_path / "draft"
    draft.mkdir()
    (draft / "config.json").write_text('{"vocab_size": 96}')
    with pytest.raises(ModelError, match="no input embedding of a known name"):
        pad_vocabulary(sys.executable, draft, tmp_path / "out", 128, script=SCRIPT)


def test_an_interpreter_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(EngineNotFound, match="cannot be run"):
        pad_vocabulary(str(tmp_path / "python"), tmp_path, tmp_path / "out", 128)
