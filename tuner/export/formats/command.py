"""A command for a POSIX shell."""

from __future__ import annotations

import shlex

from tuner.export.formats.deployment import Deployment
from tuner.export.formats.text import header
from tuner.export.formats.words import MODULE, SERVE, port_words, settings_words


def command(deployment: Deployment) -> str:
    """Return the command with its environment, one flag a line."""
    start = [*MODULE, "--model"] if deployment.engine.build == "cpu" else [*SERVE]
    first = [*(f"{name}={value}" for name, value in sorted(deployment.env.items()))]
    lines = [*map(_assignment, first), shlex.join([*start, deployment.target])]
    lines += [f"  {line}" for line in _by_flag([*settings_words(deployment), *port_words(deployment)])]
    return header(deployment) + " \\\n".join(lines) + "\n"


def _assignment(assigned: str) -> str:
    name, _, value = assigned.partition("=")
    return f"{name}={shlex.quote(value)}"


def _by_flag(words: list[str]) -> list[str]:
    """Return the words with each flag at the beginning of a line."""
    lines: list[list[str]] = []
    for word in words:
        if word.startswith("--") or not lines:
            lines.append([])
        lines[-1].append(word)
    return [shlex.join(line) for line in lines]
