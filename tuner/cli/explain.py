"""`tuner explain`: why this K and not the others, in plain words."""

from __future__ import annotations

import json
from pathlib import Path

import click

from tuner.cli.options import json_option


@click.command(
    epilog="""\b
Examples:
  tuner explain runs/demo-target/demo
  tuner explain runs/demo-target/demo --lang zh
  tuner explain runs/demo-target/demo --json | jq -r '.sections[].title'
"""
)
@click.argument("run", type=click.Path(path_type=Path, file_okay=False, exists=True))
@click.option(
    "--lang", type=click.Choice(["en", "zh"]), default="en", show_default=True, help="Language of the explanation."
)
@json_option
def explain(run: Path, lang: str, as_json: bool) -> None:
    """Explain the answer of RUN in plain words and figures: why this K and not the others, and how sure that is.

    For whoever deploys a model and has not tuned speculative decoding before. Everything comes from RUN's records;
    nothing is started, and RUN is left as it is.
    """
    from tuner.explain import explained, explained_json, explained_text, read_facts

    found = explained(read_facts(run))
    click.echo(explained_text(found, lang), err=as_json)
    if as_json:
        click.echo(json.dumps(explained_json(found, lang), ensure_ascii=False))
