import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tuner.cli.completing import COMPLETED

TUNER = Path(sys.executable).with_name("tuner")


def offered(where: Path, *words: str) -> list[str]:
    """Return what bash is offered for the last of `words`, as click's own protocol has it: TYPE,VALUE."""
    asked = {
        "_TUNER_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(("tuner", *words)),
        "COMP_CWORD": str(len(words)),
    }
    done = subprocess.run(
        [TUNER], env={**os.environ, **asked}, cwd=where, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "among"),
    [
        (("sw",), "plain,sweep"),
        (("sweep", "--space", "ti"), "plain,tiny"),
        (("sweep", "--eval-set", "ch"), "plain,chat"),
        (("sweep", "demo:t"), "plain,demo:target"),
        (("sweep", "demo:target", "--draft", "demo:g"), "plain,demo:good"),
        (("eval-set", "check", "ch"), "plain,chat"),
        (("explain", "r"), "plain,runs/target/space"),
        (("sweep", "--space", "./mine"), "file,./mine"),
        (("status", "elsewhere"), "dir,elsewhere"),
        (("explain", "runs", "--lang", ""), "plain,zh"),
    ],
)
def test_what_is_offered(words: tuple[str, ...], among: str, tmp_path: Path) -> None:
    run = tmp_path / "runs" / "target" / "space"
    run.mkdir(parents=True)
    (run / "run.json").write_text("{}")
    assert among in offered(tmp_path, *words)


def test_every_name_in_the_table_is_a_parameter_of_some_command() -> None:
    from tests.cli.commands import every_command

    known = {param.name for _, command in every_command() for param in command.params}
    assert COMPLETED.keys() <= known


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_code(shell: str) -> None:
    done = subprocess.run([TUNER, "completion", shell], stdout=subprocess.PIPE, text=True, check=True)
    assert f"_TUNER_COMPLETE={shell}_complete" in done.stdout
    if found := shutil.which(shell):
        subprocess.run([found, "-n"], input=done.stdout, text=True, check=True)  # it parses
