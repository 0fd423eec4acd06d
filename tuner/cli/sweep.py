"""`tuner sweep`: measure, decide, write the artifact."""

from __future__ import annotations

import json
import shlex
import sys
import time
from pathlib import Path
from typing import Literal

import click

from tuner.cli.options import json_option, space_options
from tuner.cli.signals import ending_cleanly
from tuner.cli.views import open_view


@click.command(
    epilog="""\b
Examples:
  tuner sweep /models/Qwen3-14B --draft /models/Qwen3-0.6B
  tuner sweep demo:target --space demo
  tuner sweep any-name --space tiny --engine sim     (simulated engine, half a minute)
"""
)
@space_options
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), help="Run directory [default: runs/TARGET/SPACE]."
)
@click.option(
    "--pool",
    type=click.Choice(["ray", "local"]),
    help="Workers: Ray, or threads of this process [default: ray; local for sim].",
)
@click.option("--max-workers", type=click.IntRange(min=1), help="Use at most so many GPUs (or groups of them).")
@click.option("--storage", metavar="URL", help="Optuna storage [default: SQLite in the run directory].")
@click.option("--retry-failed", is_flag=True, help="Run trials again that failed in an earlier session.")
@click.option("--quiet", is_flag=True, help="No progress, only the closing table.")
@json_option
def sweep(
    target: str | None,
    space: str,
    eval_set: str | None,
    drafts: tuple[str, ...],
    engine: str | None,
    download: bool,
    distribution_samples: int | None,
    out: Path | None,
    pool: Literal["ray", "local"] | None,
    max_workers: int | None,
    storage: str | None,
    retry_failed: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Measure every candidate of SPACE for TARGET and write best_config.yaml.

    TARGET is a model directory or a hub id. An interrupted sweep goes on when it is called again with the same --out.
    """
    from tuner.cli.closing import closing_table, summary
    from tuner.prepare import SweepRequest, prepare
    from tuner.search.database import without_password
    from tuner.sweep import SweepOptions, run_sweep

    began_s = time.monotonic()
    command = ("tuner", *map(without_password, sys.argv[1:]))
    prepared = prepare(SweepRequest(target, space, eval_set, drafts, engine, download, command, distribution_samples))
    options = SweepOptions(
        out=out or prepared.default_out,
        pool=pool or ("local" if prepared.engine.kind == "sim" else "ray"),
        max_workers=max_workers,
        storage=storage,
        retry_failed=retry_failed,
    )
    with (
        ending_cleanly(f"Finished trials are kept. Resume with: {shlex.join(command)}"),
        open_view(quiet=quiet) as view,
    ):
        for note in prepared.notes:
            view.message(note)
        result = run_sweep(prepared, options, view, began_s)
    click.echo(closing_table(result.report), err=as_json)
    if as_json:
        click.echo(json.dumps(summary(result)))
