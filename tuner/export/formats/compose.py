"""A Docker Compose file."""

from __future__ import annotations

from tuner.export.formats.deployment import HUB_CACHE, START_LIMIT_S, Deployment
from tuner.export.formats.text import header
from tuner.export.formats.words import SERVE, port_words, settings_words
from tuner.export.plain_yaml import yaml_text
from tuner.records import Json


def compose(deployment: Deployment) -> str:
    """Return the file; models in directories are mounted where they lie, others go to a volume of their own."""
    service: dict[str, Json] = {
        "image": _plain(deployment.image),
        "entrypoint": [*SERVE],
        "command": [_plain(word) for word in (deployment.target, *settings_words(deployment), *port_words(deployment))],
        "environment": _environment(deployment),
        "volumes": _volumes(deployment),
        "ipc": "host",
        "deploy": _gpus(deployment),
        "ports": [f"{deployment.port}:{deployment.port}"] if deployment.port else None,
        "expose": None if deployment.port else [str(deployment.serving_port)],
        "healthcheck": {
            "test": ["CMD", "python3", "-c", _health(deployment.serving_port)],
            "interval": "10s",
            "timeout": "5s",
            "retries": 3,
            "start_period": f"{START_LIMIT_S}s",
        },
        "restart": "unless-stopped",
    }
    document: dict[str, Json] = {
        "services": {deployment.name: {name: value for name, value in service.items() if value}},
        **({"volumes": {"huggingface": {}}} if deployment.fetches else {}),
    }
    return header(deployment, "Start: docker compose -f FILE up") + yaml_text(document)


def _environment(deployment: Deployment) -> dict[str, Json]:
    """Return the environment; null passes on what whoever starts it has."""
    token: dict[str, Json] = {"HF_TOKEN": None} if deployment.fetches else {}
    return {name: _plain(value) for name, value in sorted(deployment.env.items())} | token


def _volumes(deployment: Deployment) -> list[Json]:
    directories = dict.fromkeys(path for _, path in deployment.local_models)
    mounts: list[Json] = [
        {"type": "bind", "source": _plain(path), "target": _plain(path), "read_only": True} for path in directories
    ]
    cache: Json = {"type": "volume", "source": "huggingface", "target": HUB_CACHE}
    return [*mounts, cache] if deployment.fetches else mounts


def _gpus(deployment: Deployment) -> Json:
    if not deployment.gpus:
        return None
    device: Json = {"driver": "nvidia", "count": deployment.gpus, "capabilities": ["gpu"]}
    return {"resources": {"reservations": {"devices": [device]}}}


def _health(port: int) -> str:
    return f"import urllib.request; urllib.request.urlopen('http://127.0.0.1:{port}/health', timeout=4)"


def _plain(text: str) -> str:
    """Return text that Compose reads as it stands: a single $ would begin a variable."""
    return text.replace("$", "$$")
