"""vLLM's own `--config` file, as a sweep writes it."""

from __future__ import annotations

from tuner.export.formats.deployment import Deployment
from tuner.export.formats.text import header
from tuner.export.serve import serve_yaml


def vllm_config(deployment: Deployment) -> str:
    """Return the text of the file."""
    start = "python -m vllm.entrypoints.openai.api_server" if deployment.engine.build == "cpu" else "vllm serve"
    env = [f"Environment: {', '.join(sorted(deployment.env))}, see the formats env and docker-env."]
    body = serve_yaml(deployment.target, deployment.candidate, "", deployment.port)
    return header(deployment, *(env if deployment.env else ()), f"Start: {start} --config FILE") + body
