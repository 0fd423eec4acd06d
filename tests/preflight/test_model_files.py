from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tuner.errors import ModelError
from tuner.preflight.model_files import check_directory, check_tokenizer, check_weights, read_config, weight_files

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


@pytest.mark.parametrize("name", ["tiktoken.model", "tokenizer.model.v3", "tekken.json", "tokenization_kimi.py"])
def test_tokenizers_of_other_forms_are_tokenizers(make_model: MakeModel, name: str) -> None:
    model = make_model()
    (model / "tokenizer.json").rename(model / name)
    check_tokenizer(model, "target")


def test_weights_in_a_form_that_is_not_loaded_may_be_pointers(make_model: MakeModel) -> None:
    model = make_model()
    (model / "pytorch_model.bin").write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n")
    check_weights(model, "target")
    assert weight_files(model) == [model / "model.safetensors"]


def test_one_complete_set_of_shards_is_enough(make_model: MakeModel) -> None:
    model = make_model()
    consolidated = model / "consolidated.safetensors.index.json"
    consolidated.write_text(json.dumps({"weight_map": {"a": "consolidated-00001-of-00002.safetensors"}}))
    refused(check_weights, model, "lacks 1 weight file")
    (model / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": "model.safetensors"}}))
    check_weights(model, "target")


def test_an_index_of_shards_that_were_left_out(make_model: MakeModel) -> None:
    model = make_model()
    (model / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": "m-1.safetensors"}}))
    refused(check_weights, model, "lacks 1 weight file")
    (model / "model.safetensors").rename(model / "consolidated.safetensors")
    check_weights(model, "target")
    (model / "consolidated.safetensors").rename(model / "pytorch_model.bin")
    check_weights(model, "target")


def test_mistrals_own_configuration(make_model: MakeModel) -> None:
    model = make_model()
    params = {"dim": 5120, "n_layers": 40, "n_heads": 32, "n_kv_heads": 8, "head_dim": 128, "hidden_dim": 14336}
    moe = {"num_experts": 8, "num_experts_per_tok": 2, "expert_hidden_dim": 64}
    yarn = {"factor": 4, "original_max_position_embeddings": 8192}
    more = {"vision_encoder": {"hidden_size": 1024}, "vocab_size": 131072, "moe": moe, "yarn": yarn}
    (model / "params.json").write_text(json.dumps(params | more))
    assert read_config(model, "target") == {"max_position_embeddings": 64}
    (model / "config.json").unlink()
    config = read_config(model, "target")
    assert (config["hidden_size"], config["num_hidden_layers"], config["num_key_value_heads"]) == (5120, 40, 8)
    assert (config["vocab_size"], config["n_routed_experts"], config["num_experts_per_tok"]) == (131072, 8, 2)
    assert config["vision_config"] == {"hidden_size": 1024}
    assert config["rope_parameters"]["rope_type"] == "yarn"
    (model / "params.json").write_text("[]")
    refused(read_config, model, "params.json is not a JSON object")
