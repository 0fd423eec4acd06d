"""What the engine's own --help says, held against what the tables say of its release."""

from __future__ import annotations

from collections.abc import Iterable

from tuner.doctor.check import Check, State
from tuner.engine.help import EngineHelp
from tuner.records import Json
from tuner.space.availability import method_unavailable
from tuner.space.engine_flags import MANAGED, ONE_WAY, SWITCHES, VALUES, engine_arg_unavailable, known_engine_args
from tuner.space.methods import METHODS

_SHOWN = 8


def judge_help(found: EngineHelp, version: str) -> tuple[Check, ...]:
    """Whether the engine has the flags and methods that its release should have, and which of its own nobody knows.

    version: of vLLM.
    """
    expected = [name for name in SWITCHES | VALUES | ONE_WAY if engine_arg_unavailable({name: True}, version) is None]
    lacking = _flags(name for name in expected if _flag(name) not in found.flags)
    methods = [name for name in METHODS if method_unavailable(name, version, "cuda") is None]
    lacking += [f"method {name}" for name in methods if found.method_refusal(name)]
    known = known_engine_args() | set(MANAGED) | {"help"}
    names = {flag.removeprefix("--").replace("-", "_") for flag in found.flags}
    new = _flags(name for name in names - known if not name.startswith("no_") or name[3:] not in names)
    counts = f"its own --help has {len(found.flags)} flags"
    values: dict[str, Json] = {"flags": len(found.flags), "lacking": [*lacking], "unknown": [*new]}
    if lacking:
        what = f"{counts}, and lacks what its release should have: {_some(lacking)}"
        step = "Leave these out of search spaces; a changed build, or a release that the tuner does not know?"
        return (Check("engine_help", State.WARN, what, step, values),)
    more = f", of which the tuner does not know {_some(new)}: they go under unchecked_engine_args" if new else ""
    return (Check("engine_help", State.OK, f"{counts}, all that its release should have{more}", "", values),)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _flags(names: Iterable[str]) -> list[str]:
    return sorted(map(_flag, names))


def _some(names: list[str]) -> str:
    rest = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {rest} more" if rest > 0 else "")
