"""`tuner models`: models to try the tuner with."""

from __future__ import annotations

import click


@click.group()
def models() -> None:
    """Build models to try the tuner with."""


@models.command()
@click.option("--engine", metavar="PATH", help="Build with this Python or virtual environment [default: this one].")
def demo(engine: str | None) -> None:
    """Build the demo models from SmolLM2-135M-Instruct, once, outside this folder ($TUNER_CACHE)."""
    from tuner.engine.resolve import resolve_engine
    from tuner.models import build_demo, demo_dir

    built = build_demo(resolve_engine(engine).python, demo_dir(), click.echo)
    click.echo(f"demo models: {built.directory}")
