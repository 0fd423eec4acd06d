"""`tuner export` as a user meets it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from tests.exported_artifact import GOOD, artifact
from tuner.artifact import BestConfig, dump_best_config
from tuner.cli import main
from tuner.cli.export import _FORMATS, export
from tuner.export.formats import FORMATS
from tuner.records import Verdict
from tuner.registry import Registry


@pytest.fixture(autouse=True)
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TUNER_REGISTRY", raising=False)


def write(config: BestConfig) -> None:
    Path("run").mkdir()
    Path("run/best_config.yaml").write_text(dump_best_config(config), encoding="utf-8")


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as exit_:
        main(["export", *arguments])
    assert isinstance(exit_.value.code, int)
    return exit_.value.code


def test_help_names_every_format_with_its_summary() -> None:
    assert tuple(FORMATS) == _FORMATS
    assert export.epilog is not None
    for name, row in FORMATS.items():
        line = next(line for line in export.epilog.splitlines() if f"  {name}" in line.replace(",", " "))
        assert row.summary in line or name.endswith("env")


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("verdict", Verdict)
def test_every_format_is_written_for_every_verdict(
    name: str, verdict: Verdict, capsys: pytest.CaptureFixture[str]
) -> None:
    write(artifact(verdict))
    assert run(name, "run") == 0
    told = capsys.readouterr()
    assert told.out.startswith("# org/target: ")
    assert told.err == ""


def test_it_goes_to_a_file_and_json_says_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    write(artifact(Verdict.SPECULATE_BELOW, temperature=0.7))
    assert run("vllm", "run/best_config.yaml", "-o", "out.yaml", "--port", "9000", "--json") == 0
    told = capsys.readouterr()
    document = json.loads(told.out)
    assert yaml.safe_load(Path("out.yaml").read_text())["port"] == 9000
    assert (document["file"], document["text"], document["format"]) == ("out.yaml", None, "vllm")
    assert (document["verdict"], document["temperature"], document["setting"]) == (
        "speculate_below",
        0.7,
        "recommended",
    )
    assert document["speculation"] == {
        "method": "draft_model",
        "draft": "org/draft",
        "num_speculative_tokens": 4,
        "options": {},
    }
    assert told.err == "out.yaml: vLLM's own --config file\n"


def test_json_without_a_file_has_the_text(capsys: pytest.CaptureFixture[str]) -> None:
    write(artifact(Verdict.DO_NOT))
    assert run("vllm", "run", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["speculation"] is None
    assert yaml.safe_load(document["text"]) == {"model": "org/target"}


def test_a_draft_path_where_nothing_drafts_is_told_and_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    write(artifact(Verdict.DO_NOT))
    assert run("command", "run", "--draft-path", "/srv/d") == 0
    assert capsys.readouterr().err == "note: --draft-path changes nothing: this setting loads no draft.\n"


def test_what_the_registry_has_can_be_exported_by_its_target(capsys: pytest.CaptureFixture[str]) -> None:
    files = {"best_config.yaml": dump_best_config(artifact()).encode()}
    Registry("artifacts").keep("org/target", files, "x", datetime(2026, 12, 1, tzinfo=UTC))
    assert run("command", "target", "--baseline") == 0
    assert "speculative" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("vllm", "nowhere.yaml"), "there is no such artifact"),
        (("helm", "run"), "'helm' is not one of"),
        (("vllm", "run", "--temperature", "0.3"), "Measured: 0."),
        (("vllm", "run", "--baseline", "--static"), "--baseline and --static are two settings"),
        (("vllm", "run", "--limited"), "the verdict is speculate, which has no limit"),
        (("vllm", "run", "-o", "no/such/directory/file"), "cannot be written"),
        (("vllm", "run", "--port", "80"), "80 is not in the range"),
        (("vllm", "run", "--target-path", "-x"), "'-x' is no model"),
        (("docker-env", "run"), "VLLM_X has a line break"),
    ],
)
def test_bad_input_exits_2_and_writes_nothing(
    arguments: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write(artifact(env={"VLLM_X": "a\nb"}))
    assert run(*arguments) == 2
    told = capsys.readouterr()
    assert says in told.err
    assert told.out == ""


def test_an_artifact_that_does_not_say_its_static_k_is_refused_only_where_that_is_asked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    config = artifact(static=GOOD)
    (answer,) = config.answers
    old = answer.recommended.model_copy(update={"static_speculation": None})
    write(config.model_copy(update={"answers": (answer.model_copy(update={"recommended": old}),)}))
    assert run("vllm", "run") == 0
    assert run("vllm", "run", "--static") == 2
    assert "does not say which K serve.static.yaml has" in capsys.readouterr().err
