"""The command as a user meets it: help, exit codes, one message for each mistake, nothing written for bad input."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tuner.cli import cli, main

SPACE = """
target: simulated
drafts: [{name: good, method: draft_model, model: good, k: [2]}]
load_points: [{eval_set: prompts.jsonl, temperature: 0, concurrency: 1, max_tokens: 8}]
protocol: {repeats: 1, lives: 1, warmup_requests: 0, reduced: "A test."}
"""
PROMPTS = '{"id": "a", "category": "c", "prompt": "one two"}\n{"id": "b", "category": "c", "prompt": "three four"}\n'


@pytest.fixture(autouse=True)
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "space.yaml").write_text(SPACE)
    (tmp_path / "prompts.jsonl").write_text(PROMPTS)
    return tmp_path


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert isinstance(exit_.value.code, int)
    return exit_.value.code


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


@pytest.mark.parametrize(
    ("path", "command"), list(commands(cli)), ids=lambda value: "-".join(value) if isinstance(value, tuple) else ""
)
def test_every_command_and_option_has_help(path: tuple[str, ...], command: click.Command) -> None:
    assert command.help
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{' '.join(path)} {parameter.opts}"


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from tuner.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'ray', 'optuna', 'pandas', 'matplotlib', 'pyarrow', 'numpy', 'pydantic'} & set(sys.modules)\n"
        "sys.exit(', '.join(sorted(heavy)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_sweep_ends_with_one_line_of_json_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("sweep", "--space", "space.yaml", "--engine", "sim", "--out", "run", "--json") == 0
    (line,) = capsys.readouterr().out.splitlines()
    closing = json.loads(line)
    assert {"run", "verdict", "best", "artifact", "engine_starts", "wall_s", "overhead_s"} <= closing.keys()
    assert Path(closing["artifact"]).is_file()
    assert closing["engine_starts"] == 3


def test_report_and_plan_need_no_engine_start(capsys: pytest.CaptureFixture[str], workshop: Path) -> None:
    assert run("sweep", "--space", "space.yaml", "--engine", "sim", "--out", "run", "--quiet") == 0
    (workshop / "run" / "best_config.yaml").unlink()
    assert run("report", "run") == 0
    assert (workshop / "run" / "best_config.yaml").is_file()
    capsys.readouterr()
    assert run("plan", "--space", "space.yaml", "--engine", "sim", "--json") == 0
    plan = json.loads(capsys.readouterr().out)
    assert [start["role"] for start in plan["starts"]] == ["baseline", "candidate", "baseline_again"]
    assert "--speculative-config" in plan["starts"][1]["command"]


def test_a_plan_says_where_fewer_starts_are_usual(capsys: pytest.CaptureFixture[str], workshop: Path) -> None:
    assert run("plan", "--space", "space.yaml", "--engine", "sim") == 0
    planned = capsys.readouterr().out
    assert "at most 3 engine starts" in planned and "usually fewer" in planned
    (workshop / "grid.yaml").write_text(f"{SPACE}search: {{sampler: grid}}\n")
    assert run("plan", "--space", "grid.yaml", "--engine", "sim") == 0
    planned = capsys.readouterr().out
    assert "\n3 engine starts" in planned and "fewer" not in planned
    assert run("plan", "--space", "grid.yaml", "--engine", "sim", "--json") == 0
    assert json.loads(capsys.readouterr().out)["sampler"] == "grid"
    (workshop / "goal.yaml").write_text(f"{SPACE}objective: {{metric: throughput}}\n")
    assert run("plan", "--space", "goal.yaml", "--engine", "sim") == 0
    assert "fewer" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "samples"), [([], None), (["--check-distribution"], 64), (["--check-distribution", "9"], 9)]
)
def test_the_check_of_sampled_answers_is_planned_where_it_is_asked_for(
    capsys: pytest.CaptureFixture[str], workshop: Path, given: list[str], samples: int | None
) -> None:
    (workshop / "warm.yaml").write_text(SPACE.replace("temperature: 0", "temperature: 0.7"))
    assert run("plan", "--space", "warm.yaml", "--engine", "sim", *given) == 0
    planned = capsys.readouterr().out
    assert "short answers" in planned if samples else "short answers" not in planned
    assert samples is None or f"{samples} short answers to each of up to 16 prompts" in planned


def test_every_command_that_measures_has_an_example() -> None:
    for path, command in commands(cli):
        if path[0] in ("sweep", "plan", "noise", "diagnose", "report"):
            assert f"tuner {path[0]} " in (command.epilog or ""), path


def test_noise_is_a_table_a_file_and_one_line_of_json(capsys: pytest.CaptureFixture[str], workshop: Path) -> None:
    arguments = ("noise", "--space", "space.yaml", "--engine", "sim", "--out", "run", "--lives", "2")
    assert run(*arguments, "--json") == 0
    told = capsys.readouterr()
    (line,) = told.out.splitlines()
    document = json.loads(line)
    assert document["engine_starts"] == 2
    (arm,) = document["arms"]
    assert {"repeat_sd", "life_sd", "largest_difference", "lives_for"} <= arm["load_points"][0].keys()
    assert "life to life" in told.err and "no speculation" in told.err
    assert json.loads((workshop / "run/noise.json").read_text()) == document
    assert run(*arguments) == 0
    assert "life to life" in capsys.readouterr().out


def test_diagnose_says_why_and_serves_the_draft_alone(capsys: pytest.CaptureFixture[str], workshop: Path) -> None:
    # Steps long enough that a busy machine does not see a whole answer at once, which has no TPOT.
    targets = "targets: [{match: good, step_s: 0.01}, {match: '*', step_s: 0.03}]"
    (workshop / "slow.yaml").write_text(f"{targets}\ndrafts: [{{match: '*', step_s: 0.002, acceptance: [0.7]}}]\n")
    arguments = ("diagnose", "--space", "space.yaml", "--engine", "sim:slow.yaml", "--out", "run", "--json", "--quiet")
    assert run(*arguments) == 0
    told = capsys.readouterr()
    (line,) = told.out.splitlines()
    document = json.loads(line)
    assert document["engine_starts"] == 4
    assert document["draft_and_target"][0]["draft"] == "good"
    assert document["dragged_along"][0]["changes"] == ["synchronous scheduling"]
    assert document["second_baselines"] == []
    assert document["acceptance"][0]["candidate"] == "good K=2"
    assert "At temperature 0: " in told.err and "## Draft and target apart" in told.err
    causes = {cause["code"]: cause for cause in document["diagnoses"]}
    assert causes["settings_changed"]["subject"] == "good"
    assert set(causes["settings_changed"]) == {"code", "subject", "what", "evidence", "confidence", "next_step"}
    assert told.err.count(causes["settings_changed"]["what"]) == 1 and "## Why" in told.err


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["sweep", "--space", "nowhere.yaml"], "nowhere.yaml"),
        (["sweep", "--space", "space.yaml", "--engine", "/no/such/python"], "/no/such/python"),
        (["sweep", "--space", "space.yaml", "--engine", "sim:no-such-profile.yaml"], "no-such-profile.yaml"),
        (["sweep", "--space", "space.yaml", "--engine", "sim:no-such-profile"], "no-such-profile"),
        (["sweep", "--space", "space.yaml", "--engine", "sim", "--eval-set", "missing.jsonl"], "missing.jsonl"),
        (["sweep", "--space", "space.yaml", "--engine", "sim", "--out", "prompts.jsonl"], "prompts.jsonl"),
        (["sweep", "--space", "space.yaml", "--engine", "sim", "--out", "occupied"], "occupied"),
        (["sweep", "--space", "zero.yaml", "--engine", "sim"], "zero.yaml:3"),
        (["sweep", "--space", "unknown.yaml", "--engine", "sim"], "load_points"),
        (["sweep", "--space", "empty.yaml", "--engine", "sim"], "empty.jsonl"),
        (["sweep", "--space", "long.yaml", "--engine", "sim"], "max_model_len"),
        (["sweep", "--space", "space.yaml", "--no-such-option"], "--no-such-option"),
        (["noise", "--space", "space.yaml", "--engine", "sim", "--draft", "good"], "--k"),
        (["noise", "--space", "space.yaml", "--engine", "sim", "--k", "2"], "--draft"),
        (["noise", "--space", "nowhere.yaml"], "nowhere.yaml"),
        (["noise", "--space", "space.yaml", "--engine", "sim", "--lives", "1"], "lives"),
        (["diagnose", "--space", "nowhere.yaml"], "nowhere.yaml"),
        (["report", "no-run"], "no-run"),
        (["report", "."], "run.json"),
        (["eval-set", "check", "missing.jsonl"], "missing.jsonl"),
        (["eval-set", "import", "space.yaml"], "space.yaml"),
    ],
)
def test_bad_input_is_one_clear_message_and_leaves_nothing(
    arguments: list[str], names: str, workshop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (workshop / "occupied").mkdir()
    (workshop / "occupied" / "thesis.docx").write_text("years of work")
    (workshop / "zero.yaml").write_text(SPACE.replace("k: [2]", "k: [0]"))
    (workshop / "unknown.yaml").write_text(SPACE.replace("load_points", "load_point"))
    (workshop / "empty.yaml").write_text(SPACE.replace("prompts.jsonl", "empty.jsonl"))
    (workshop / "empty.jsonl").write_text("\n\n")
    (workshop / "long.yaml").write_text(SPACE + "engine_args: {max_model_len: 9}\n")
    before = sorted(workshop.rglob("*"))
    assert run(*arguments) == 2
    told = capsys.readouterr()
    assert names in told.err
    assert "Traceback" not in told.err
    assert told.out == ""
    assert sorted(workshop.rglob("*")) == before


def test_no_baseline_is_exit_code_3_and_json_says_so_too(capsys: pytest.CaptureFixture[str], workshop: Path) -> None:
    (workshop / "sim.yaml").write_text("faults: [{kind: crash_at_start, draft: none, message: 'ValueError: no'}]\n")
    assert run("sweep", "--space", "space.yaml", "--engine", "sim:sim.yaml", "--out", "run", "--json") == 3
    told = capsys.readouterr()
    assert json.loads(told.out.splitlines()[-1])["exit_code"] == 3
    assert "ValueError: no" in told.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["sweep", "--space", "nowhere.yaml"],
        ["sweep", "--no-such-option"],
        ["noise", "--space", "space.yaml", "--k", "2"],
        ["plan", "--workers", "0"],
        ["diagnose", "--max-workers", "none"],
    ],
)
def test_bad_input_is_a_line_of_json_where_that_was_asked_for(
    arguments: list[str], workshop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments, "--json") == 2
    (line,) = capsys.readouterr().out.splitlines()
    document = json.loads(line)
    assert document["exit_code"] == 2
    assert document["error"]


def test_noise_of_a_model_that_the_space_does_not_name(capsys: pytest.CaptureFixture[str], workshop: Path) -> None:
    """Its K is named beside it, so the space needs none."""
    arguments = ("--space", "space.yaml", "--engine", "sim", "--out", "run", "--lives", "2", "--quiet")
    assert run("noise", *arguments, "--draft", "org/other", "--k", "3", "--json") == 0
    arms = json.loads(capsys.readouterr().out)["arms"]
    assert [(arm["draft"], arm["num_speculative_tokens"]) for arm in arms] == [(None, 0), ("org/other", 3)]


def test_an_eval_set_is_imported_and_not_overwritten(capsys: pytest.CaptureFixture[str], workshop: Path) -> None:
    (workshop / "custom.jsonl").write_text('{"prompt": "Say hello."}\n')
    assert run("eval-set", "import", "custom.jsonl", "--out", "mine.jsonl") == 0
    assert run("eval-set", "check", "mine.jsonl") == 0
    assert "1 prompts" in capsys.readouterr().out
    assert run("eval-set", "import", "custom.jsonl", "--out", "mine.jsonl") == 2
    assert run("eval-set", "import", "custom.jsonl", "--out", "mine.jsonl", "--force") == 0
