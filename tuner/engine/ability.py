"""What an engine can run: the tables first, then the engine's environment, and for what no table knows its own help."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Collection
from dataclasses import dataclass

from tuner.engine.help import EngineHelp, NoHelp, engine_help
from tuner.engine.resolve import Engine
from tuner.errors import EngineNotFound, SpaceError
from tuner.records import Candidate, Json
from tuner.records.notice import Level, Notice
from tuner.space.availability import method_unavailable
from tuner.space.candidates import candidates, packages_needed, unavailable_reason
from tuner.space.engine_flags import known_engine_args
from tuner.space.methods import METHODS
from tuner.space.search_space import SearchSpace
from tuner.space.versions import VERSIONS, version_row

PACKAGES_TIMEOUT_S = 60.0

_FIND = """
import importlib.util, json, sys
print(json.dumps([name for name in sys.argv[1:] if importlib.util.find_spec(name) is None]))
"""

_OTHER_ARGS = "Change engine_args (or unchecked_engine_args, choices) in the search space."
_NEWER_TUNER = "Look for a newer tuner."
_OTHER_DRAFT = "Try another method or engine; `tuner methods` shows what this one can run."


@dataclass(frozen=True)
class Ability:
    """What was found out about an engine before any start.

    lacking: packages that methods need and that its environment does not have.  help: its own flags, None where the
    tables suffice or it told none.  note: what a user should know of it, "" for nothing.
    """

    engine: Engine
    lacking: frozenset[str] = frozenset()
    help: EngineHelp | None = None
    note: str = ""

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Return the note as it is kept with a run."""
        if not self.note:
            return ()
        evidence: dict[str, Json] = {"version": self.engine.version, "help_read": self.help is not None}
        return (Notice("engine_beyond_the_tables", Level.WARNING, "engine", self.note, _NEWER_TUNER, evidence),)

    def refusal(self, candidate: Candidate) -> str | None:
        """Return why the engine cannot run `candidate`, None if as far as can be told it can."""
        reason = unavailable_reason(candidate, self.engine.version, self.engine.build, self.lacking)
        return reason or (self.help.refusal(candidate) if self.help else None)

    def method_refusal(self, name: str) -> str | None:
        """Return why the engine cannot run a method, whatever its options; None if as far as can be told it can."""
        reason = method_unavailable(name, self.engine.version, self.engine.build, self.lacking)
        return reason or (self.help.method_refusal(name) if self.help else None)


def ability(space: SearchSpace, engine: Engine) -> Ability:
    """Ask the engine's environment what the space makes it necessary to know; no engine is started.

    The help is read where the engine is newer than the tables, or the space has a flag that no table has.
    Raises EngineNotFound for a release before 0.8.5, or an interpreter that does not run.
    """
    unknown = [name for name in (*space.engine_args, *space.choices) if name not in known_engine_args()]
    return _asked(engine, packages_needed(space), unknown)


def whole_ability(engine: Engine) -> Ability:
    """Ask the engine's environment what any method may need; else as `ability`."""
    return _asked(engine, [row.package.name for row in METHODS.values() if row.package], ())


def _asked(engine: Engine, packages: Collection[str], unknown: Collection[str]) -> Ability:
    known = version_row(engine.version).known
    if engine.kind == "sim":
        return Ability(engine)
    lacking = lacking_packages(engine.python, packages)
    if known and not unknown:
        return Ability(engine, lacking)
    try:
        found, problem = engine_help(engine), ""
    except NoHelp as error:
        found, problem = None, error.message.rstrip(".")
    return Ability(engine, lacking, found, _note(engine, known, unknown, problem))


def _note(engine: Engine, known: bool, unknown: Collection[str], problem: str) -> str:
    """Say what the tables cannot vouch for, and who did."""
    checked = "were checked against its own --help"
    if problem:
        checked = f"could not be checked against its own --help ({problem})"
    if not known:
        newest = VERSIONS[-1].release
        return (
            f"vLLM {engine.version} is newer than {newest}, the newest release that the tuner knows: that one's rules "
            f"were used, and flags and methods {checked}"
        )
    return f"{', '.join(unknown)}: not among the flags that the tuner knows; they {checked}" if problem else ""


def lacking_packages(python: str, names: Collection[str]) -> frozenset[str]:
    """Return which of the packages that methods name are not there in an interpreter's environment.

    names: of packages, as in METHODS.  Nothing is imported.  Raises EngineNotFound if the interpreter does not run.
    """
    wanted = {row.package.module: row.package.name for row in METHODS.values() if row.package}
    modules = [module for module, name in wanted.items() if name in names]
    if not modules:
        return frozenset()
    try:
        done = subprocess.run(
            [python, "-c", _FIND, *modules],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=PACKAGES_TIMEOUT_S,
            env={**os.environ, "PYTHONSAFEPATH": "1"},
            check=True,
        )
        return frozenset(wanted[module] for module in json.loads(done.stdout.splitlines()[-1]))
    except (OSError, subprocess.SubprocessError, ValueError, IndexError) as error:
        raise EngineNotFound(f"--engine: {python} does not run as a Python interpreter: {error}", "") from error


def split(space: SearchSpace, found: Ability) -> tuple[tuple[Candidate, ...], tuple[tuple[Candidate, str], ...]]:
    """Return the candidates that the engine can run, and the others with the reason.

    Raises SpaceError if it cannot run without speculation, or with none of the drafts: nothing could be compared.
    """
    possible: list[Candidate] = []
    impossible: list[tuple[Candidate, str]] = []
    for candidate in candidates(space):
        reason = found.refusal(candidate)
        if reason is None:
            possible.append(candidate)
        elif candidate.speculation is None:
            raise SpaceError(f"The engine cannot start: {reason}.", _OTHER_ARGS)
        else:
            impossible.append((candidate, reason))
    if impossible and not any(candidate.speculation for candidate in possible):
        reasons = "; ".join(dict.fromkeys(reason for _, reason in impossible))
        raise SpaceError(f"This engine can run none of the drafts: {reasons}.", _OTHER_DRAFT)
    return tuple(possible), tuple(impossible)
