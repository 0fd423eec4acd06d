from __future__ import annotations

import json
import sys

import pytest

from tuner.cli import main
from tuner.engine import ability as ability_module
from tuner.engine import resolve
from tuner.engine.help import EngineHelp
from tuner.engine.resolve import Engine
from tuner.space.methods import METHODS


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["methods", *arguments])
    return int(ended.value.code or 0)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> list[Engine]:
    """Make --engine name the engine in this list, whatever is asked for."""
    engines = [Engine("vllm", sys.executable, "0.32.0", "cpu")]
    monkeypatch.setattr(resolve, "resolve_engine", lambda spec: engines[0])
    return engines


def test_every_method_is_shown_with_what_stands_in_its_way(
    engine: list[Engine], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert run() == 0
    told = capsys.readouterr()
    lines = {words[0]: line for line in told.out.splitlines() if (words := line.split()) and words[0] in METHODS}
    assert set(lines) == set(METHODS)
    assert told.out.startswith(f"vLLM 0.32.0 (cpu), {sys.executable}\n")
    assert lines["draft_model"].split()[1] == "yes"
    assert lines["ngram_gpu"].split()[1] == "no" and "does not run on the cpu build" in lines["ngram_gpu"]
    assert lines["suffix"].split()[1] == "no" and "pip install arctic-inference" in lines["suffix"]
    assert told.err == ""


def test_the_same_as_json(engine: list[Engine], capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["engine"] == {"version": "0.32.0", "build": "cpu", "known": True, "note": ""}
    assert set(document["methods"]) == set(METHODS)
    assert document["methods"]["ngram"]["runs"] is True and document["methods"]["ngram"]["reason"] is None
    assert document["methods"]["dspark"]["runs"] is False and "cpu build" in document["methods"]["dspark"]["reason"]
    assert document["methods"]["eagle"]["smaller_k_predicted"] is True
    assert document["methods"]["suffix"]["package"]["name"] == "arctic-inference"


def test_a_newer_engine_is_judged_by_its_own_help_too(
    engine: list[Engine], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine[0] = Engine("vllm", sys.executable, "0.40.0", "cuda")
    told_by = EngineHelp(frozenset({"--model"}), frozenset({"ngram"}))
    monkeypatch.setattr(ability_module, "engine_help", lambda engine: told_by)
    assert run("--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["engine"]["known"] is False and "newer than" in document["engine"]["note"]
    assert {name for name, row in document["methods"].items() if row["runs"]} == {"ngram"}
    assert run() == 0
    assert "warning: vLLM 0.40.0 is newer" in capsys.readouterr().err


def test_no_engine_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--engine", "/no/such/engine") == 2
    assert "/no/such/engine" in capsys.readouterr().err
