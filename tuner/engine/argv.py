"""The engine's command line: a pure function of what is to be measured."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

from tuner.engine.resolve import Engine
from tuner.records import Candidate, Speculation
from tuner.space.command_line import engine_flags
from tuner.space.methods import speculative_config
from tuner.space.model_refs import resolve_model

ENTRY_POINTS = {"vllm": "vllm.entrypoints.openai.api_server", "sim": "tuner.engine.sim"}
"""Modules that every build has; the `vllm` script does not work in all of them."""


def engine_command(
    engine: Engine,
    target: str,
    served_name: str,
    port: int | str,
    candidate: Candidate,
    resolve: Callable[[str], str] = resolve_model,
) -> tuple[str, ...]:
    """Return the argument list that starts `engine` for `candidate`.

    target, and the candidate's draft: as the user wrote them; `resolve` turns both into what the engine can open.
    port: a number, or a placeholder where the command is only shown.  The engine's key is no argument: it goes through
    the environment (VLLM_API_KEY), where other users of the machine cannot read it.
    """
    return (
        engine.python,
        "-m",
        ENTRY_POINTS[engine.kind],
        *("--model", resolve(target)),
        *("--host", "127.0.0.1"),
        *("--port", str(port)),
        *("--served-model-name", served_name),
        *engine_flags(candidate.engine_args),
        *(_speculation_flags(candidate.speculation, resolve) if candidate.speculation else ()),
        *(("--sim-profile", engine.profile) if engine.kind == "sim" and engine.profile else ()),
    )


def _speculation_flags(spec: Speculation, resolve: Callable[[str], str]) -> tuple[str, str]:
    # custom_class has the import path of a class where others have a model.
    if spec.draft is not None and spec.method != "custom_class":
        spec = replace(spec, draft=resolve(spec.draft))
    return "--speculative-config", json.dumps(speculative_config(spec), allow_nan=False)
