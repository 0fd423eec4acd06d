"""`tuner sweep`: measure, decide, write the artifact."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from tuner.cli.options import (
    DEFAULT_REGISTRY,
    SessionArguments,
    auto_fix_option,
    fresh_search_option,
    json_option,
    keeping_options,
    same_runner_option,
    sampler_option,
    session_options,
    space_options,
)
from tuner.cli.signals import work_is_done
from tuner.cli.views import open_view

if TYPE_CHECKING:
    from tuner.identity import Difference
    from tuner.prepare import Prepared, SweepRequest
    from tuner.sweep import SweepResult
    from tuner.upgrade import LastSweep

MOST_ENGINES = 2


@click.command(
    epilog="""\b
Examples:
  tuner sweep /models/Qwen3-14B --draft /models/Qwen3-0.6B
  tuner sweep demo:target --space demo
  tuner sweep any-name --space tiny --engine sim     (simulated engine, half a minute)
  tuner sweep /models/Qwen3-14B --if-stale           (after an upgrade; nothing where nothing changed)
  tuner sweep /models/Qwen3-14B --engine /srv/vllm-0.31 --engine /srv/vllm-0.32     (old and new, compared)
"""
)
@partial(space_options, several_engines=True)
@same_runner_option
@click.option("--drafts-alone", is_flag=True, help="Serve each draft model alone too, to time draft and target apart.")
@sampler_option
@click.option(
    "--if-stale",
    is_flag=True,
    help="Do nothing if the last sweep of the target in the registry still holds: same engine, devices, models, eval "
    "sets, search space and arguments. No engine is started to find out.",
)
@fresh_search_option
@auto_fix_option
@session_options
@keeping_options
@json_option
def sweep(engines: tuple[str, ...], if_stale: bool, as_json: bool, **options: Any) -> None:
    """Find the best candidate of SPACE for TARGET and write best_config.yaml.

    TARGET is a model directory or a hub id. An interrupted sweep goes on when it is called again with the same --out.
    With --engine twice each engine is swept in turn into a directory of its own below --out, and the two are compared.
    """
    from tuner.prepare import SweepRequest

    session, asked = SessionArguments.apart(options)
    requests = [SweepRequest(**asked, engine=engine, command=command_line()) for engine in engines or (None,)]
    _check_together(len(requests), session, if_stale=if_stale)
    if len(requests) > 1:
        _both(requests, session, as_json=as_json)
    else:
        _one(requests[0], session, if_stale=if_stale, as_json=as_json)


def _check_together(engines: int, session: SessionArguments, *, if_stale: bool) -> None:
    if engines > MOST_ENGINES:
        raise click.UsageError(f"--engine: {MOST_ENGINES} can be compared, not {engines}.")
    if if_stale and engines > 1:
        raise click.UsageError("--if-stale asks about one engine: give --engine once.")
    if if_stale and session.no_registry:
        raise click.UsageError("--if-stale looks into the registry: leave --no-registry out.")


def _one(request: SweepRequest, session: SessionArguments, *, if_stale: bool, as_json: bool) -> None:
    from tuner.cli.closing import closing_table, comparison_lines, summary
    from tuner.cli.if_stale import fresh_summary, stale_lines
    from tuner.prepare import prepare

    began_s = time.monotonic()
    prepared = prepare(request)
    found: tuple[Difference, ...] = ()
    if if_stale:
        last, found = _last(prepared, session)
        for line in stale_lines(last, found):
            click.echo(line, err=as_json)
        if last is not None and not any(one.stale for one in found):
            if as_json:
                click.echo(json.dumps(fresh_summary(last, found)))
            return
    result = _swept(prepared, session, began_s)
    work_is_done()
    click.echo(closing_table(result.report), err=as_json)
    lines = [*(result.begun.lines if result.begun else ()), *result.left]
    if result.report.comparison is not None:
        first, *rest = comparison_lines(result.report.comparison)
        lines += [f"against the last sweep: {first}", *rest]
    for line in lines:
        click.echo(line, err=as_json)
    if as_json:
        why = {"differences": [asdict(one) for one in found]} if if_stale else {}
        click.echo(json.dumps({**summary(result), **why}))


def _last(prepared: Prepared, session: SessionArguments) -> tuple[LastSweep | None, tuple[Difference, ...]]:
    """Return the last sweep of the target and what differs from it now."""
    from tuner.beginning import last_sweep, stale_for
    from tuner.registry import Registry

    last = last_sweep(prepared, Registry(session.registry or DEFAULT_REGISTRY))
    return last, stale_for(last, prepared) if last else ()


def _both(requests: Sequence[SweepRequest], session: SessionArguments, *, as_json: bool) -> None:
    from tuner.cli.closing import closing_table, comparison_lines
    from tuner.cli.side_by_side import both_summary, compared, prepare_both, sweep_both

    both = prepare_both(requests)
    with open_view(quiet=session.quiet) as view:
        results = sweep_both(both, session, view)
    found = compared(*results)
    work_is_done()
    for result in results:
        click.echo(closing_table(result.report), err=as_json)
        for line in (*(result.begun.lines if result.begun else ()), *result.left):
            click.echo(line, err=as_json)
    for line in comparison_lines(found):
        click.echo(line, err=as_json)
    click.echo(f"with all figures: tuner compare {results[0].report.run} {results[1].report.run}", err=as_json)
    if as_json:
        click.echo(json.dumps(both_summary(results, found)))


def command_line() -> tuple[str, ...]:
    """Return how this was called, without passwords."""
    from tuner.records.redaction import without_credentials

    return ("tuner", *map(without_credentials, sys.argv[1:]))


def swept(request: SweepRequest, session: SessionArguments) -> SweepResult:
    """Run a sweep under a view of its progress."""
    from tuner.prepare import prepare

    began_s = time.monotonic()
    return _swept(prepare(request), session, began_s)


def _swept(prepared: Prepared, session: SessionArguments, began_s: float) -> SweepResult:
    from tuner.sweep import run_sweep

    options = session.options(prepared)
    with open_view(quiet=session.quiet) as view:
        for note in prepared.notes:
            view.message(note)
        return run_sweep(prepared, options, view, began_s)
