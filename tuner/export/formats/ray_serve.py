"""A Ray Serve config with one LLM application."""

from __future__ import annotations

import re

from tuner.export.formats.deployment import Deployment
from tuner.export.formats.python_call import call_arguments
from tuner.export.formats.text import header
from tuner.export.plain_yaml import yaml_text
from tuner.records import Json

_ACCELERATORS = ("GB300", "GB200", "B300", "B200", "H200", "H100", "H20", "A100", "A10G", "L40S", "L4", "T4", "V100")
"""Ray's names that a device's name has as a word."""
_NOT_THERE = frozenset({"api_server_count", "log_config_file", "log_level"})
"""Flags of `vllm serve` that Ray, which is the server here, does not take."""


def ray_serve(deployment: Deployment) -> str:
    """Return the config that `serve deploy` and `serve run` read."""
    args = deployment.candidate.engine_args
    alone = [name for name in args if name in _NOT_THERE]
    kept = call_arguments({name: value for name, value in args.items() if name not in alone})
    config = deployment.speculative_config
    accelerator = _accelerator(deployment)
    llm: dict[str, Json] = {
        "model_loading_config": {"model_id": _served(deployment), "model_source": deployment.target},
        "engine_kwargs": {**kept, **({"speculative_config": config} if config else {})},
        **({"accelerator_type": accelerator} if accelerator else {}),
        "deployment_config": {"num_replicas": 1},
        **({"runtime_env": {"env_vars": dict(sorted(deployment.env.items()))}} if deployment.env else {}),
    }
    application: Json = {
        "name": deployment.name,
        "route_prefix": "/",
        "import_path": "ray.serve.llm:build_openai_app",
        "args": {"llm_configs": [llm]},
    }
    document: dict[str, Json] = {
        **({"http_options": {"port": deployment.port}} if deployment.port else {}),
        "applications": [application],
    }
    notes = [f"Left out, as Ray is the server here: {', '.join(alone)}."] if alone else []
    version = f"vllm=={deployment.engine.version} was measured; Ray brings a version of its own."
    where = ["The models must lie there on every node."] if deployment.local_models else []
    return header(deployment, *notes, *where, version, "Start: serve run FILE") + yaml_text(document)


def _served(deployment: Deployment) -> str:
    """Return what clients ask for: as vLLM's own server has it for a hub id, short for a directory."""
    return deployment.name if deployment.target.startswith("/") else deployment.target


def _accelerator(deployment: Deployment) -> str | None:
    """Return Ray's name of the device, None where it has none or the engine ran on the CPU."""
    if not deployment.gpus:
        return None
    words = re.split(r"[^A-Za-z0-9]+", " ".join(deployment.devices))
    return next((name for name in _ACCELERATORS if name in words), None)
