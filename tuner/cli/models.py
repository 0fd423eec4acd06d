"""`tuner models`: models that can be made here."""

from __future__ import annotations

import click


@click.group()
def models() -> None:
    """Make models for trying things out."""


@models.command(epilog="\b\nExample:\n  tuner models demo && tuner sweep demo:target --space demo")
@click.option("--engine", metavar="PATH", help="A Python or virtual environment with vLLM [default: this one].")
def demo(engine: str | None) -> None:
    """Build the demo models from SmolLM2-135M-Instruct, which comes as a Python package: no hub is needed.

    They are built once, into $TUNER_CACHE or ~/.cache/spec-tuner, and are named demo:target, demo:original, demo:good
    and demo:weak. The target is the original at the cost of a larger model: it stands in for one.
    """
    from tuner.engine.resolve import resolve_engine
    from tuner.models import build_demo, demo_dir

    built = build_demo(resolve_engine(engine).python, demo_dir(), lambda line: click.echo(line, err=True))
    click.echo(str(built.directory))
