"""A strange machine: odd names and locales, few descriptors, no home, a clock that goes back, another /tmp."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults import small_machine
from tests.faults.matrix import Group, fault
from tests.faults.small_machine import (
    PROFILE,
    PROMPTS,
    TARGET,
    tuner,
    write_inputs,
)
from tuner.cli.resuming import resume_command
from tuner.engine.api_key import kept_key
from tuner.space.model_refs import user_cache
from tuner.status import State, read_status
from tuner.store import read_run

recorded, workshop = small_machine.recorded, small_machine.workshop
empty, engines = small_machine.empty, small_machine.engines


NAME = "a b'c\"d $HOME 模型"
"""A name with a space, both quotes, what a shell would replace, and Chinese."""
STRANGE = """
import sys, time, resource
now_s, steps = time.time(), [0]
def stepping_back():
    steps[0] += 1
    return now_s - 60.0 * steps[0]
time.time = stepping_back
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
from tuner.cli import main
main()
"""


@pytest.fixture
def other_file_system(tmp_path: Path) -> Iterator[Path]:
    """A directory on another file system than the tests' own."""
    shm = Path("/dev/shm")
    if not shm.is_dir() or shm.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("this machine has one file system")
    with tempfile.TemporaryDirectory(dir=shm, prefix="tuner-") as made:
        yield Path(made)


@fault(
    Group.MACHINE,
    "the clock steps back a minute whenever it is read",
    sees="nothing: durations are of the monotonic clock",
    keeps="everything",
)
@fault(Group.MACHINE, "64 file descriptors (`ulimit -n 64`)", sees="nothing", keeps="everything")
@fault(
    Group.MACHINE,
    "a locale that is not UTF-8 (`LC_ALL=C`, `PYTHONUTF8=0`)",
    sees="nothing; what the terminal's encoding lacks is escaped",
    keeps="everything",
)
@fault(
    Group.MACHINE,
    "paths with spaces, quotes, `$` and Chinese characters, of run, space, eval set, models and registry",
    sees="them, quoted where a command is printed",
    keeps="everything",
)
@fault(Group.MACHINE, "`/tmp` on another file system than the run", sees="nothing", keeps="everything")
@fault(
    Group.MACHINE,
    "`~/.cache` cannot be written, `HOME` is not set, and there is no terminal",
    sees="nothing; what is cached is worked out again",
    keeps="everything",
)
def test_a_sweep_on_a_strange_machine(tmp_path: Path, other_file_system: Path) -> None:
    odd = tmp_path / NAME
    odd.mkdir()
    write_inputs(odd)
    (odd / NAME).mkdir()
    (odd / f"{NAME}.jsonl").write_text(PROMPTS)
    space = (odd / "space.yaml").read_text().replace("model: good", f"model: {json.dumps(f'./{NAME}')}")
    (odd / f"{NAME}.yaml").write_text(space)
    (odd / f"{NAME} sim.yaml").write_text(PROFILE)
    env = {
        **{name: value for name, value in os.environ.items() if name not in ("HOME", "LANG", "TUNER_CACHE")},
        **{"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONWARNINGS": "default"},
        **{"XDG_CACHE_HOME": "/proc/nowhere", "TUNER_CACHE": "/proc/nowhere", "TMPDIR": str(other_file_system)},
        "PYTHONPATH": str(Path(small_machine.__file__).parents[2]),
    }
    arguments = ["sweep", "--space", f"{NAME}.yaml", "--eval-set", f"{NAME}.jsonl"]
    arguments += ["--engine", f"sim:{NAME} sim.yaml", "--sampler", "grid", "--out", f"run {NAME}"]
    arguments += ["--registry", f"registry {NAME}", "--json"]
    done = subprocess.run(
        [sys.executable, "-c", STRANGE, *arguments], cwd=odd, env=env, stdin=subprocess.DEVNULL, capture_output=True
    )
    said = done.stderr.decode("utf-8", "surrogateescape")
    assert done.returncode == 0, said
    assert "Traceback" not in said and "Error" not in said
    run = odd / f"run {NAME}"
    manifest, trials = read_run(run)
    assert (manifest.summary is not None, manifest.broken) == (True, ())
    assert all(trial.record.phases.total_s > 0 and trial.record.phases.load_s > 0 for trial in trials)
    assert read_status(run).state is State.FINISHED
    assert len(list((odd / f"registry {NAME}").rglob("entry.json"))) == 1
    assert shlex.split(resume_command(arguments, {}, "tuner"))[-len(arguments) :] == arguments


def test_a_user_without_a_home_has_a_cache_and_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.delenv("TUNER_CACHE", raising=False)
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    assert user_cache() == tmp_path / f"spec-tuner-{os.getuid()}"
    assert kept_key(user_cache()) == kept_key(user_cache())
    assert kept_key(Path("/proc/nowhere")) != kept_key(Path("/proc/nowhere"))


def test_a_status_from_the_future_is_not_negative(workshop: Path) -> None:
    run = workshop / "run"
    assert read_status(run, now_s=time.time() - 3600).changed_s in (None, 0.0)
    assert TARGET in tuner("history", TARGET, "--registry", "registry")[1]
