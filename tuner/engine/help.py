"""The flags in an engine's own --help.

The tables know the releases that existed when they were written. A newer engine is asked itself: a flag that it does
not have is found here in seconds, and not after a start.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tuner.engine.argv import ENTRY_POINTS
from tuner.engine.environment import engine_env
from tuner.engine.resolve import Engine
from tuner.errors import EngineNotFound
from tuner.records import Candidate
from tuner.space.command_line import engine_flags
from tuner.space.model_refs import user_cache
from tuner.space.versions import version_row

HELP_TIMEOUT_S = 240.0
"""The engine imports torch to print its help: 10 s with a warm disk, minutes from a network file system."""

_USAGE = re.compile(r"^usage:.*?(?=^\s*$|\Z)", re.DOTALL | re.MULTILINE)
_OPTION_LINE = re.compile(r"^  -{1,2}\w.*$", re.MULTILINE)
_FLAG = re.compile(r"(?<![\w-])--[A-Za-z0-9][\w.-]*")
_METHODS = re.compile(r"--spec-method \{([^}]*)\}")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class NoHelp(EngineNotFound):
    """The engine did not print its help, so nothing is known of its flags."""


@dataclass(frozen=True)
class EngineHelp:
    """flags: with their dashes, `--no-` forms too.  methods: those that --spec-method takes, empty if it names none."""

    flags: frozenset[str]
    methods: frozenset[str] = frozenset()

    def refusal(self, candidate: Candidate) -> str | None:
        """Return what of `candidate` the engine does not have, None if its help has all of it."""
        wanted = [word for word in engine_flags(candidate.engine_args) if word.startswith("--")]
        wanted += ["--speculative-config"] if candidate.speculation else []
        missing = [word for word in wanted if word not in self.flags]
        if missing:
            return f"the engine's own --help does not have {', '.join(missing)}"
        return self.method_refusal(candidate.speculation.method) if candidate.speculation else None

    def method_refusal(self, name: str) -> str | None:
        """Return why the engine does not have a method, None if its help has it or names none."""
        if self.methods and name not in self.methods:
            return f"the engine's own --help does not have {name} among the values of --spec-method"
        return None


def parse_help(text: str) -> EngineHelp | None:
    """Return the flags in the help text of an argparse program, None if it is none.

    The usage names each flag by its first spelling, the lists of options name the others; descriptions, which may
    mention flags of other programs, are not read.
    """
    plain = _COLOUR.sub("", text)
    usage = _USAGE.search(plain)
    if usage is None:
        return None
    heads = [re.split(r"\s{2,}", line.strip())[0] for line in _OPTION_LINE.findall(plain[usage.end() :])]
    flags = frozenset(flag.rstrip(".") for part in (usage[0], *heads) for flag in _FLAG.findall(part))
    methods = _METHODS.search(usage[0])
    names = frozenset(methods[1].replace("\n", "").replace(" ", "").split(",")) if methods else frozenset()
    return EngineHelp(flags, names - {"None", ""}) if "--model" in flags else None


def engine_help(engine: Engine, *, fresh: bool = False, timeout_s: float = HELP_TIMEOUT_S) -> EngineHelp:
    """Return the engine's flags from its own help; kept in the user's cache by interpreter, version and build.

    fresh: ask the engine again.  Raises NoHelp if it prints none.
    """
    kept = _kept(engine)
    if not fresh and (found := _read(kept)):
        return found
    found = _asked(engine, timeout_s)
    # A cache that cannot be written costs seconds the next time, and no more.
    with contextlib.suppress(OSError):
        _write(kept, found)
    return found


def _asked(engine: Engine, timeout_s: float) -> EngineHelp:
    command = [engine.python, "-m", ENTRY_POINTS[engine.kind], version_row(engine.version).help_flag]
    by_hand = f"Try it by hand: {' '.join(command)}"
    env = {**engine_env(os.environ, {}, ""), "COLUMNS": "200", "NO_COLOR": "1"}
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            env=env,
            timeout=timeout_s,
            check=False,
        )
    except OSError as error:
        raise NoHelp(f"{engine.python} cannot be run: {error.strerror}.", "Check --engine.") from error
    except subprocess.TimeoutExpired as error:
        message = f"vLLM {engine.version} took longer than {timeout_s:.0f} s to print its help."
        raise NoHelp(message, by_hand) from error
    found = parse_help(done.stdout) if done.returncode == 0 else None
    if found is None:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise NoHelp(f"vLLM {engine.version} does not print its help: {last}", by_hand)
    return found


def _kept(engine: Engine) -> Path:
    key = "\0".join((engine.python, engine.version, engine.build))
    return user_cache() / "engine-help" / f"{hashlib.sha256(key.encode()).hexdigest()[:16]}.json"


def _read(path: Path) -> EngineHelp | None:
    try:
        kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return EngineHelp(frozenset(kept["flags"]), frozenset(kept["methods"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(path: Path, found: EngineHelp) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({name: sorted(values) for name, values in asdict(found).items()})
    half = path.with_name(f"{path.name}.{os.getpid()}")
    half.write_text(text, encoding="utf-8")
    half.replace(path)
