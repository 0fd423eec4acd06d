"""A KServe InferenceService with a container of its own, so that the engine is the one that was measured."""

from __future__ import annotations

from tuner.export.formats.deployment import Deployment
from tuner.export.formats.pods import hints, pod
from tuner.export.formats.text import header
from tuner.export.plain_yaml import yaml_text
from tuner.records import Json

_CONTAINER = "kserve-container"
"""The name by which KServe finds the one to serve."""


def kserve(deployment: Deployment) -> str:
    """Return the manifest.

    RawDeployment is what releases before 0.16 call the mode, and later ones still read for Standard. The other one,
    Knative, refuses directories of the node and starts that take minutes.
    """
    manifest: Json = {
        "apiVersion": "serving.kserve.io/v1beta1",
        "kind": "InferenceService",
        "metadata": {
            "name": deployment.name,
            "annotations": {"serving.kserve.io/deploymentMode": "RawDeployment"},
        },
        "spec": {"predictor": {"minReplicas": 1, "maxReplicas": 1, **pod(deployment, _CONTAINER)}},
    }
    return header(deployment, *hints(deployment), "Start: kubectl apply -f FILE") + yaml_text(manifest)
