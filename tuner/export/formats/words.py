"""The engine's command line, as containers and shells start it."""

from __future__ import annotations

import json

from tuner.export.formats.deployment import Deployment
from tuner.space.command_line import engine_flags

SERVE = ("vllm", "serve")
MODULE = ("python", "-m", "vllm.entrypoints.openai.api_server")
"""The CPU build from PyPI is no distribution named vllm, without which its `vllm serve` does not start."""


def settings_words(deployment: Deployment, *skip: str) -> list[str]:
    """Return engine arguments and speculation as words, without the model and the port.

    skip: engine arguments that the format has a place of its own for.
    """
    args = {name: value for name, value in deployment.candidate.engine_args.items() if name not in skip}
    config = deployment.speculative_config
    return [*engine_flags(args), *(("--speculative-config", json.dumps(config, allow_nan=False)) if config else ())]


def port_words(deployment: Deployment) -> list[str]:
    """Return the port where one was asked for."""
    return ["--port", str(deployment.port)] if deployment.port else []
