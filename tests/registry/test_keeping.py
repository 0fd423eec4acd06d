"""What of a run goes into the registry, and when it is the same again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tuner.errors import OutputError
from tuner.records import Trial
from tuner.registry import Registry, keep_run, kept_files, measured_target, open_for_keeping
from tuner.store import RunStore, read_run

NOW = datetime(2026, 12, 1, tzinfo=UTC)


@pytest.fixture
def run(tmp_path: Path, make_trial: Callable[..., Trial]) -> Path:
    with RunStore.open(tmp_path / "run", {"engine": {}}, {"target": "org/model", "traffic": None}) as store:
        store.save(make_trial(number=0))
        store.save(make_trial(number=1, k=2))
        for name in ("best_config.yaml", "serve.yaml", "serve.env", "report.md", "report.html", "study.db"):
            store.write_text(name, name)
        store.write_text("plots/speedup.png", "picture")
        store.write_text("trials/0000-baseline-none-k0-44136fa3/engine.log", "log")
        store.finish({"verdict": "speculate"})
    return tmp_path / "run"


def test_the_answer_and_each_record_are_kept_and_no_log_plot_study_or_sample(run: Path) -> None:
    files, _ = kept_files(run, samples=False)
    beside = {name for name in files if not name.startswith("trials/")}
    assert beside == {
        "best_config.yaml",
        "serve.yaml",
        "serve.env",
        "report.md",
        "report.html",
        "run.json",
        "summary.json",
    }
    trials = {name.rpartition("/")[2] for name in files if name.startswith("trials/")}
    assert trials == {"record.json"}
    assert len(files) == len(beside) + 2


def test_with_samples_an_entry_is_a_run_that_can_be_read(tmp_path: Path, run: Path) -> None:
    registry = Registry(str(tmp_path / "registry"))
    where, _ = keep_run(registry, run, "org/model", samples=True, now=NOW)
    manifest, trials = read_run(Path(where))
    assert manifest.broken == ()
    assert trials == read_run(run)[1]


def manifest(run: Path, **changed: object) -> None:
    with RunStore.open(run, {"engine": {}}, {"target": "org/model", "traffic": None, **changed}):  # type: ignore[dict-item]
        pass


def test_the_same_records_for_the_same_question_are_kept_once(
    tmp_path: Path, run: Path, make_trial: Callable[..., Trial]
) -> None:
    registry = Registry(str(tmp_path / "registry"))

    def keep() -> tuple[str, str]:
        return keep_run(registry, run, "org/model", samples=False, now=NOW)

    where, words = keep()
    assert words == f"kept in the registry: {where}"
    manifest(run, repeat_with=["tuner", "sweep", "--json"])
    (run / "best_config.yaml").write_text("written again by another release")
    assert keep() == (where, f"in the registry already: {where}")
    manifest(run, traffic={"1": 1.0})
    other, _ = keep()
    assert other != where
    with RunStore.open(run, {"engine": {}}, {"target": "org/model", "traffic": {"1": 1.0}}) as store:
        store.save(make_trial(number=2, k=3))
    assert keep()[0] not in (where, other)


def test_a_registry_out_of_reach_loses_nothing_and_says_how_to_go_on(
    tmp_path: Path, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = Registry(str(tmp_path / "registry"))

    def refuse(*_: object) -> bool:
        raise OutputError("the bucket is gone", "")

    monkeypatch.setattr(registry._shelf, "place", refuse)
    where, words = keep_run(registry, run, "org/model", samples=False, now=NOW)
    assert (where, "the bucket is gone" in words, "same command again" in words) == ("", True, True)


def test_it_is_known_before_measuring_whether_the_registry_can_be_used(tmp_path: Path) -> None:
    assert open_for_keeping(None, "org/model") is None
    opened = open_for_keeping(str(tmp_path / "new"), "org/model")
    assert opened is not None and opened.targets() == ()
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError):
        open_for_keeping(str(tmp_path / "file"), "org/model")


def test_a_target_has_one_name_however_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model").mkdir()
    monkeypatch.chdir(tmp_path)
    assert measured_target("model") == measured_target("./model") == str(tmp_path / "model")
    assert measured_target("org/model") == "org/model"
    assert measured_target("demo:target") == "demo:target"
