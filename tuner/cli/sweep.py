"""`tuner sweep`: measure, decide, write the artifact."""

from __future__ import annotations

import json
import shlex
import sys
import time
from typing import TYPE_CHECKING, Any

import click

from tuner.cli.options import (
    SessionArguments,
    auto_fix_option,
    json_option,
    keeping_options,
    same_runner_option,
    sampler_option,
    session_options,
    space_options,
)
from tuner.cli.signals import ending_cleanly
from tuner.cli.views import open_view

if TYPE_CHECKING:
    from tuner.prepare import SweepRequest
    from tuner.sweep import SweepResult


@click.command(
    epilog="""\b
Examples:
  tuner sweep /models/Qwen3-14B --draft /models/Qwen3-0.6B
  tuner sweep demo:target --space demo
  tuner sweep any-name --space tiny --engine sim     (simulated engine, half a minute)
"""
)
@space_options
@same_runner_option
@click.option("--drafts-alone", is_flag=True, help="Serve each draft model alone too, to time draft and target apart.")
@sampler_option
@auto_fix_option
@session_options
@keeping_options
@json_option
def sweep(
    target: str | None,
    space: str,
    eval_set: str | None,
    drafts: tuple[str, ...],
    engine: str | None,
    download: bool,
    distribution_samples: int | None,
    same_runner: bool,
    drafts_alone: bool,
    as_json: bool,
    **session: Any,
) -> None:
    """Find the best candidate of SPACE for TARGET and write best_config.yaml.

    TARGET is a model directory or a hub id. An interrupted sweep goes on when it is called again with the same --out.
    """
    from tuner.cli.closing import closing_table, summary
    from tuner.prepare import SweepRequest

    request = SweepRequest(
        target,
        space,
        eval_set,
        drafts,
        engine,
        download,
        command_line(),
        distribution_samples,
        same_runner=same_runner,
        drafts_alone=drafts_alone,
    )
    result = swept(request, SessionArguments(**session))
    click.echo(closing_table(result.report), err=as_json)
    for line in result.left:
        click.echo(line, err=as_json)
    if as_json:
        click.echo(json.dumps(summary(result)))


def command_line() -> tuple[str, ...]:
    """Return how this was called, without passwords."""
    from tuner.search.database import without_password

    return ("tuner", *map(without_password, sys.argv[1:]))


def swept(request: SweepRequest, session: SessionArguments) -> SweepResult:
    """Run a sweep under a view of its progress; Ctrl-C and SIGTERM end it cleanly."""
    from tuner.prepare import prepare
    from tuner.sweep import run_sweep

    began_s = time.monotonic()
    prepared = prepare(request)
    options = session.options(prepared)
    with (
        ending_cleanly(f"Finished trials are kept. Resume with: {shlex.join(request.command)}"),
        open_view(quiet=session.quiet) as view,
    ):
        for note in prepared.notes:
            view.message(note)
        return run_sweep(prepared, options, view, began_s)
