"""An upgrade from one real engine to another, step by step, written down in docs/upgrading.md with what was printed.

    python -m tests.verify.upgrade VENV_OLD VENV_NEW WORK_DIRECTORY [PAGE]

Some fifteen engine starts: half an hour or more on two cores. Called again, finished steps are kept.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
SPACE = "upgrade.yaml"
BEGINNING, END = "<!-- measured: begin -->", "<!-- measured: end -->"


@dataclass(frozen=True)
class Step:
    """One command and what comes before it on the page."""

    about: str
    arguments: tuple[str, ...]


SWEEP = ("sweep", "--space", SPACE, "--quiet")
STEPS = (
    Step(
        "With the engine as it is. The target is new to the registry, so the whole space is searched:",
        (*SWEEP, "--engine", "engine-old", "--out", "runs/old"),
    ),
    Step(
        "The new release is installed beside the old one. Does the answer hold for it?",
        ("check", "demo:target", "--engine", "engine-new"),
    ),
    Step(
        "It has to be measured again. The search begins with the best of the last sweep:",
        (*SWEEP, "--engine", "engine-new", "--out", "runs/new", "--if-stale"),
    ),
    Step("The same comparison with every figure:", ("compare", "runs/old", "runs/new")),
    Step("Asked once more, there is nothing to do:", (*SWEEP, "--engine", "engine-new", "--if-stale")),
    Step("", ("history", "demo:target")),
)


def run(step: Step, directory: Path) -> str:
    """Run a command and return it as the page shows it: with everything that it printed, and its exit code."""
    environment = {**os.environ, "COLUMNS": "118", "NO_COLOR": "1", "PYTHONPATH": str(HERE.parents[1])}
    command = [sys.executable, "-m", "tuner", *step.arguments]
    done = subprocess.run(
        command, cwd=directory, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    printed = done.stdout.decode().replace(f"{directory.resolve()}/", "").replace(str(Path.home()), "~")
    lines = [line.rstrip() for line in re.sub(r"\n{3,}", "\n\n", printed).strip("\n").splitlines()]
    shown = shlex.join(["tuner", *step.arguments])
    about = [step.about, ""] if step.about else []
    return "\n".join([*about, "```", f"$ {shown}", *lines, f"(exit code {done.returncode})", "```", ""])


def main(old: str, new: str, directory: str, page: str = "docs/upgrading.md") -> None:
    """Run all steps in `directory` and put what they print into the page, between its two marks."""
    work = Path(directory)
    work.mkdir(parents=True, exist_ok=True)
    shutil.copy(HERE / SPACE, work / SPACE)
    for name, engine in (("engine-old", old), ("engine-new", new)):
        if not (work / name).exists():
            (work / name).symlink_to(Path(engine).absolute())
    measured = [f"The search space, `{SPACE}`:", "", "```yaml", (HERE / SPACE).read_text().rstrip(), "```", ""]
    for place, step in enumerate(STEPS, start=1):
        printed = work / f"step-{place}.md"  # a step that is run once more would find what it did the first time
        if not printed.exists():
            printed.write_text(run(step, work), encoding="utf-8")
        measured.append(printed.read_text(encoding="utf-8"))
        print(measured[-1], flush=True)
    text = Path(page).read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGINNING)
    after = rest.partition(END)[2]
    Path(page).write_text("\n".join([f"{before}{BEGINNING}", *measured, f"{END}{after}"]), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
