"""Environment files: one that a shell sources, one that `docker run --env-file` reads. Their rules differ."""

from __future__ import annotations

from tuner.errors import ArtifactError
from tuner.export.formats.deployment import Deployment
from tuner.export.formats.text import header
from tuner.export.serve import serve_env


def shell_environment(deployment: Deployment) -> str:
    """Return `NAME=value` lines, quoted as a POSIX shell reads them."""
    return header(deployment, "Use: set -a; . ./FILE; set +a") + serve_env(deployment.env, "")


def docker_environment(deployment: Deployment) -> str:
    """Return `NAME=value` lines, the value as it stands: Docker takes quotes for part of it, and ends it at the line.

    Raises ArtifactError for a value with a line break, which that file cannot hold.
    """
    for name, value in deployment.env.items():
        if "\n" in value or "\r" in value:
            raise ArtifactError(
                f"{name} has a line break, which an --env-file cannot hold",
                "Use the format compose, or env and `docker run --env`.",
            )
    lines = "".join(f"{name}={value}\n" for name, value in sorted(deployment.env.items()))
    return header(deployment, "Use: docker run --env-file FILE ...") + lines
