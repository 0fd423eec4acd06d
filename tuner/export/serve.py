"""The files that deployment starts vLLM with: a `--config` YAML and the environment it needs."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping

import yaml

from tuner.records import Candidate, Json
from tuner.space.methods import speculative_config
from tuner.space.model_refs import resolve_candidate, resolve_model


def serve_settings(target: str, candidate: Candidate) -> dict[str, Json]:
    """Return the mapping that vLLM's `--config FILE` reads as if each key were a flag.

    Three habits of that reader shape it (seen in 0.32): a value of `false` is dropped without a word, so it becomes
    `no-FLAG: true`; `null` ends the start with a usage error, so it is left out; nested mappings are read only by
    some releases, so they are written as a JSON string, which all read.
    """
    candidate = resolve_candidate(candidate)
    settings: dict[str, Json] = {"model": resolve_model(target)}
    for name, value in candidate.engine_args.items():
        flag = name.replace("_", "-")
        if value is False:
            settings[f"no-{flag}"] = True
        elif isinstance(value, dict):
            settings[flag] = json.dumps(value)
        elif value is not None:
            settings[flag] = value
    if candidate.speculation:
        settings["speculative-config"] = json.dumps(speculative_config(candidate.speculation))
    return settings


def serve_yaml(target: str, candidate: Candidate, about: str) -> str:
    """Return the text of a vLLM `--config` file.  about: comment lines for whoever opens it."""
    header = "".join(f"# {line}\n" for line in about.splitlines())
    body = yaml.safe_dump(serve_settings(target, candidate), sort_keys=False, width=10_000, allow_unicode=True)
    return header + body


def serve_env(env: Mapping[str, str], about: str) -> str:
    """Return `NAME=value` lines for a POSIX shell to source; other readers may keep the quotes."""
    header = "".join(f"# {line}\n" for line in about.splitlines())
    return header + "".join(f"{name}={shlex.quote(value)}\n" for name, value in sorted(env.items()))
