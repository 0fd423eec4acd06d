from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tuner.errors import EngineNotFound, ModelError
from tuner.preflight import models
from tuner.preflight.models import check_draft, check_target

MakeModel = Callable[..., Path]


def target_refused(ref: object, message: str, *, download: bool = False) -> ModelError:
    with pytest.raises(ModelError, match=message) as caught:
        check_target(str(ref), download=download)
    assert caught.value.next_step
    return caught.value


@pytest.fixture
def hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A local hub cache as huggingface_hub lays it out, empty."""
    cache = tmp_path / "hub"
    cache.mkdir()
    monkeypatch.setenv("HF_HUB_CACHE", str(cache))
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    return cache


def test_a_whole_directory_is_returned_as_it_is(make_model: MakeModel) -> None:
    model = make_model()
    assert check_target(str(model), download=False) == str(model)
    assert check_draft("good", str(model), download=False) == str(model)


def test_what_is_missing_is_named(make_model: MakeModel, tmp_path: Path) -> None:
    target_refused(tmp_path / "none", "target: .*none does not exist")
    for missing, message in (
        ("tokenizer.json", "target: .* has no tokenizer"),
        ("model.safetensors", "target: .* has no weights"),
        ("config.json", "target: .* has no config.json"),
    ):
        model = make_model(missing)
        (model / missing).unlink()
        target_refused(model, message)


def test_engine_arguments_can_make_weights_and_tokenizer_unnecessary(make_model: MakeModel) -> None:
    model = make_model()
    (model / "tokenizer.json").unlink()
    (model / "model.safetensors").unlink()
    args = {"load_format": "dummy", "tokenizer": "elsewhere"}
    assert check_target(str(model), download=False, engine_args=args) == str(model)


def test_a_draft_needs_no_tokenizer_but_weights(make_model: MakeModel) -> None:
    model = make_model()
    (model / "tokenizer.json").unlink()
    check_draft("good", str(model), download=False)
    (model / "model.safetensors").unlink()
    with pytest.raises(ModelError, match=r"draft 'good': .* has no weights"):
        check_draft("good", str(model), download=False)


def test_a_demo_model_that_is_not_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUNER_CACHE", str(tmp_path))
    error = target_refused("demo:target", "target: demo:target is not built")
    assert error.next_step == "Run: tuner models demo"


def test_a_hub_id_is_found_in_the_local_cache(hub_cache: Path, make_model: MakeModel) -> None:
    repo = hub_cache / "models--some--model"
    (repo / "refs").mkdir(parents=True)
    (repo / "refs" / "main").write_text("c0ffee")
    (repo / "snapshots").mkdir()
    make_model().rename(repo / "snapshots" / "c0ffee")
    assert check_target("some/model", download=False) == str(repo / "snapshots" / "c0ffee")


def test_a_hub_id_that_is_not_cached_is_not_downloaded(hub_cache: Path) -> None:
    error = target_refused("some/model", "some/model is neither a directory nor a model in the local hub cache")
    assert "--download" in error.next_step
    assert list(hub_cache.iterdir()) == []


def test_download_is_asked_for_online_and_its_failure_told(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[object, bool]] = []

    def fail(python: str, script: str, request: object, *, offline: bool, timeout_s: float) -> dict[str, str]:
        asked.append((request, offline))
        return {"problem": "RepositoryNotFoundError: 404"}

    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(models, "run_script", fail)
    target_refused("some/model", "could not be downloaded: RepositoryNotFoundError: 404", download=True)
    assert asked == [({"repo": "some/model", "download": True}, False)]


def test_nothing_is_downloaded_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> dict[str, str]:
        raise AssertionError("the hub was asked")

    monkeypatch.setenv("CI", "true")
    monkeypatch.setattr(models, "run_script", never)
    target_refused("some/model", "is not downloaded in CI", download=True)


def test_an_engine_python_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(EngineNotFound, match="cannot be run: No such file"):
        check_target("some/model", download=False, python=str(tmp_path / "python"))


def test_a_directory_named_like_a_hub_id_is_a_directory(
    make_model: MakeModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_model("some")
    monkeypatch.chdir(tmp_path)
    assert Path(check_target("some", download=False, python=sys.executable)).name == "some"
