"""The printed command, as a shell reads it."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from tuner.cli.resuming import resume_command

SWEEP = ["sweep", "/models/my model", "--draft", "it's"]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = tmp_path / "tuner"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    return program


def test_arguments_come_back_whole(installed: Path) -> None:
    assert shlex.split(resume_command(SWEEP, {}, str(installed))) == ["tuner", *SWEEP]


def test_another_program_than_that_of_the_path_is_named(installed: Path, tmp_path: Path) -> None:
    other = tmp_path / "venv" / "bin" / "tuner"
    other.parent.mkdir(parents=True)
    other.write_text("#!/bin/sh\n")
    assert shlex.split(resume_command(SWEEP, {}, str(other)))[0] == str(other)
    module = str(tmp_path / "tuner" / "__main__.py")
    assert shlex.split(resume_command(SWEEP, {}, module))[:3] == [sys.executable, "-m", "tuner"]


def test_variables_that_shape_a_sweep_come_along(installed: Path) -> None:
    env = {"HOME": "/root", "CUDA_VISIBLE_DEVICES": "1", "VLLM_ATTENTION_BACKEND": "A B", "VLLM_API_KEY": "secret"}
    command = resume_command(["sweep", "m"], env, str(installed))
    assert command == "CUDA_VISIBLE_DEVICES=1 VLLM_ATTENTION_BACKEND='A B' tuner sweep m"


def test_a_password_is_hidden_and_asked_for(installed: Path) -> None:
    command = resume_command(["sweep", "m", "--storage", "postgresql://me:secret@db/x"], {}, str(installed))
    assert "secret" not in command
    assert command.endswith("# with the password in place of ***")
    assert shlex.split(command, comments=True)[-1] == "postgresql://me:***@db/x"
