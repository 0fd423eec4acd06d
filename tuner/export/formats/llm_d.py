"""Helm values for llm-d (chart llm-d-modelservice)."""

from __future__ import annotations

from tuner.export.formats.deployment import Deployment
from tuner.export.formats.pods import container, hints, volumes
from tuner.export.formats.text import header
from tuner.export.plain_yaml import yaml_text
from tuner.records import Json


def llm_d(deployment: Deployment) -> str:
    """Return the values: one engine that both prefills and decodes, which is what was measured.

    The command is given whole: the chart's own would serve under another name and on another port.
    """
    parallel = deployment.candidate.engine_args.get("tensor_parallel_size")
    engine = container(deployment, "vllm") | {"modelCommand": "custom", "mountModelVolume": False}
    engine["args"] = [*_words(engine), *([] if deployment.port else ["--port", str(deployment.serving_port)])]
    engine["env"] = _escaped(engine.get("env", []))
    decode: dict[str, Json] = {
        "create": True,
        "replicas": 1,
        "parallelism": {"tensor": parallel or 1},
        "containers": [engine],
        "volumes": volumes(deployment, models_alone=False),
    }
    values: dict[str, Json] = {
        "modelArtifacts": {
            "name": deployment.target,
            "uri": f"hf://{deployment.target}"
            if not deployment.target.startswith("/")
            else f"file://{deployment.target}",
        },
        "accelerator": {"type": "nvidia" if deployment.gpus else "cpu"},
        "routing": {"servicePort": deployment.serving_port, "proxy": {"enabled": False}},
        "decode": decode,
        "prefill": {"create": False},
    }
    use = "Start: helm install NAME llm-d-modelservice/llm-d-modelservice -f FILE"
    return header(deployment, *hints(deployment), use) + yaml_text(values)


def _words(engine: dict[str, Json]) -> list[Json]:
    args = engine["args"]
    return args if isinstance(args, list) else []


def _escaped(value: Json) -> Json:
    """Return the variables so that the chart, which fills in {{ }} there, leaves them as they are."""
    if isinstance(value, list):
        return [_escaped(one) for one in value]
    if isinstance(value, dict):
        return {key: _escaped(one) for key, one in value.items()}
    return value.replace("{{", "{{ `{{` }}") if isinstance(value, str) else value
