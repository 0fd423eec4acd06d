"""A Kubernetes Deployment and its Service."""

from __future__ import annotations

from tuner.export.formats.deployment import START_LIMIT_S, Deployment
from tuner.export.formats.pods import hints, pod
from tuner.export.formats.text import header
from tuner.export.plain_yaml import yaml_text
from tuner.records import Json


def kubernetes(deployment: Deployment) -> str:
    """Return two manifests."""
    labels: dict[str, Json] = {"app.kubernetes.io/name": deployment.name}
    manifest: Json = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": deployment.name, "labels": labels},
        "spec": {
            "replicas": 1,
            "progressDeadlineSeconds": START_LIMIT_S + 300,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod(deployment, "vllm")},
        },
    }
    service: Json = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": deployment.name, "labels": labels},
        "spec": {
            "selector": labels,
            "ports": [{"name": "http", "port": deployment.serving_port, "targetPort": "http"}],
        },
    }
    return header(deployment, *hints(deployment), "Start: kubectl apply -f FILE") + yaml_text(manifest, service)
