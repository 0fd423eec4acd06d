"""`tuner check` and `tuner history` as a user meets them, on sweeps of the simulated engine's figures."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tuner.artifact import BestConfig, dump_best_config, load_best_config
from tuner.artifact.model import Identity, ModelIdentity
from tuner.cli import main
from tuner.engine.resolve import SIM_VERSION
from tuner.hardware import cpu_model
from tuner.records import Verdict
from tuner.registry import Registry

MEASURED = Path(__file__).parents[1] / "golden" / "artifacts" / "v1-speculate-below.yaml"


@pytest.fixture(autouse=True)
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TUNER_REGISTRY", raising=False)
    for name in [name for name in os.environ if name.startswith(("VLLM_", "CUDA_", "TORCH_", "OMP_", "HF_HUB"))]:
        monkeypatch.delenv(name)


def simulated(version: str = SIM_VERSION) -> BestConfig:
    config = load_best_config(MEASURED)
    on = config.measured_on
    engine = on.engine.model_copy(update={"version": version, "build": "sim"})
    measured_on = on.model_copy(update={"engine": engine, "devices": (cpu_model(),), "device_details": ()})
    return config.model_copy(update={"measured_on": measured_on, "environment": {}})


def of_one_draft() -> BestConfig:
    config = simulated()
    drafts = {"good": ModelIdentity(id="/drafts/good", hash="0" * 64, of="content")}
    target = ModelIdentity(id=config.target, hash=None, of=None)
    return config.model_copy(update={"identity": Identity(target=target, drafts=drafts)})


def write(config: BestConfig, path: str = "best_config.yaml") -> None:
    Path(path).write_text(dump_best_config(config), encoding="utf-8")


def keep(config: BestConfig, day: int) -> None:
    files = {"best_config.yaml": dump_best_config(config).encode()}
    Registry("artifacts").keep(config.target, files, f"day {day}", datetime(2026, 12, day, 1, 2, tzinfo=UTC))


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert isinstance(exit_.value.code, int)
    return exit_.value.code


def test_a_fresh_artifact_exits_0(capsys: pytest.CaptureFixture[str]) -> None:
    write(simulated())
    assert run("check", "best_config.yaml") == 0
    assert capsys.readouterr().out == "fresh: best_config.yaml\n"


def test_a_stale_one_exits_1_with_each_difference_both_values_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    write(simulated("0.31.0+sim"))
    assert run("check", ".") == 1
    assert capsys.readouterr().out == (
        "stale: best_config.yaml\n"
        f"  engine.version: 0.31.0+sim -> {SIM_VERSION}\n"
        "      any release may change acceptance, kernels and scheduling\n"
        "Measure again: tuner sweep org/target\n"
    )
    assert run("check", ".", "--ignore", "engine.version") == 0
    assert "note: engine.version" in capsys.readouterr().out


@pytest.mark.parametrize("version", [SIM_VERSION, "0.31.0+sim"])
def test_a_sweep_that_did_not_end_has_decided_nothing_whatever_its_verdict(
    version: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for verdict in Verdict:
        write(simulated(version).model_copy(update={"finished": False, "verdict": verdict}))
        assert run("check", ".", "--ignore", "engine.version") == 1
        told = capsys.readouterr().out
        assert told.startswith("stale: best_config.yaml\n  not finished: ") and "goes on where it stopped" in told
        assert run("check", ".", "--json") == 1
        document = json.loads(capsys.readouterr().out)
        assert (document["fresh"], document["finished"]) == (False, False)


def test_json_is_one_line_with_every_difference(capsys: pytest.CaptureFixture[str]) -> None:
    write(simulated("0.31.0+sim"))
    assert run("check", ".", "--json") == 1
    told = capsys.readouterr()
    document = json.loads(told.out)
    assert (document["fresh"], document["target"], document["verdict"]) == (False, "org/target", "speculate_below")
    (difference,) = document["differences"]
    assert difference == {
        "field": "engine.version",
        "measured": "0.31.0+sim",
        "now": SIM_VERSION,
        "why": "any release may change acceptance, kernels and scheduling",
        "stale": True,
    }
    assert told.err.startswith("stale: ")


@pytest.mark.parametrize(
    "arguments",
    [
        ("nowhere.yaml",),
        ("broken.yaml",),
        ("newer.yaml",),
        ("best_config.yaml", "--ignore", "nonsense"),
        ("best_config.yaml", "--engine", "/nowhere"),
        ("best_config.yaml", "--draft-path", "/x"),
        ("one-draft.yaml", "--draft-path", "god=/x"),
        ("s3://bucket/best_config.yaml",),
    ],
)
def test_what_cannot_be_read_or_checked_exits_2(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    write(simulated())
    write(of_one_draft(), "one-draft.yaml")
    Path("broken.yaml").write_text("a: [")
    Path("newer.yaml").write_text("schema_version: 999\nanswers: []\n")
    assert run("check", *arguments) == 2
    assert "rror: " in capsys.readouterr().err


def test_a_path_with_an_equals_sign_is_no_name_of_a_draft(capsys: pytest.CaptureFixture[str]) -> None:
    write(of_one_draft())
    Path("x=1").mkdir()
    assert run("check", "best_config.yaml", "--draft-path", "/x=1/draft") < 2
    assert run("check", "best_config.yaml", "--draft-path", "x=1") < 2
    assert "no draft model" not in capsys.readouterr().err


def test_a_target_of_the_registry_is_checked_by_its_latest_and_by_its_stamp(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(simulated("0.31.0+sim"), 1)
    keep(simulated(), 2)
    assert run("check", "org/target") == 0
    assert "20261202T010200Z/best_config.yaml" in capsys.readouterr().out
    assert run("check", "org/target@20261201T010200Z") == 1
    monkeypatch.setenv("TUNER_REGISTRY", "elsewhere")
    assert run("check", "org/target") == 2


def test_history_lists_each_sweep_and_what_changed(capsys: pytest.CaptureFixture[str]) -> None:
    keep(simulated("0.31.0+sim"), 1)
    keep(simulated(), 2)
    assert run("history", "target", "--json") == 0
    told = capsys.readouterr()
    document = json.loads(told.out)
    assert document["target"] == "org/target"
    first, second = document["sweeps"]
    assert first["changed"] is None
    assert [(one["field"], one["measured"], one["now"]) for one in second["changed"]] == [
        ("engine.version", "0.31.0+sim", SIM_VERSION)
    ]
    assert (first["stamp"], first["kept_at"]) == ("20261201T010200Z", "2026-12-01T01:02:00+00:00")
    (answer,) = first["answers"]
    assert (answer["verdict"], answer["draft"], answer["k"], answer["up_to_concurrency"]) == (
        "speculate_below",
        "good",
        4,
        1,
    )
    assert answer["speedup"]["value"] == pytest.approx(1.89906)
    lengths: list[dict[str, Any]] = answer["mean_acceptance_length"]
    assert all(one["value"] > 1 for one in lengths)
    for words in ("2026-12-01 01:02", "speculate_below", "1.90x (1.90-1.90)", "the first", "engine.version"):
        assert words in told.err


def test_a_history_that_is_not_there_says_what_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("history", "org/target") == 2
    assert "has no target org/target" in capsys.readouterr().err
    keep(simulated(), 1)
    assert run("history", "another") == 2
    assert "It has: org/target." in capsys.readouterr().err
