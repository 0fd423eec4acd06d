"""`tuner breakeven`: its table, its JSON, its picture, and what it says where a run cannot tell."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tuner.cli import main
from tuner.cli.breakeven import read_breakeven
from tuner.cli.breakeven_table import breakeven_table, sentences

DATA = Path(__file__).parents[1] / "data"
RECORDED, LARGER = DATA / "h200-7b", DATA / "h200-14b"
GOLDEN = Path(__file__).parents[1] / "golden" / "breakeven.txt"
SPACE = """
target: simulated
drafts: [{name: good, method: draft_model, model: good, k: [1, 3]}]
load_points: [{eval_set: prompts.jsonl, temperature: 0, concurrency: [1, 2], max_tokens: 8}]
protocol: {repeats: 1, lives: 1, warmup_requests: 0, baseline_again: false, reduced: "A test."}
"""
PROMPTS = '{"id": "a", "category": "c", "prompt": "one two"}\n{"id": "b", "category": "c", "prompt": "three four"}\n'


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert isinstance(exit_.value.code, int)
    return exit_.value.code


def without(tmp_path: Path, *names: str) -> Path:
    """Return a copy of the recorded run without the trials whose directory has one of these words in its name."""
    copy = tmp_path / "run"
    shutil.copytree(RECORDED, copy)
    for trial in (copy / "trials").iterdir():
        if any(name in trial.name for name in names):
            shutil.rmtree(trial)
    return copy


def test_the_table_of_the_recorded_run_is_as_agreed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    where, found = read_breakeven(RECORDED)
    lines = breakeven_table(where, found, width=80).splitlines()
    assert "\n".join(line.rstrip() for line in lines) + "\n" == GOLDEN.read_text()


def test_nothing_in_the_run_is_written_and_the_picture_only_where_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = without(tmp_path)
    before = sorted(copy.rglob("*"))
    assert run("breakeven", str(copy), "--concurrency", "1", "--plot", str(tmp_path / "need.png")) == 0
    assert sorted(copy.rglob("*")) == before
    assert (tmp_path / "need.png").read_bytes().startswith(b"\x89PNG")
    out = capsys.readouterr().out
    assert "good has 0.98, needs 0.91 (from 0.72) to pay at K = 2." in out
    assert "concurrency 8" not in out


def test_json_is_one_line_with_every_figure(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("breakeven", str(RECORDED), "--json", "--up-to", "2") == 0
    (line,) = capsys.readouterr().out.splitlines()
    document = json.loads(line)
    assert [(row["draft"], row["concurrency"]) for row in document["rows"]] == [("good", 1), ("good", 8)]
    cell = document["rows"][0]["cells"][1]
    assert (cell["num_speculative_tokens"], cell["basis"]) == (2, "measured")
    assert cell["has_tokens_per_step"] == pytest.approx(1417 / 483)
    pay, half, _ = cell["needs"]
    assert (pay["speedup"], pay["reach"]) == (1.0, "possible")
    assert pay["acceptance"]["value"] == pytest.approx(0.907, abs=1e-3)
    assert (half["reach"], half["acceptance"]["value"]) == ("impossible", None)


def test_a_faster_draft_needs_less(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("breakeven", str(RECORDED), "--json", "--draft-speed", "4", "--concurrency", "1") == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["draft_speed"] == 4
    assert row["draft_time_per_token"]["note"].startswith("at least")
    assert row["cells"][1]["needs"][0]["acceptance"]["value"] < 0.9
    assert not any("has" in sentence for sentence in row["findings"]), "what it has says nothing of another draft"


def test_ngram_is_shown_where_it_is_named_or_alone(tmp_path: Path) -> None:
    assert {row.draft_name for row in read_breakeven(RECORDED)[1]} == {"good"}
    assert {row.draft_name for row in read_breakeven(RECORDED, ("ngram-gpu",))[1]} == {"ngram-gpu"}
    assert {row.draft_name for row in read_breakeven(without(tmp_path, "good"))[1]} == {"ngram-gpu"}


def test_one_measured_k_says_what_is_not_known() -> None:
    _, (row,) = read_breakeven(LARGER, ("weak",), (64,))
    assert sentences(row) == [
        "weak has 0.67, needs 0.89 (from 0.72) to pay at K = 3.",
        "To pay: least at K = 3, an acceptance of 0.89 (from 0.72).",
        "For 1.5x and 2x: nothing but bounds is known at K = 1, 2: measure another K.",
    ]
    table = breakeven_table("", [row], width=80)
    assert "not known" in table and "<= " in table


def test_a_simulated_sweep_can_be_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "space.yaml").write_text(SPACE)
    (tmp_path / "prompts.jsonl").write_text(PROMPTS)
    assert run("sweep", "--space", "space.yaml", "--engine", "sim", "--sampler", "grid", "--out", "run", "--quiet") == 0
    capsys.readouterr()
    assert run("breakeven", "run", "--json", "--plot", "need.svg") == 0
    document = json.loads(capsys.readouterr().out)
    bases = [cell["basis"] for cell in document["rows"][0]["cells"]]
    assert bases == ["measured", "interpolated", "measured"]
    assert [row["concurrency"] for row in document["rows"]] == [1, 2]
    assert (tmp_path / "need.svg").read_text().startswith("<?xml")


# --- what cannot be told ----------------------------------------------------------------------------------------------


def test_without_a_baseline_nothing_was_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("breakeven", str(without(tmp_path, "baseline", "final")), "--json") == 3
    error = json.loads(capsys.readouterr().out)
    assert "baseline" in error["error"] and error["next_step"]


def test_without_a_draft_nothing_was_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("breakeven", str(without(tmp_path, "candidate"))) == 3
    assert "tuner sweep MODEL --draft DRAFT" in capsys.readouterr().err


def test_ngram_that_rarely_matches_cannot_stand_in_for_a_draft(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("breakeven", str(LARGER), "--draft", "ngram") == 3
    assert "N-gram serves only where" in capsys.readouterr().err


def test_a_draft_speed_needs_the_drafts_own_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("breakeven", str(LARGER), "--draft-speed", "2") == 2
    assert "--drafts-alone" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([str(DATA)], "is not a run of tuner"),
        ([str(RECORDED), "--draft", "best"], "It has: good, ngram-gpu."),
        ([str(RECORDED), "--concurrency", "2"], "It measured concurrency 1, 8."),
        ([str(RECORDED), "--plot", "need.pdf"], "ends in .png or .svg"),
        ([str(RECORDED), "--plot", "/nowhere/need.png"], "cannot be written"),
        ([str(RECORDED), "--draft-speed", "0"], "--draft-speed"),
    ],
)
def test_bad_input_is_named(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("breakeven", *arguments) == 2
    assert words in capsys.readouterr().err
