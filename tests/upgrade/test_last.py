"""The last sweep of a target: which one is found, and that a run directory keeps it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.built_artifact import Built
from tests.conftest import candidate
from tuner.artifact.model import BEST_CONFIG
from tuner.artifact.writing import dump_best_config
from tuner.errors import ArtifactError
from tuner.records import Json, LoadPoint, Trial
from tuner.registry import Registry
from tuner.store import RunStore
from tuner.store.codec import seal
from tuner.store.reading import LAST_FILE
from tuner.upgrade import LastSweep, find_last, keep_last, kept_last, last_of_run
from tuner.upgrade.last import has_begun

LOAD = LoadPoint(eval_set="chat", concurrency=1, max_tokens=33)
NOW = datetime(2026, 12, 1, tzinfo=UTC)


@pytest.fixture
def text(make_trial: Callable[..., Trial]) -> Callable[[str, str], str]:
    built = Built([make_trial(0), make_trial(1, k=2, tpot=0.01)], [LOAD])

    def dumped(load_point: str, device: str) -> str:
        on = built.config.measured_on.model_copy(update={"devices": (device,)})
        changes = {"fingerprint": {"load_points": [load_point]}, "measured_on": on}
        return dump_best_config(built.config.model_copy(update=changes))

    return dumped


def keep(registry: Registry, minutes: int, artifact: str) -> None:
    manifest: dict[str, Json] = {"candidates": [candidate(2).key], "draft_ks": {"good": [2, 3]}}
    names = ["trials/0000-baseline-x/record.json", "trials/0001-candidate-good-k2-x/record.json"]
    names += ["trials/0002-candidate_again-good-k2-x/record.json", "trials/0003-final-good-k2-x/record.json"]
    files = {BEST_CONFIG: artifact.encode(), "run.json": seal({"manifest": manifest}), **dict.fromkeys(names, b"{}")}
    registry.keep("org/target", files, f"m{minutes}", NOW + timedelta(minutes=minutes))


def found(registry: Registry, load_point: str = "x", device: str = "H200") -> str:
    last = find_last(registry, "org/target", [load_point], [device])
    return last.where.split("/")[-2] if last else ""


def test_the_newest_at_the_same_load_points_and_on_the_same_device_is_found(
    tmp_path: Path, text: Callable[[str, str], str]
) -> None:
    registry = Registry(str(tmp_path))
    assert found(registry) == ""
    keep(registry, 1, text("x", "H200"))
    keep(registry, 2, text("x", "2 x H200"))
    keep(registry, 3, text("x", "L4"))
    keep(registry, 4, text("y", "H200"))
    keep(registry, 5, "no artifact")
    assert found(registry) == "20261201T000200Z"
    assert found(registry, device="L4") == "20261201T000300Z"
    assert found(registry, "y") == "20261201T000400Z"
    assert found(registry, device="B200") == "20261201T000300Z"  # none of that device: the newest of another
    assert found(registry, "z") == ""
    last = find_last(registry, "org/target", ["x"], ["H200"])
    assert last is not None
    assert (last.starts, [*last.candidates], {**last.draft_ks}) == (1, [candidate(2).key], {"good": (2, 3)})


def test_a_run_directory_keeps_what_it_began_with(tmp_path: Path, text: Callable[[str, str], str]) -> None:
    last = LastSweep("s3://b/x/best_config.yaml", text("x", "L4"), frozenset({"a"}), {"good": (1, 2)}, 3)
    with RunStore.open(tmp_path / "run", {}, {}) as store:
        assert (has_begun(store.path), kept_last(store.path)) == (False, None)
        keep_last(store, None)
        assert (has_begun(store.path), kept_last(store.path)) == (True, None)
        keep_last(store, last)
        assert kept_last(store.path) == last
        assert kept_last(store.path).config == last.config  # type: ignore[union-attr]


@pytest.mark.parametrize("damage", [b"", b"{}", seal({"format": 9, "last": {}}), seal({"format": 1, "last": []})])
def test_a_damaged_file_is_a_sweep_that_began_with_none(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / LAST_FILE).write_bytes(damage)
    assert (has_begun(tmp_path), kept_last(tmp_path)) == (True, None)


def test_a_directory_that_is_no_finished_run_is_told(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="no finished sweep"):
        last_of_run(tmp_path)
