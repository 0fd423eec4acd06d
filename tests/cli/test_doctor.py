import json
from pathlib import Path

import pytest

from tuner.cli import main
from tuner.cli.doctor import document
from tuner.doctor import Answer, Check, State


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as exit_:
        main(["doctor", *arguments])
    assert isinstance(exit_.value.code, int)
    return exit_.value.code


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    return tmp_path


def test_this_machine_is_told_in_one_line_of_json(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    assert run("--engine", "sim", "--json") == 0
    told = capsys.readouterr()
    (line,) = told.out.splitlines()
    document = json.loads(line)
    assert (document["format"], document["ok"], document["counts"]["fail"]) == (1, True, 0)
    names = {check["name"] for check in document["checks"]}
    assert {"tuner", "engine", "cpu", "memory", "shm", "disk_runs", "ports", "ray", "method_ngram"} <= names
    assert all(set(check) == {"group", "name", "state", "what", "next_step", "values"} for check in document["checks"])
    assert list(here.iterdir()) == []


def test_people_get_headings_and_a_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--engine", "sim") == 0
    told = capsys.readouterr().out
    assert "\nversions\n" in told and "\nleftovers\n" in told
    assert told.splitlines()[-1].startswith("Nothing is in the way of a sweep: ")


def test_what_is_in_the_way_is_exit_code_2_and_hides_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:9")
    assert run("--engine", "/no/such/python", "--out", "/proc/runs", "--json") == 2
    document = json.loads(capsys.readouterr().out)
    failed = {check["name"]: check for check in document["checks"] if check["state"] == "fail"}
    assert set(failed) == {"engine", "disk_runs", "ray"}
    assert all(check["next_step"] for check in failed.values())
    assert not document["ok"]


def test_states_are_counted() -> None:
    checks = tuple(Check(name, State(name), "") for name in ("ok", "warn", "fail"))
    told = document([Answer("a", checks), Answer("b", ())])
    assert told["counts"] == {"ok": 1, "info": 0, "warn": 1, "fail": 1}
    assert [check["group"] for check in told["checks"]] == ["a", "a", "a"]
    assert document([Answer("a", checks[:2])])["ok"]
