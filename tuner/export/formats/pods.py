"""What all formats for Kubernetes have in common: the engine's container and the volumes of its models."""

from __future__ import annotations

from tuner.export.formats.deployment import HUB_CACHE, START_LIMIT_S, Deployment
from tuner.export.formats.words import SERVE, port_words, settings_words
from tuner.records import Json

_ON_NODES = (
    "Models are taken from directories of the node (hostPath); put your own volumes there if they lie elsewhere."
)
_PERIOD_S = 10
_SHARED_MEMORY = "8Gi"
"""For what an engine's processes tell each other; a container has 64 MiB otherwise."""


def container(deployment: Deployment, name: str) -> dict[str, Json]:
    """Return the container."""
    words = [deployment.target, *settings_words(deployment), *port_words(deployment)]
    whole: dict[str, Json] = {
        "name": name,
        "image": deployment.image,
        "command": [*SERVE],
        "args": [*map(plain, words)],
        "env": environment(deployment),
        "ports": [{"name": "http", "containerPort": deployment.serving_port}],
        "resources": resources(deployment),
        "volumeMounts": mounts(deployment, models_alone=False),
        **probes("http"),
    }
    return {key: value for key, value in whole.items() if value}


def pod(deployment: Deployment, name: str) -> dict[str, Json]:
    """Return the pod.  name: of the container.

    Without service links: for a service named vllm Kubernetes would set VLLM_PORT, which engines misread.
    """
    return {
        "enableServiceLinks": False,
        "containers": [container(deployment, name)],
        "volumes": volumes(deployment, models_alone=False),
    }


def environment(deployment: Deployment) -> list[Json]:
    """Return the variables; the hub's token comes from a secret where there is one."""
    own: list[Json] = [{"name": name, "value": plain(value)} for name, value in sorted(deployment.env.items())]
    reference: Json = {"name": "huggingface", "key": "HF_TOKEN", "optional": True}
    token: Json = {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": reference}}
    return [*own, token] if deployment.fetches else own


def resources(deployment: Deployment) -> dict[str, Json]:
    """Return limits on GPUs, {} where the engine was measured without one."""
    return {"limits": {"nvidia.com/gpu": str(deployment.gpus)}} if deployment.gpus else {}


def mounts(deployment: Deployment, *, models_alone: bool) -> list[Json]:
    """Return where the container has its models: where they lie outside.

    models_alone: without what downloads go to, which outlives the container, and without shared memory.
    """
    found: list[Json] = [
        {"name": f"{role}-model", "mountPath": path, "readOnly": True} for role, path in _directories(deployment)
    ]
    cache: list[Json] = [{"name": "hub", "mountPath": HUB_CACHE}] if deployment.fetches else []
    return found if models_alone else [*found, *cache, {"name": "shared-memory", "mountPath": "/dev/shm"}]  # noqa: S108


def volumes(deployment: Deployment, *, models_alone: bool) -> list[Json]:
    """Return the volumes of `mounts`."""
    found: list[Json] = [
        {"name": f"{role}-model", "hostPath": {"path": path, "type": "Directory"}}
        for role, path in _directories(deployment)
    ]
    shared: Json = {"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": _SHARED_MEMORY}}
    cache: list[Json] = [{"name": "hub", "emptyDir": {}}] if deployment.fetches else []
    return found if models_alone else [*found, *cache, shared]


def probes(port: str | int) -> dict[str, Json]:
    """Return when the pod is started, ready and dead.  A busy engine answers late, and killing it makes that worse."""
    health: Json = {"path": "/health", "port": port}
    return {
        "startupProbe": _probe(health, _PERIOD_S, START_LIMIT_S // _PERIOD_S),
        "readinessProbe": _probe(health, _PERIOD_S, 3),
        "livenessProbe": _probe(health, 2 * _PERIOD_S, 6),
    }


def hints(deployment: Deployment) -> tuple[str, ...]:
    """Return comment lines on what the cluster needs."""
    token = ("The hub's token, if it is needed: kubectl create secret generic huggingface --from-literal=HF_TOKEN=...",)
    return (*((_ON_NODES,) if deployment.local_models else ()), *(token if deployment.fetches else ()))


def plain(text: str) -> str:
    """Return text that Kubernetes reads as it stands: it expands $(NAME) in arguments and variables, $$ is a $."""
    return text.replace("$", "$$")


def _directories(deployment: Deployment) -> list[tuple[str, str]]:
    """Return role and directory, each directory once: a target may be its own draft."""
    by_path = {path: role for role, path in reversed(deployment.local_models)}
    return [(role, path) for path, role in reversed(by_path.items())]


def _probe(health: Json, period_s: int, failures: int) -> Json:
    return {"httpGet": health, "periodSeconds": period_s, "timeoutSeconds": period_s // 2, "failureThreshold": failures}
