import json
import shutil
import struct
from pathlib import Path

from tuner.provenance import fingerprint, machine, model_identity, profile_identity
from tuner.records import EvalSet, LoadPoint, Prompt, Protocol


def write_model(directory: Path, weights: bytes = b"\0" * 1_000_000) -> Path:
    directory.mkdir(parents=True)
    (directory / "config.json").write_text('{"vocab_size": 4}')
    header = json.dumps({"w": {"dtype": "U8", "shape": [len(weights)], "data_offsets": [0, len(weights)]}}).encode()
    (directory / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + weights)
    return directory


def test_a_copy_elsewhere_is_the_same_model(tmp_path: Path) -> None:
    original = write_model(tmp_path / "a")
    copy = shutil.copytree(original, tmp_path / "b" / "c", copy_function=shutil.copyfile)
    assert model_identity(str(original), str(original)) == model_identity(str(copy), str(copy))


def test_a_fine_tune_of_the_same_shapes_is_another_model(tmp_path: Path) -> None:
    original = write_model(tmp_path / "a")
    tuned = write_model(tmp_path / "b", weights=b"\0" * 400_000 + b"\1" * 200_000 + b"\0" * 400_000)
    assert model_identity("x", str(original))["hash"] != model_identity("x", str(tuned))["hash"]


def test_a_changed_config_or_template_is_another_model(tmp_path: Path) -> None:
    before = model_identity("x", str(write_model(tmp_path / "a")))
    (tmp_path / "a" / "chat_template.jinja").write_text("{{ messages }}")
    assert model_identity("x", str(tmp_path / "a"))["hash"] != before["hash"]


def test_a_name_without_a_directory_is_identified_by_the_name(tmp_path: Path) -> None:
    identity = model_identity("org/model", "org/model")
    assert identity["of"] == "name"
    assert identity["hash"] != model_identity("org/other", "org/other")["hash"]


def test_a_profile_is_its_content_and_a_preset_its_name(tmp_path: Path) -> None:
    one, other = tmp_path / "a.yaml", tmp_path / "b.yaml"
    one.write_text("noise: {}")
    other.write_text("noise: {}")
    assert profile_identity(str(one)) == profile_identity(str(other))
    other.write_text("noise: {life_sd: 0.1}")
    assert profile_identity(str(one)) != profile_identity(str(other))
    assert (profile_identity("quiet"), profile_identity(None)) == ("quiet", None)


def test_a_weight_file_shorter_than_its_header_does_not_stop_the_sweep(tmp_path: Path) -> None:
    model = write_model(tmp_path / "a")
    (model / "model.safetensors").write_bytes(b"\1\2\3")
    assert model_identity("x", str(model))["weight_bytes"] == 3


def test_fingerprint_changes_with_the_protocol_but_not_with_the_baseline_at_the_end() -> None:
    def of(protocol: Protocol) -> object:
        return fingerprint(
            engine={"version": "1"},
            target={"hash": "t"},
            drafts={"d": {"hash": "d"}},
            eval_sets=[EvalSet("chat", (Prompt("1", "chat", prompt="x"),), "s")],
            engine_args={},
            env={},
            load_points=[LoadPoint("chat")],
            protocol=protocol,
        )

    assert of(Protocol()) == of(Protocol(baseline_again=False))
    assert of(Protocol()) != of(Protocol(repeats=5))
    assert of(Protocol()) != of(Protocol(distribution_samples=64)) != of(Protocol(distribution_samples=32))


def test_machine_names_its_processor() -> None:
    assert machine()["cpu"]
