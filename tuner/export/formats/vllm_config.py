"""vLLM's own `--config` file, as a sweep writes it."""

from __future__ import annotations

import shlex

from tuner.export.formats.deployment import Deployment
from tuner.export.formats.text import header
from tuner.export.formats.words import MODULE, SERVE
from tuner.export.serve import serve_yaml


def vllm_config(deployment: Deployment) -> str:
    """Return the text of the file."""
    cpu = deployment.engine.build == "cpu"
    start = f"Start, with the Python that has vLLM: {shlex.join(MODULE)}" if cpu else f"Start: {shlex.join(SERVE)}"
    env = [f"Environment: {', '.join(sorted(deployment.env))}, see the formats env and docker-env."]
    body = serve_yaml(deployment.target, deployment.candidate, "", deployment.port)
    return header(deployment, *(env if deployment.env else ()), f"{start} --config FILE") + body
