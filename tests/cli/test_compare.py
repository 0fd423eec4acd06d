"""`tuner compare` as a user and a CI job meet it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.compare.sides import at_concurrencies, config_of, trials_of
from tests.page.test_chinese import english_left
from tuner.artifact import dump_best_config
from tuner.cli import main
from tuner.registry import Registry

SAME: Mapping[str, Any] = {}
WORSE: Mapping[str, Any] = {"acceptance": (0.7, 0.46), "speedup": 1.35}
NOISY: Mapping[str, Any] = {"wobble": (0.95, 1.0, 1.05)}


@pytest.fixture(autouse=True)
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TUNER_REGISTRY", raising=False)
    write("old.yaml", **SAME)


def write(path: str, **of_trials: Any) -> None:
    Path(path).write_text(dump_best_config(config_of(trials_of(**of_trials))), encoding="utf-8")


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert isinstance(exit_.value.code, int)
    return exit_.value.code


@pytest.mark.parametrize("changes", [SAME, {"base": 0.018}, WORSE, NOISY], ids=["same", "base", "worse", "noisy"])
@pytest.mark.parametrize("concurrencies", [(1,), (1, 8, 32)])
def test_nothing_is_left_in_english_where_chinese_is_asked_for(
    capsys: pytest.CaptureFixture[str], changes: Mapping[str, Any], concurrencies: tuple[int, ...]
) -> None:
    loads = at_concurrencies(*concurrencies)
    write("old.yaml", loads=loads, **SAME)
    write("new.yaml", loads=loads, **changes)
    run("compare", "old.yaml", "new.yaml", "--lang", "zh", "--markdown", "new.md")
    for text in (capsys.readouterr().out, Path("new.md").read_text(encoding="utf-8").partition("-->")[2]):
        assert set(english_left(text)) <= {"good", "old", "new", "ms"}


@pytest.mark.parametrize(
    ("changes", "code", "word"),
    [
        (SAME, 0, "the same"),
        ({"base": 0.018}, 0, "better"),
        (WORSE, 1, "worse"),
        (NOISY, 4, "cannot tell"),
    ],
)
def test_the_exit_code_is_the_verdict(
    capsys: pytest.CaptureFixture[str], changes: Mapping[str, Any], code: int, word: str
) -> None:
    write("new.yaml", **changes)
    assert run("compare", "old.yaml", "new.yaml") == code
    told = capsys.readouterr()
    assert told.out.startswith(f"{word}")
    assert "acceptance length" in told.out
    assert told.err == ""


def test_json_is_one_line_on_standard_output_and_the_table_goes_to_the_other(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write("new.yaml", **WORSE)
    assert run("compare", "old.yaml", "new.yaml", "--json") == 1
    told = capsys.readouterr()
    (line,) = told.out.splitlines()
    found = json.loads(line)
    assert (found["outcome"], found["exit_code"], found["speculation"]) == ("worse", 1, "worse")
    assert found["sentence"] in told.err.replace("\n", " ")


def test_markdown_goes_to_a_file_or_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    write("new.yaml", **WORSE)
    assert run("compare", "old.yaml", "new.yaml", "--markdown", "comment.md") == 1
    text = Path("comment.md").read_text()
    assert text.startswith("<!-- tuner compare -->\n## Speculative decoding: worse\n")
    capsys.readouterr()
    assert run("compare", "old.yaml", "new.yaml", "--markdown", "-") == 1
    assert capsys.readouterr().out == text


def test_the_page_goes_to_a_file_or_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    write("new.yaml", **WORSE)
    assert run("compare", "old.yaml", "new.yaml", "--html", "compared.html") == 1
    text = Path("compared.html").read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert "Speculation got worse" in text
    capsys.readouterr()
    assert run("compare", "old.yaml", "new.yaml", "--html", "-") == 1
    assert capsys.readouterr().out == text
    assert run("compare", "old.yaml", "new.yaml", "--html", "nowhere/page.html") == 2
    assert "Give --html another place" in capsys.readouterr().err


def test_tolerances_from_a_file_decide(capsys: pytest.CaptureFixture[str]) -> None:
    write("new.yaml", **WORSE)
    Path("lax.yaml").write_text("acceptance_length: 0.2\nspeedup: 0.2\ntpot: 0.2\n")
    assert run("compare", "old.yaml", "new.yaml", "--tolerances", "lax.yaml") == 0
    Path("wrong.yaml").write_text("speeed: 0.2\n")
    assert run("compare", "old.yaml", "new.yaml", "--tolerances", "wrong.yaml", "--json") == 2
    told = capsys.readouterr()
    assert "speeed" in json.loads(told.out.splitlines()[-1])["error"]


def test_entries_of_the_registry_can_be_named_by_target_and_stamp(capsys: pytest.CaptureFixture[str]) -> None:
    for day, changes in ((1, SAME), (2, WORSE)):
        text = dump_best_config(config_of(trials_of(**changes)))
        files = {"best_config.yaml": text.encode()}
        Registry("artifacts").keep("org/target", files, f"day {day}", datetime(2026, 12, day, tzinfo=UTC))
    assert run("compare", "org/target@20261201T000000Z", "org/target") == 1
    assert "20261201T000000Z" in capsys.readouterr().out


def test_what_cannot_be_read_or_has_nothing_in_common_exits_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("compare", "old.yaml", "nowhere.yaml") == 2
    from tests.compare.sides import at_concurrencies

    loads = at_concurrencies(64)
    Path("other.yaml").write_text(dump_best_config(config_of(trials_of(loads=loads), loads)))
    assert run("compare", "old.yaml", "other.yaml") == 2
    assert "no load point in common" in capsys.readouterr().err
    write("new.yaml", **SAME)
    assert run("compare", "old.yaml", "new.yaml", "--markdown", "nowhere/comment.md") == 2
    assert "nowhere/comment.md cannot be written" in capsys.readouterr().err


def test_a_name_with_markup_is_shown_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    write("new[bold].yaml", draft="go[red]od")
    write("old.yaml", draft="go[red]od")
    assert run("compare", "old.yaml", "new[bold].yaml") == 0
    told = capsys.readouterr().out
    assert "new[bold].yaml" in told
    assert "go[red]od K=2" in told
