"""An entry says what changed since the one before."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tuner.artifact import BestConfig, dump_best_config
from tuner.records import Trial
from tuner.registry import Registry, history, keep_run
from tuner.registry.since import CHANGED_FILE, since_last
from tuner.store import RunStore


def files_of(config: BestConfig) -> dict[str, bytes]:
    return {"best_config.yaml": dump_best_config(config).encode()}


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry(str(tmp_path / "registry"))


def test_the_first_entry_has_nothing_to_change_from(registry: Registry, make_config: Callable[..., BestConfig]) -> None:
    config = make_config()
    assert since_last(registry, config.target, files_of(config)) is None


def test_what_changed_is_said_against_the_newest_entry(
    registry: Registry, make_config: Callable[..., BestConfig], keep: Callable[..., str]
) -> None:
    keep(registry, make_config("0.25.0"), 1)
    stamp = keep(registry, make_config("0.26.0"), 2)
    new = make_config("0.27.0", tuner_version="9.9.9")
    old_tuner = make_config().tuner_version
    since = since_last(registry, new.target, files_of(new))
    assert since is not None
    assert since.words == f"changed since {stamp}: engine.version 0.26.0 -> 0.27.0, tuner.version {old_tuner} -> 9.9.9"
    kept = json.loads(since.encoded())
    assert kept["against"] == stamp
    assert [one["field"] for one in kept["changed"]] == ["engine.version", "tuner.version"]


def test_nothing_changed_is_said_too_and_a_broken_entry_is_passed_over(
    registry: Registry, make_config: Callable[..., BestConfig], keep: Callable[..., str]
) -> None:
    config = make_config()
    stamp = keep(registry, config, 1)
    registry.keep(config.target, {"best_config.yaml": b"broken"}, "day 2", datetime(2026, 12, 2, tzinfo=UTC))
    since = since_last(registry, config.target, files_of(config))
    assert since is not None
    assert since.words == f"changed since {stamp}: nothing"


def test_what_is_no_artifact_is_kept_and_compared_with_nothing(
    registry: Registry, make_config: Callable[..., BestConfig], keep: Callable[..., str]
) -> None:
    keep(registry, make_config(), 1)
    target = make_config().target
    assert since_last(registry, target, {"best_config.yaml": b"no artifact"}) is None
    assert since_last(registry, target, {}) is None


def test_a_kept_run_has_it_and_says_it(
    tmp_path: Path,
    registry: Registry,
    make_config: Callable[..., BestConfig],
    keep: Callable[..., str],
    make_trial: Callable[..., Trial],
) -> None:
    stamp = keep(registry, make_config("0.25.0"), 1)
    config = make_config("0.26.0")
    with RunStore.open(tmp_path / "run", {"engine": {}}, {"target": config.target}) as store:
        store.save(make_trial(number=0))
        store.write_text("best_config.yaml", dump_best_config(config))
        store.finish({})
    now = datetime(2026, 12, 3, tzinfo=UTC)
    where, words = keep_run(registry, tmp_path / "run", config.target, samples=False, now=now)
    assert words == f"kept in the registry: {where}; changed since {stamp}: engine.version 0.25.0 -> 0.26.0"
    assert json.loads((Path(where) / CHANGED_FILE).read_text())["against"] == stamp
    # Called again, the entry is the same one and is not compared with itself.
    again = keep_run(registry, tmp_path / "run", config.target, samples=False, now=now)
    assert again == (where, f"in the registry already: {where}")
    past = history(registry, config.target).past
    assert [one.field for one in past[-1].changed or ()] == ["engine.version"]
