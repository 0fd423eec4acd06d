"""Helm values for vLLM's production stack (chart vllm-stack)."""

from __future__ import annotations

from tuner.export.formats.deployment import Deployment
from tuner.export.formats.pods import environment, hints, mounts, plain, probes, resources, volumes
from tuner.export.formats.text import header
from tuner.export.formats.words import settings_words
from tuner.export.plain_yaml import yaml_text
from tuner.records import Json

_PREFIX_CACHING = "enable_prefix_caching"
_TENSOR_PARALLEL = "tensor_parallel_size"


def production_stack(deployment: Deployment) -> str:
    """Return the values.

    The chart passes --no-enable-prefix-caching unless told otherwise, whatever the engine's own default is, so that is
    always said. It mounts shared memory where it is told of tensor parallelism, so that is said in its own words. All
    else goes through extraArgs as it was measured.
    """
    args = deployment.candidate.engine_args
    caching = args.get(_PREFIX_CACHING)
    parallel = args.get(_TENSOR_PARALLEL)
    repository, tag = _repository_and_tag(deployment.image)
    vllm: dict[str, Json] = {
        "enablePrefixCaching": True if caching is None else caching,
        **({"tensorParallelSize": parallel} if parallel else {}),
        "extraArgs": [*map(plain, settings_words(deployment, _PREFIX_CACHING, _TENSOR_PARALLEL))],
    }
    spec: dict[str, Json] = {
        "name": deployment.name,
        "repository": repository,
        "tag": tag,
        "modelURL": plain(deployment.target),
        "replicaCount": 1,
        "requestGPU": deployment.gpus,
        "resources": resources(deployment) or {"requests": {"cpu": "1"}},
        "vllmConfig": vllm,
        "env": environment(deployment),
        **_models(deployment),
    }
    engine: dict[str, Json] = {
        "modelSpec": [spec],
        "containerPort": deployment.serving_port,
        **({} if deployment.gpus else {"runtimeClassName": ""}),
        **_probes(deployment),
    }
    use = "Start: helm install NAME vllm/vllm-stack -f FILE"
    return header(deployment, *hints(deployment), use) + yaml_text({"servingEngineSpec": engine})


def _repository_and_tag(image: str) -> tuple[str, str]:
    """Return the image as the chart wants it. A colon before a slash belongs to a registry's port."""
    repository, colon, tag = image.rpartition(":")
    return (repository, tag) if colon and "/" not in tag else (image, "latest")


def _models(deployment: Deployment) -> dict[str, Json]:
    if not deployment.local_models:
        return {}
    return {
        "extraVolumes": volumes(deployment, models_alone=True),
        "extraVolumeMounts": mounts(deployment, models_alone=True),
    }


def _probes(deployment: Deployment) -> dict[str, Json]:
    """Return probes with the numbers that the chart knows."""
    known = ("httpGet", "periodSeconds", "failureThreshold")
    return {
        name: {key: probe[key] for key in known}
        for name, probe in probes(deployment.serving_port).items()
        if isinstance(probe, dict)
    }
