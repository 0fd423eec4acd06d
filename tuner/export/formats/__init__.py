"""What an artifact can be exported as: one row each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tuner.export.formats.command import command
from tuner.export.formats.compose import compose
from tuner.export.formats.deployment import Choices, Deployment, Setting, deployment
from tuner.export.formats.environment import docker_environment, shell_environment
from tuner.export.formats.kserve import kserve
from tuner.export.formats.kubernetes import kubernetes
from tuner.export.formats.llm_d import llm_d
from tuner.export.formats.production_stack import production_stack
from tuner.export.formats.python_call import python_call
from tuner.export.formats.ray_serve import ray_serve
from tuner.export.formats.vllm_config import vllm_config


@dataclass(frozen=True)
class Format:
    """One format.  summary: in words, for tables.  suggested: a name for its file.  write: returns its text.

    carries_speculation: whether it says what the engine speculates with; environment files do not.
    """

    summary: str
    suggested: str
    write: Callable[[Deployment], str]
    carries_speculation: bool = True


FORMATS: Mapping[str, Format] = {
    "vllm": Format("vLLM's own --config file", "serve.yaml", vllm_config),
    "command": Format("a command for a POSIX shell", "serve.sh", command),
    "env": Format("environment for a shell to source", "serve.env", shell_environment, False),
    "docker-env": Format("environment for docker run --env-file", "docker.env", docker_environment, False),
    "python": Format("Python code that calls vllm.LLM", "engine.py", python_call),
    "compose": Format("Docker Compose", "compose.yaml", compose),
    "kubernetes": Format("Kubernetes Deployment and Service", "deployment.yaml", kubernetes),
    "kserve": Format("KServe InferenceService", "inferenceservice.yaml", kserve),
    "production-stack": Format("Helm values of vLLM's production stack", "values.yaml", production_stack),
    "llm-d": Format("Helm values of llm-d's modelservice chart", "values.yaml", llm_d),
    "ray-serve": Format("Ray Serve config with an LLM application", "serve_config.yaml", ray_serve),
}

__all__ = ["FORMATS", "Choices", "Deployment", "Format", "Setting", "deployment"]
