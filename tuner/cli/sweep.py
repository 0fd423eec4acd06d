"""`tuner sweep`: measure, decide, write the artifact."""

from __future__ import annotations

import json
import shlex
import sys
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
  tuner sweep any-name --engine sim          (simulated engine: a whole sweep in seconds)
"""
)
@space_options
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), help="Run directory [default: runs/TARGET/SPACE]."
)
@click.option(
    "--pool",
    type=click.Choice(["ray", "local"]),
    help="Workers: Ray, or one in this process [default: ray; local for sim].",
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
    from tuner.sweep import SweepOptions, run_sweep

    request = SweepRequest(
        target=target,
        space=space,
        eval_set=eval_set,
        drafts=drafts,
        engine=engine,
        download=download,
        command=("tuner", *sys.argv[1:]),
    )
    prepared = prepare(request)
    options = SweepOptions(
        out=out or prepared.default_out,
        pool=pool or ("local" if prepared.engine.kind == "sim" else "ray"),
        max_workers=max_workers,
        storage=storage,
        retry_failed=retry_failed,
    )
    resume_with = shlex.join(("tuner", *sys.argv[1:]))
    with (
        ending_cleanly(f"Finished trials are kept in {options.out}. Resume with: {resume_with}"),
        open_view(quiet=quiet) as view,
    ):
        for note in prepared.notes:
            view.message(note)
        result = run_sweep(prepared, options, view)
    click.echo(closing_table(result.report), err=as_json)
    if as_json:
        click.echo(json.dumps(summary(result)))
