from dataclasses import replace

import pytest

from tuner.doctor.check import State
from tuner.doctor.facts import LeftFiles, Leftovers, ProcessFacts, RunFacts
from tuner.doctor.judge.leftovers import judge_leftovers

GUARD = ProcessFacts(11, "supervisor", "python -I -S supervisor.py", parent_alive=True, supervised=False, age_s=90.0)
ENGINE = ProcessFacts(12, "engine", "python -m vllm", parent_alive=True, supervised=True, age_s=90.0)
FILES = LeftFiles("sockets", "/tmp", 600, 0, "find /tmp -type s -delete")


def test_nothing_left_is_one_good_line() -> None:
    (check,) = judge_leftovers(Leftovers())
    assert check.state is State.OK


def test_engines_of_a_running_sweep_are_told_and_not_to_be_killed() -> None:
    (check,) = judge_leftovers(Leftovers(processes=(GUARD, ENGINE)))
    assert (check.name, check.state) == ("running_engines", State.INFO)
    assert "kill" not in check.next_step


@pytest.mark.parametrize(
    "process",
    [
        replace(GUARD, parent_alive=False),
        replace(ENGINE, parent_alive=False, supervised=False),
        replace(ENGINE, role="engine core", parent_alive=False, supervised=False, age_s=9000.0),
    ],
)
def test_what_outlived_its_sweep_comes_with_the_command_that_ends_it(process: ProcessFacts) -> None:
    (check,) = judge_leftovers(Leftovers(processes=(process,)))
    assert (check.name, check.state) == ("lost_process", State.WARN)
    assert f"kill -9 {process.pid}" in check.next_step
    assert ("2.5 h" if process.age_s > 3600 else "2 min") in check.what


def test_an_engine_below_its_supervisor_is_never_lost() -> None:
    assert judge_leftovers(Leftovers(processes=(replace(ENGINE, parent_alive=False),)))[0].state is State.OK


def test_locks() -> None:
    held, free = judge_leftovers(
        Leftovers(runs=(RunFacts("/runs/a", "process 7 on h", held=True), RunFacts("/runs/b", "process 8 on h", False)))
    )
    assert (held.name, free.name) == ("run_locked", "run_interrupted")
    assert "process 7 on h" in held.what
    assert "same command" in free.next_step


@pytest.mark.parametrize(
    ("files", "state", "words"),
    [
        (FILES, State.INFO, "To remove them: find /tmp"),
        (replace(FILES, in_use=True), State.INFO, "once nothing of the kind runs here any more: find /tmp"),
        (replace(FILES, kind="Ray sessions", size_bytes=2 * 2**30), State.WARN, "To remove them: "),
    ],
)
def test_files_come_with_the_command_that_removes_them(files: LeftFiles, state: State, words: str) -> None:
    (check,) = judge_leftovers(Leftovers(files=(files,)))
    assert check.state is state
    assert words in check.next_step
    assert check.name == f"left_{files.kind.replace(' ', '_').lower()}"
