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
import json, pathlib, sys, torch, transformers
out, tied, shards = pathlib.Path(sys.argv[1]), sys.argv[2] == "tied", sys.argv[3]
torch.manual_seed(0)
config = transformers.LlamaConfig(vocab_size=96, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
    num_attention_heads=4, num_key_value_heads=2, tie_word_embeddings=tied, initializer_range=0.5)
model = transformers.LlamaForCausalLM(config).to(torch.bfloat16)
model.save_pretrained(out, max_shard_size=shards)
"""
ASK = """
import json, sys, torch, transformers
tokens = torch.randint(0, 96, (1, 64), generator=torch.Generator().manual_seed(1))
logits = []
for path in sys.argv[1:]:
    model = transformers.AutoModelForCausalLM.from_pretrained(path, dtype=torch.bfloat16).eval()
    with torch.no_grad():
        logits.append(model(tokens).logits[0].float())
plain, padded = logits
print(json.dumps({
    "rows": [plain.shape[-1], padded.shape[-1]],
    "equal": bool(torch.equal(plain, padded[:, :96])),
    "margin": float((padded[:, :96].max(-1).values - padded[:, 96:].max(-1).values).min()),
    "same_choice": bool(torch.equal(plain.argmax(-1), padded.argmax(-1))),
}))
"""


def python(code: str, *arguments: object) -> str:
    done = subprocess.run([sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module", params=["tied 1GB", "untied 1GB", "untied 10KB"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = tmp_path_factory.mktemp("padding") / "draft"
    python(MAKE, model, *request.param.split())
    (model / "tokenizer.json").write_text('{"kept": true}')
    (model / "pytorch_model.bin").write_bytes(b"old shapes")
    return model


def test_a_padding_token_never_wins_and_real_ones_stay_as_they_are(made: Path) -> None:
    before = {file.name: file.read_bytes() for file in made.iterdir()}
    padded = pad_vocabulary(sys.executable, made, made.parent / "padded", 128)
    assert {file.name: file.read_bytes() for file in made.iterdir()} == before
    assert set(padded.changed.values()) == {(96, 128)}
    answer: dict[str, Any] = json.loads(python(ASK, made, padded.directory))
    assert answer["rows"] == [96, 128]
    assert answer["equal"] and answer["same_choice"]
    assert answer["margin"] > 0.5
    assert json.loads((padded.directory / "config.json").read_text())["vocab_size"] == 128
    assert (padded.directory / "tokenizer.json").read_text() == '{"kept": true}'
    assert not (padded.directory / "pytorch_model.bin").exists()
    index = padded.directory / "model.safetensors.index.json"
    if index.is_file():
        was, now = (
            json.loads((path / index.name).read_text())["metadata"]["total_size"] for path in (made, index.parent)
        )
        assert now == was + 2 * (128 - 96) * 32 * 2


def test_rows_beyond_every_token_can_be_cut(made: Path) -> None:
    cut = pad_vocabulary(sys.executable, made, made.parent / "cut", 80)
    assert set(cut.changed.values()) == {(96, 80)}


def test_nothing_is_written_over(made: Path, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    with pytest.raises(OutputError, match="there exists"):
        pad_vocabulary(sys.executable, made, tmp_path / "there", 128)
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"):
        pad_vocabulary(sys.executable, made, tmp_path / "file" / "out", 128)


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
