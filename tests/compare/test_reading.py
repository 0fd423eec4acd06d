"""From what a user writes to a sweep: a file alone, a run directory, a registry entry with and without samples."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.compare.sides import config_of, trials_of
from tests.conftest import LOAD
from tuner.artifact import dump_best_config
from tuner.compare.comparison import compare
from tuner.compare.reading import read_side
from tuner.compare.sides import Arm, setting_key
from tuner.errors import ArtifactError
from tuner.registry import Registry, keep_run
from tuner.store import RunStore

REGISTRY = "registry"


@pytest.fixture(autouse=True)
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write_run(path: str = "run", **of_trials: object) -> Path:
    trials = trials_of(**of_trials)  # type: ignore[arg-type]
    with RunStore.open(Path(path), {"engine": {}}, {"target": "org/target"}) as store:
        for trial in trials:
            store.save(trial)
        store.write_text("best_config.yaml", dump_best_config(config_of(trials)))
        store.finish({})
    return Path(path)


def best(ref: str) -> Arm:
    side = read_side(ref, REGISTRY).side
    return side.loads[0].arms[setting_key(side.answers[0].best)]


def test_a_file_alone_has_figures_and_no_prompts() -> None:
    run = write_run()
    Path("alone.yaml").write_bytes((run / "best_config.yaml").read_bytes())
    assert not read_side("alone.yaml", REGISTRY).side.records
    arm = best("alone.yaml")
    assert arm["tpot"].lives == ()
    assert arm["tpot"].estimate is not None and arm["tpot"].estimate.se is not None
    assert len(arm["speedup"].lives) == 3  # one number a round


def test_a_run_directory_has_each_life_by_prompt() -> None:
    write_run()
    side = read_side("run", REGISTRY).side
    assert side.records
    arm = best("run")
    assert [len(life) for life in arm["tpot"].lives] == [6, 6, 6]
    assert len(side.loads[0].baseline["tpot"].lives) == 3 + 2  # the baseline's single lives are lives too
    assert best("run/best_config.yaml")["tpot"].lives == arm["tpot"].lives


@pytest.mark.parametrize("samples", [False, True])
def test_a_registry_entry_counts_acceptance_life_by_life_and_has_prompts_where_samples_are_kept(samples: bool) -> None:
    write_run()
    now = datetime(2026, 12, 1, tzinfo=UTC)
    keep_run(Registry(REGISTRY), Path("run"), "org/target", samples=samples, now=now)
    arm = best("org/target")
    assert len(arm["acceptance_length"].lives) == 3
    assert bool(arm["tpot"].lives) is samples
    found = compare(read_side("org/target", REGISTRY).side, read_side("run", REGISTRY).side)
    assert {row.outcome.value for row in found.rows} == {"same"}


def test_a_broken_record_is_named_and_left_out() -> None:
    run = write_run()
    record = next(run.glob("trials/0003-*")) / "record.json"
    record.write_text(record.read_text().replace("good", "evil").replace('"number": 3', '"number": 4'))
    samples = next(run.glob("trials/0004-*")) / "samples.parquet"
    samples.write_bytes(b"other")
    read = read_side("run", REGISTRY)
    assert [("0003" in one, "0004" in one) for one in read.broken] == [(True, False), (False, True)]
    assert "samples.parquet is not what was written" in read.broken[1]


def test_a_trial_that_was_not_finished_is_passed_over() -> None:
    run = write_run()
    (next(run.glob("trials/0003-*")) / "record.json").unlink()
    assert read_side("run", REGISTRY).broken == ()


def test_what_is_no_artifact_is_refused() -> None:
    Path("x.yaml").write_text("schema_version: 99\n")
    with pytest.raises(ArtifactError):
        read_side("x.yaml", REGISTRY)
    with pytest.raises(ArtifactError):
        read_side("nowhere", REGISTRY)


def test_rounds_that_the_answer_does_not_rest_on_are_left_out() -> None:
    trials = trials_of(wobble=(0.999, 1.0, 1.001, 1.5))
    config = config_of([one for one in trials if one.record.round != 3])
    with RunStore.open(Path("run"), {"engine": {}}, {"target": "org/target"}) as store:
        for trial in trials:
            store.save(trial)
        store.write_text("best_config.yaml", dump_best_config(config))
    assert len(best("run")["tpot"].lives) == 3


def test_the_load_point_of_an_artifact_has_the_key_of_the_one_that_was_measured() -> None:
    write_run()
    assert read_side("run", REGISTRY).side.loads[0].load.key == LOAD.key
