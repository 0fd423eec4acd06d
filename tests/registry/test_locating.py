"""What a user may write to name an artifact."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from tuner.artifact import BestConfig, dump_best_config
from tuner.errors import ArtifactError, OutputError
from tuner.registry import Registry, locate, target_slug


def engine(ref: str | Path, registry: str = "unused") -> str:
    return locate(str(ref), registry).config.measured_on.engine.version


@pytest.fixture(params=["directory", "url"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "r") if request.param == "directory" else f"memory://{uuid.uuid4().hex}"


def test_a_file_and_a_run_directory(tmp_path: Path, make_config: Callable[..., BestConfig]) -> None:
    (tmp_path / "best_config.yaml").write_text(dump_best_config(make_config("1.0")))
    (tmp_path / "other.yaml").write_text(dump_best_config(make_config("2.0")))
    assert [engine(tmp_path), engine(tmp_path / "best_config.yaml"), engine(tmp_path / "other.yaml")] == [
        "1.0",
        "1.0",
        "2.0",
    ]
    assert engine(f"file://{tmp_path}") == engine(f"file://{tmp_path}/best_config.yaml") == "1.0"


def test_a_target_and_an_entry_of_a_registry(
    root: str, make_config: Callable[..., BestConfig], keep: Callable[..., str]
) -> None:
    registry = Registry(root)
    first = keep(registry, make_config("1.0", target="org/model"), 1)
    keep(registry, make_config("2.0", target="org/model"), 2)
    assert engine("org/model", root) == engine("model", root) == engine("Model", root) == "2.0"
    assert engine(f"org/model@{first}", root) == "1.0"
    slug = target_slug("org/model")
    assert engine(f"{root}/{slug}") == "2.0"
    assert engine(f"{root}/{slug}/{first}") == "1.0"
    assert locate("org/model", root).where == f"{root}/{slug}/20261202T000000Z/best_config.yaml"


@pytest.mark.parametrize(
    ("ref", "said"),
    [
        ("org/other", "no target org/other"),
        ("model", "several targets named model"),
        ("org/model@20200101T000000Z", "no entry 20200101T000000Z"),
        ("org/model@latest", "no entry latest of org/model"),
        ("x.yaml", "no target x.yaml"),
    ],
)
def test_what_is_not_there_says_what_is(
    tmp_path: Path, make_config: Callable[..., BestConfig], keep: Callable[..., str], ref: str, said: str
) -> None:
    registry = Registry(str(tmp_path / "r"))
    for target in ("org/model", "/models/model"):
        keep(registry, make_config(target=target))
    with pytest.raises(ArtifactError, match=said) as caught:
        locate(ref, str(tmp_path / "r"))
    assert caught.value.next_step


def test_a_directory_without_an_artifact_is_told(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    with pytest.raises(ArtifactError, match=r"run has no best_config.yaml, and .* has no target"):
        locate(str(tmp_path / "run"), str(tmp_path / "r"))


@pytest.mark.parametrize("url", ["memory://empty", "memory://empty/best_config.yaml"])
def test_a_url_without_an_artifact_is_told(url: str) -> None:
    with pytest.raises(ArtifactError, match=r"empty/best_config.yaml does not exist"):
        locate(url, "unused")
    with pytest.raises(OutputError):
        locate("nonsense://x", "unused")


def test_a_directory_that_is_a_target_is_looked_up_in_the_registry(
    tmp_path: Path, make_config: Callable[..., BestConfig], keep: Callable[..., str]
) -> None:
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text("{}")
    keep(Registry(str(tmp_path / "r")), make_config("3.0", target=str(model)))
    assert engine(model, str(tmp_path / "r")) == "3.0"
