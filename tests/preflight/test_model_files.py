from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tuner.errors import ModelError
from tuner.preflight.model_files import check_directory, check_tokenizer, check_weights, read_config

MakeModel = Callable[..., Path]


def refused(check: Callable[[Path, str], object], directory: Path, message: str) -> None:
    with pytest.raises(ModelError, match=message) as caught:
        check(directory, "draft 'good'")
    assert caught.value.message.startswith("draft 'good': ")
    assert str(directory) in caught.value.message
    assert caught.value.next_step


def test_a_whole_model_passes(make_model: MakeModel) -> None:
    model = make_model()
    check_directory(model, "target")
    check_weights(model, "target")
    check_tokenizer(model, "target")
    assert read_config(model, "target") == {"max_position_embeddings": 64}


def test_what_is_no_model_directory(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    refused(check_directory, tmp_path / "none", "does not exist")
    refused(check_directory, tmp_path / "file", "is a file")
    refused(check_directory, tmp_path / "empty", "is empty")


def test_config(make_model: MakeModel) -> None:
    model = make_model()
    (model / "config.json").write_text("[1]")
    refused(read_config, model, "is not a JSON object")
    (model / "config.json").write_text("{")
    refused(read_config, model, "is not JSON")
    (model / "config.json").unlink()
    refused(read_config, model, "has no config.json")


def test_weights(make_model: MakeModel) -> None:
    model = make_model()
    weights = model / "model.safetensors"
    weights.write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n")
    refused(check_weights, model, "Git LFS pointer")
    weights.write_bytes(b"")
    refused(check_weights, model, "model.safetensors is empty")
    weights.unlink()
    (model / "training_args.bin").write_bytes(b"x")
    refused(check_weights, model, "has no weights")
    (model / "pytorch_model.bin").write_bytes(b"x")
    check_weights(model, "target")


def test_a_shard_that_the_index_names_is_missed(make_model: MakeModel) -> None:
    model = make_model()
    index = model / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "model.safetensors", "b": "m-2.safetensors", "c": "m-3"}}))
    refused(check_weights, model, "lacks 2 weight file.*first m-2.safetensors")
    index.write_text("{}")
    with pytest.raises(ModelError, match="is no weight index"):
        check_weights(model, "target")


def test_tokenizer_config_alone_is_no_tokenizer(make_model: MakeModel) -> None:
    model = make_model()
    (model / "tokenizer.json").unlink()
    refused(check_tokenizer, model, "has no tokenizer")
