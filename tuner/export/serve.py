"""The files that deployment starts vLLM with: a `--config` YAML and the environment it needs."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping

from tuner.export.comments import comment
from tuner.export.plain_yaml import yaml_text
from tuner.records import Candidate, Json
from tuner.space.command_line import JSON_LISTS
from tuner.space.methods import speculative_config
from tuner.space.model_refs import resolve_candidate, resolve_model


def serve_settings(target: str, candidate: Candidate, port: int | None = None) -> dict[str, Json]:
    """Return the mapping that vLLM's `--config FILE` reads as if each key were a flag.

    port: None for the engine's own default.

    Five habits of that reader shape it (seen in 0.32): a value of `false` is dropped without a word by some releases,
    so it becomes `no-FLAG: true`; `null` ends the start with a usage error, so it is left out; nested mappings are read
    only by some releases, so they are written as a JSON string, which all read; a list becomes several words, so what
    is one JSON value is written as text; and text that begins with a hyphen would be taken for a flag, so it becomes
    part of its own.
    """
    candidate = resolve_candidate(candidate)
    settings: dict[str, Json] = {"model": resolve_model(target)}
    for name, value in candidate.engine_args.items():
        settings |= _setting(name, value)
    if candidate.speculation:
        settings["speculative-config"] = json.dumps(speculative_config(candidate.speculation))
    if port is not None:
        settings["port"] = port
    return settings


def _setting(name: str, value: Json) -> dict[str, Json]:
    flag = name.replace("_", "-")
    if value is False:
        return {f"no-{flag}": True}
    if isinstance(value, dict) or (isinstance(value, list) and name in JSON_LISTS):
        return {flag: json.dumps(value)}
    if isinstance(value, list):
        return {flag: [json.dumps(item) if isinstance(item, dict) else item for item in value]}
    if isinstance(value, str) and value.startswith("-"):
        return {f"{flag}={value}": True}
    return {} if value is None else {flag: value}


def serve_yaml(target: str, candidate: Candidate, about: str, port: int | None = None) -> str:
    """Return the text of a vLLM `--config` file.  about: comment lines for whoever opens it."""
    return comment(about) + yaml_text(serve_settings(target, candidate, port))


def serve_env(env: Mapping[str, str], about: str) -> str:
    """Return `NAME=value` lines for a POSIX shell to source; other readers may keep the quotes."""
    return comment(about) + "".join(f"{name}={shlex.quote(value)}\n" for name, value in sorted(env.items()))
