"""`tuner models`: models that can be made here."""

from __future__ import annotations

from pathlib import Path

import click

from tuner.cli.options import json_option


@click.group()
def models() -> None:
    """Make models: for trying things out, or to fit a target."""


@models.command(epilog="\b\nExample:\n  tuner models demo && tuner sweep demo:target --space demo")
@click.option("--engine", metavar="PATH", help="A Python or virtual environment with vLLM [default: this one].")
def demo(engine: str | None) -> None:
    """Build the demo models from SmolLM2-135M-Instruct, which comes as a Python package: no hub is needed.

    They are built once, into $TUNER_CACHE or ~/.cache/spec-tuner, and are named demo:target, demo:original, demo:good,
    demo:weak and demo:shallow. The target is the original at the cost of a larger model: it stands in for one.
    """
    from tuner.engine.resolve import resolve_engine
    from tuner.models import build_demo, demo_dir

    built = build_demo(resolve_engine(engine).python, demo_dir(), lambda line: click.echo(line, err=True))
    click.echo(str(built.directory))


@models.command(
    epilog="\b\nExample:\n  tuner models pad /models/Qwen2.5-0.5B /models/Qwen2.5-0.5B-padded --like /models/Qwen2.5-7B"
)
@click.argument("draft")
@click.argument("out", type=click.Path(path_type=Path))
@click.option(
    "--like", "target", required=True, metavar="TARGET", help="The model whose vocabulary size it shall have."
)
@click.option("--engine", metavar="PATH", help="A Python or virtual environment with vLLM [default: this one].")
@click.option("--download", is_flag=True, help="Allow hub ids to be downloaded.")
@json_option
def pad(draft: str, out: Path, target: str, engine: str | None, download: bool, as_json: bool) -> None:
    """Write a copy of DRAFT to OUT with as many vocabulary rows as TARGET, so that an engine takes both together.

    For models of one tokenizer whose sizes are padded differently; other tokenizers are refused. OUT must not exist.
    The added rows are the mean of all rows: their logit is the mean logit, so they are never the most probable token.
    """
    import json

    from tuner.engine.resolve import resolve_engine
    from tuner.models.padding import pad_vocabulary
    from tuner.preflight.padding import rows_for

    python = resolve_engine(engine).python
    wanted = rows_for(draft, target, python=python, download=download)
    if wanted.note:
        click.echo(f"note: {wanted.note}", err=True)
    padded = pad_vocabulary(python, wanted.draft, out, wanted.rows)
    if as_json:
        click.echo(json.dumps({"directory": str(padded.directory), "rows": wanted.rows, "changed": padded.changed}))
        return
    for name, (old, new) in padded.changed.items():
        click.echo(f"{name}: {old} rows -> {new}")
    click.echo(str(padded.directory))
