"""`tuner export`: an artifact as what deployment reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tuner.cli.options import json_option, registry_option
from tuner.errors import OutputError

if TYPE_CHECKING:
    from tuner.export.formats import Deployment, Setting
    from tuner.records import Json, Speculation
    from tuner.registry import Located

_FORMATS = (
    "vllm",
    "command",
    "env",
    "docker-env",
    "python",
    "compose",
    "kubernetes",
    "kserve",
    "production-stack",
    "llm-d",
    "ray-serve",
)
"""Names of tuner.export.formats, which --help does not wait for."""


@click.command(
    epilog="""\b
Formats:
  vllm              vLLM's own --config file, as serve.yaml
  command           a command for a POSIX shell
  env, docker-env   the environment, for a shell to source or for docker run --env-file
  python            Python code that calls vllm.LLM
  compose           Docker Compose
  kubernetes        Kubernetes Deployment and Service
  kserve            KServe InferenceService
  production-stack  Helm values of vLLM's production stack
  llm-d             Helm values of llm-d's modelservice chart
  ray-serve         Ray Serve config with an LLM application

\b
Examples:
  tuner export compose runs/demo-target/demo -o compose.yaml
  tuner export kubernetes Qwen/Qwen3-14B --target-path /models/Qwen3-14B --draft-path /models/Qwen3-0.6B
  tuner export command best_config.yaml --baseline

\b
Exit codes: 0 written, whatever the verdict; 2 bad input.
"""
)
@click.argument("format_", metavar="FORMAT", type=click.Choice(_FORMATS))
@click.argument("artifact")
@click.option("-o", "--out", "file", metavar="FILE", help="Write to FILE [default: standard output].")
@click.option("--temperature", type=float, metavar="T", help="Of several answers, the one at T [default: the first].")
@click.option("--baseline", is_flag=True, help="Without speculation: the way back.")
@click.option("--static", is_flag=True, help="Without the K schedule, where the recommended setting has one.")
@click.option("--limited", is_flag=True, help="Of speculate_below: what pays up to the limit.")
@click.option("--target-path", metavar="MODEL", help="Where the target lies in production, or its hub id.")
@click.option("--draft-path", metavar="MODEL", help="Where the draft lies in production, or its hub id.")
@click.option(
    "--port", type=click.IntRange(1024, 65535), help="Listen there [default: the engine's own, 8000, unpublished]."
)
@registry_option
@json_option
def export(
    format_: str,
    artifact: str,
    file: str | None,
    temperature: float | None,
    baseline: bool,
    static: bool,
    limited: bool,
    target_path: str | None,
    draft_path: str | None,
    port: int | None,
    registry: str,
    as_json: bool,
) -> None:
    """Write the answer of ARTIFACT as FORMAT.

    ARTIFACT is a best_config.yaml, the directory of a run or of a registry entry, a URL of these, or a target that the
    registry has (TARGET, or TARGET@STAMP for another than its latest). What is written fits any verdict: it speculates
    exactly where the artifact's serve.yaml does. With --json and without -o the text is in the JSON.
    """
    from tuner.export.formats import FORMATS, Choices, deployment
    from tuner.registry import locate

    located = locate(artifact, registry)
    choices = Choices(_setting(baseline, static, limited), temperature, target_path, draft_path, port)
    found = deployment(located.config, choices)
    text = FORMATS[format_].write(found)
    if file is not None:
        _write(Path(file), text)
        click.echo(f"{file}: {FORMATS[format_].summary}", err=True)
    elif not as_json:
        click.echo(text, nl=False)
    for note in found.notes:
        click.echo(f"note: {note}", err=True)
    if as_json:
        click.echo(json.dumps(_document(located, found, choices.setting, format_, file, text)))


def _setting(baseline: bool, static: bool, limited: bool) -> Setting:
    from tuner.export.formats import Setting

    asked = [
        setting
        for setting, is_asked in (
            (Setting.BASELINE, baseline),
            (Setting.STATIC, static),
            (Setting.LIMITED, limited),
        )
        if is_asked
    ]
    if len(asked) > 1:
        raise click.UsageError(f"{' and '.join(f'--{one.value}' for one in asked)} are two settings; choose one.")
    return asked[0] if asked else Setting.RECOMMENDED


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror or error}"
        raise OutputError(message, "Free space, fix permissions or name another file.") from error


def _document(
    located: Located, found: Deployment, setting: Setting, format_: str, file: str | None, text: str
) -> dict[str, Json]:
    speculation = found.candidate.speculation
    verdict = next(a.verdict for a in located.config.answers if a.temperature == found.temperature)
    return {
        "artifact": located.where,
        "format": format_,
        "file": file,
        "text": text if file is None else None,
        "verdict": verdict.value,
        "temperature": found.temperature,
        "setting": setting.value,
        "target": found.target,
        "speculation": None if speculation is None else _as_in_the_artifact(speculation),
        "notes": list(found.notes),
    }


def _as_in_the_artifact(speculation: Speculation) -> dict[str, Json]:
    return {
        "method": speculation.method,
        "draft": speculation.draft,
        "num_speculative_tokens": speculation.num_speculative_tokens,
        "options": dict(speculation.options),
    }
