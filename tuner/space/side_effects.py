"""What speculation drags along: settings that the engine changes by itself once it speculates.

Each known change has a row: the log line that tells it, and what makes an engine without speculation run the same way.
The rows were read from vLLM 0.26.0's logs and 0.32.0's code. A line without a row is named, not guessed at.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from tuner.records import EngineFacts, Json
from tuner.space.versions import release

Arguments = Callable[[re.Match[str], Mapping[str, Json]], Mapping[str, Json] | None]
"""(match, arguments of the baseline) -> further engine arguments; None where these cannot be combined with those."""


@dataclass(frozen=True)
class SideEffects:
    """What one kind of speculation changes in the engine beside itself.

    changes: names of the changes that a plain engine can be given.  engine_args, env: what gives it them.
    others: what it cannot be given, in the engine's own words.
    """

    changes: tuple[str, ...] = ()
    engine_args: Mapping[str, Json] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Change:
    """since: the first release of which it is known that these arguments or variables do that."""

    name: str
    line: re.Pattern[str]
    engine_args: Arguments = lambda _match, _given: {}
    env: Mapping[str, str] = field(default_factory=dict)
    since: str = "0.26.0"


def _graphs(match: re.Match[str], given: Mapping[str, Json]) -> Mapping[str, Json] | None:
    config = given.get("compilation_config", {})
    if isinstance(config, str) and config.lstrip().startswith("{"):
        config = json.loads(config)
    if not isinstance(config, dict):
        return None
    return {"compilation_config": {**config, "cudagraph_mode": match["mode"]}}


def _budget(match: re.Match[str], given: Mapping[str, Json]) -> Mapping[str, Json] | None:
    return {"max_num_scheduled_tokens": int(match["tokens"])}


_CHANGES = (
    _Change(
        "the V1 model runner",
        re.compile(r"Model Runner V2 does not yet support .*using the V1 model runner", re.IGNORECASE),
        env={"VLLM_USE_V2_MODEL_RUNNER": "0"},
    ),
    _Change(
        "synchronous scheduling",
        re.compile(r"^Async(?:hronous)? scheduling\b.*\b(?:will be|is) disabled", re.IGNORECASE),
        engine_args=lambda _match, _given: {"async_scheduling": False},
    ),
    _Change(
        "other CUDA graphs",
        re.compile(r"(?:Overriding cudagraph_mode from \w+ to |setting cudagraph_mode=)(?P<mode>[A-Z_]+)"),
        engine_args=_graphs,
    ),
    _Change(
        "fewer tokens scheduled per step",
        re.compile(r"^max_num_scheduled_tokens is set to (?P<tokens>[1-9]\d*) "),
        engine_args=_budget,
        since="0.32.0",
    ),
)
_OF_THE_DRAFT = re.compile(
    r"^Overriding draft model max|^Overriding draft model's|^max_model_len: \d+ was asked for|"
    r"^Overriding max model len to \d+"
)
"""About the draft alone; or about the context, which is read from what the engine serves."""


def side_effects(
    speculating: EngineFacts, plain: EngineFacts, engine_args: Mapping[str, Json], version: str
) -> SideEffects:
    """Return what an engine changed by itself under speculation and not without it.

    engine_args: those that both were started with.  version: of vLLM; another one may need other arguments.
    """
    changes: list[str] = []
    arguments: dict[str, Json] = {}
    env: dict[str, str] = {}
    others: list[str] = []
    for line in _new_lines(speculating, plain):
        row, match = _row(line, version)
        added = row.engine_args(match, {**engine_args, **arguments}) if row and match else None
        if row is None or added is None:
            others.append(line)
            continue
        changes.append(row.name)
        arguments |= added
        env |= row.env
    asked, got = plain.max_model_len, speculating.max_model_len
    if asked is not None and got is not None and got < asked:
        changes.append("a shorter context")
        arguments["max_model_len"] = got
    return SideEffects(tuple(dict.fromkeys(changes)), arguments, env, tuple(others))


def _new_lines(speculating: EngineFacts, plain: EngineFacts) -> Iterable[str]:
    known = set(plain.changed_settings)
    return (s for s in speculating.changed_settings if s not in known and not _OF_THE_DRAFT.search(s))


def _row(line: str, version: str) -> tuple[_Change | None, re.Match[str] | None]:
    for row in _CHANGES:
        match = row.line.search(line)
        if match and release(version) >= release(row.since):
            return row, match
    return None, None
